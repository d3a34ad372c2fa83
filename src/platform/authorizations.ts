import { Secret } from "../secret.ts";
import { askOnce } from "./ask-once.ts";
import type { Http } from "./http.ts";
import { baseAddress, path, type Path } from "./path.ts";
import { anObject } from "./shape.ts";
import type { Named, Open } from "./types.ts";

/** What an authorization allows; the platform may have further scopes. */
export type Scope = Open<(typeof SCOPES)[number]>;
/** The scopes that the platform document names. */
export const SCOPES = ["global", "identity", "read", "write", "read-protected", "write-protected"] as const;

/** A token that belongs to an authorization. */
export interface IssuedToken {
  id: string;
  token: Secret;
  /** Seconds; null: it does not expire. */
  expires_in: number | null;
}

/** An authorization, as the platform answers when it is created and when it is revoked; other members are kept. */
export interface Authorization {
  id: string;
  access_token: IssuedToken | null;
  refresh_token: IssuedToken | null;
  grant: { id: string; code: Secret; expires_in: number } | null;
  client: (Named & { redirect_uri: string }) | null;
  scope: Scope[];
  /** ISO 8601, UTC. */
  created_at: string;
  updated_at: string;
}

export interface AuthorizationRequest {
  /** The text by which users tell their authorizations apart. */
  description: string;
  /** What the tokens may do; with none the platform would let them do everything. */
  scope: readonly Scope[];
}

/** A user's own authorizations; each call is made with a token that the user already has. */
export interface Authorizations {
  create(request: AuthorizationRequest, userToken: Secret): Promise<Authorization>;
  /** Its tokens are blocked from then on. */
  revoke(id: string, userToken: Secret): Promise<Authorization>;
}

/**
 * Direct authorization: exchanges an expiring token for one that does not expire, and revokes that one. Follows the
 * platform document, "Authorization management". Every credential in an answer is a {@link Secret}, so a record can be
 * logged and printed. Rejects with `PlatformRefused`, `UnreadableAnswer` or a `TransportError`; no call is tried twice,
 * because the first try may have made a token although its answer was lost.
 */
export function createAuthorizations({
  http,
  apiUrl,
  mediaType,
}: {
  http: Http;
  apiUrl: string;
  mediaType: string;
}): Authorizations {
  function ask(method: string, below: Path, token: Secret, body?: object): Promise<Authorization> {
    const contentType = body && { "content-type": "application/json" };
    return askOnce(http, {
      ...{ method, url: baseAddress(apiUrl) + below, headers: { accept: mediaType, ...contentType } },
      ...(body && { body: JSON.stringify(body) }),
      ...{ token, read: recordIn, expected: shape.expected },
    });
  }

  return {
    create: ({ description, scope }, userToken) =>
      ask("POST", path`/oauth/authorizations`, userToken, { description, scope }),
    revoke: async (id, userToken) => ask("DELETE", path`/oauth/authorizations/${id}`, userToken),
  };
}

/** The record as plain JSON with its secrets in the clear: for the one moment in which a person is shown them. */
export function revealed(value: unknown): unknown {
  if (value instanceof Secret) return value.reveal();
  if (Array.isArray(value)) return value.map(revealed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, revealed(member)]));
}

const shape = anObject<Authorization>();

function recordIn(json: unknown): Authorization | undefined {
  const record = sealed(json);
  return shape.fits(record) ? record : undefined;
}

/** Members whose text is a credential, at any depth. */
const SECRET_MEMBERS = ["token", "access_token", "refresh_token", "code", "secret", "session_nonce"];

function sealed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sealed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      typeof member === "string" && SECRET_MEMBERS.includes(name) ? new Secret(member) : sealed(member),
    ]),
  );
}
