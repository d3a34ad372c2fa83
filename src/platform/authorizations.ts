import { storable } from "../errors.ts";
import { Secret } from "../secret.ts";
import { isJsonObject, readUuid } from "../values.ts";
import { askOnce, type HttpRequest, type PlatformCalls, type Reading } from "./call.ts";
import { path } from "./path.ts";

/** An authorization, as the platform answers when it is created and when it is revoked; its other members are kept. */
export interface Authorization {
  id: string;
  /** `expires_in` in seconds; null: it does not expire. */
  access_token: { token: Secret; expires_in: number | null } | null;
  scope: string[];
}

interface AuthorizationRequest {
  /** The text by which users tell their authorizations apart. */
  description: string;
  /** What the tokens may do; with none the platform would let them do everything. */
  scope: readonly string[];
}

// Direct authorization: exchanges an expiring token for one that does not expire, and revokes that one. Follows the
// platform document, "Authorization management". Each call is made with a token that the user already has. No call is
// tried twice, because the first try may have made a token although its answer was lost. Each rejects with
// `PlatformRefused`, `UnreadableAnswer` or a `TransportError`.

export function createAuthorization(
  calls: PlatformCalls,
  request: AuthorizationRequest,
  userToken: Secret,
): Promise<Authorization> {
  const body = JSON.stringify(request);
  return ask(calls, userToken, "POST", path`/oauth/authorizations`, { ...RECORD, body });
}

export function revokeAuthorization(
  calls: PlatformCalls,
  id: string,
  userToken: Secret,
): Promise<Authorization> {
  return ask(calls, userToken, "DELETE", path`/oauth/authorizations/${id}`, RECORD);
}

function ask<T>(
  { http, apiUrl, mediaType: accept }: PlatformCalls,
  userToken: Secret,
  method: string,
  below: string,
  how: Pick<HttpRequest, "body" | "timeoutMs" | "maxBytes"> & Reading<T>,
): Promise<T> {
  const authorization = `Bearer ${userToken.reveal()}`;
  const type = how.body !== undefined && { "content-type": "application/json" };
  const headers = { accept, authorization, ...type };
  return askOnce(http, { ...how, method, url: apiUrl + below, headers, secrets: [userToken.reveal()] });
}

/** The record as plain JSON with its secrets in the clear: for the one moment in which a person is shown them. */
export function revealed(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal();
  if (Array.isArray(value)) return value.map(revealed);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, revealed(member)]));
}

/** Members whose text is a credential, at any depth. */
const SECRET_MEMBERS = ["token", "access_token", "refresh_token", "code", "secret", "session_nonce"];

const RECORD = { read: recordIn, expected: "an object with an id" };

/** The record, in which every credential is a {@link Secret}: it can be logged and printed. */
function recordIn(json: unknown): Authorization | null {
  if (!isJsonObject(json) || typeof json["id"] !== "string" || json["id"] === "") return null;
  return JSON.parse(JSON.stringify(json), (name, member: unknown) =>
    typeof member === "string" && SECRET_MEMBERS.includes(name) ? new Secret(member) : member,
  ) as Authorization;
}

/** The account that a token belongs to, as the platform describes it; further members are ignored. */
export interface Account {
  /** A uuid in lower case. */
  id: string;
  email: string;
  isEmailVerified: boolean;
  name: string | null;
}

/** Asks once whose token this is: `GET /account` (assumed, section 7). */
export function accountOf(calls: PlatformCalls, token: Secret): Promise<Account> {
  return ask(calls, token, "GET", path`/account`, {
    read: accountIn,
    expected: "an account with an id and an e-mail",
    timeoutMs: 10_000,
    maxBytes: 64_000,
  });
}

function accountIn(body: unknown): Account | null {
  if (!isJsonObject(body)) return null;
  const { email, name } = body;
  const id = readUuid(body["id"]);
  if (!id || typeof email !== "string" || !/^[^\s\p{Cc}]{1,320}$/u.test(email)) return null;
  // Assumed (section 7): the account's one word about this is `verified`; the name of OpenID Connect is clearer.
  const isEmailVerified = (body["email_verified"] ?? body["verified"]) === true;
  const shownName = typeof name === "string" ? storable(name).trim() || null : null;
  return { id, email, isEmailVerified, name: shownName };
}

interface OauthGrant {
  code: Secret;
  /** As the platform wrote it, such as `2026-01-31T12:00:00+0000`; null: it did not. */
  expiresAt: string | null;
}

/**
 * Asks the legacy oauth-grant endpoint, which is closed unless the platform opened it for this partner, for the
 * unexpired grant of a resource, or a new one if that has expired (platform document, "Authorization management").
 * Asks once; asking again is harmless.
 */
export function oauthGrantOf(
  { http, apiUrl, mediaType: accept }: PlatformCalls,
  { addonId, addonPassword }: { addonId: string; addonPassword: Secret },
  uuid: string,
): Promise<OauthGrant> {
  const password = addonPassword.reveal();
  const credentials = Buffer.from(`${addonId}:${password}`).toString("base64");
  return askOnce(http, {
    method: "GET",
    url: apiUrl + path`/vendor/resources/${uuid}/oauth-grant`,
    headers: { accept, authorization: `Basic ${credentials}` },
    secrets: [password, credentials],
    timeoutMs: 10_000,
    maxBytes: 64_000,
    read: grantIn,
    expected: "a usable grant",
  });
}

function grantIn(body: unknown): OauthGrant | null {
  const grant = isJsonObject(body) ? body["oauth_grant"] : null;
  if (!isJsonObject(grant)) return null;
  const { code, expires_at: expiresAt } = grant;
  if (typeof code !== "string" || code === "" || code.length > 2048) return null;
  return { code: new Secret(code), expiresAt: typeof expiresAt === "string" ? expiresAt : null };
}
