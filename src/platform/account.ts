import { storable } from "../errors.ts";
import { isJsonObject, readUuid } from "../values.ts";
import type { Secret } from "../secret.ts";
import { askOnce, type PlatformCalls } from "./http.ts";

/** The account that a token belongs to, as the platform describes it; further members are ignored. */
export interface Account {
  /** A uuid in lower case. */
  id: string;
  email: string;
  /** Whether the platform says that it has verified the e-mail. */
  isEmailVerified: boolean;
  name: string | null;
}

/**
 * Asks once whose token this is: `GET /account` (assumed, section 7). Rejects with `PlatformRefused`,
 * `UnreadableAnswer` or a `TransportError`.
 */
export function accountOf({ http, apiUrl, mediaType }: PlatformCalls, token: Secret): Promise<Account> {
  const headers = { accept: mediaType, authorization: `Bearer ${token.reveal()}` };
  return askOnce(http, {
    ...{ method: "GET", url: `${apiUrl}/account`, headers, secrets: [token.reveal()] },
    ...{
      timeoutMs: 8_000,
      maxBytes: 64_000,
      read: accountIn,
      expected: "an account with an id and an e-mail",
    },
  });
}

function accountIn(body: unknown): Account | null {
  if (!isJsonObject(body)) return null;
  const { email, name } = body;
  const id = readUuid(body["id"]);
  if (!id || typeof email !== "string" || !/^[^\s\p{Cc}]{1,320}$/u.test(email)) return null;
  // Assumed (section 7): the account's one word about this is `verified`; the name of OpenID Connect is clearer.
  const isEmailVerified = (body["email_verified"] ?? body["verified"]) === true;
  return {
    id,
    email,
    isEmailVerified,
    name: typeof name === "string" ? storable(name).trim() || null : null,
  };
}
