import { isJsonObject } from "../values.ts";
import { Secret } from "../secret.ts";
import { askOnce, type PlatformCalls } from "./http.ts";
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
// tried twice, because the first try may have made a token although its answer was lost.

/** Creates an authorization. Rejects with `PlatformRefused`, `UnreadableAnswer` or a `TransportError`. */
export function createAuthorization(
  calls: PlatformCalls,
  request: AuthorizationRequest,
  userToken: Secret,
): Promise<Authorization> {
  return ask(calls, "POST", path`/oauth/authorizations`, userToken, JSON.stringify(request));
}

/** Revokes an authorization: its tokens are blocked from then on. Throws and rejects like {@link createAuthorization}. */
export async function revokeAuthorization(
  calls: PlatformCalls,
  id: string,
  userToken: Secret,
): Promise<Authorization> {
  return ask(calls, "DELETE", path`/oauth/authorizations/${id}`, userToken);
}

function ask(
  { http, apiUrl, mediaType: accept }: PlatformCalls,
  method: string,
  below: string,
  userToken: Secret,
  body?: string,
): Promise<Authorization> {
  const authorization = `Bearer ${userToken.reveal()}`;
  const sent = body !== undefined && { body, headers: { "content-type": "application/json" } };
  return askOnce(http, {
    ...{ method, url: apiUrl + below, ...sent, secrets: [userToken.reveal()] },
    headers: { accept, authorization, ...(sent && sent.headers) },
    ...{ read: recordIn, expected: "an object with an id" },
  });
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

/** The record, in which every credential is a {@link Secret}: it can be logged and printed. */
function recordIn(json: unknown): Authorization | null {
  if (!isJsonObject(json) || typeof json["id"] !== "string" || json["id"] === "") return null;
  return JSON.parse(JSON.stringify(json), (name, member: unknown) =>
    typeof member === "string" && SECRET_MEMBERS.includes(name) ? new Secret(member) : member,
  ) as Authorization;
}
