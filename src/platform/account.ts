import { isJsonObject } from "../json-object.ts";
import type { Secret } from "../secret.ts";
import { readUuid } from "../uuid.ts";
import { askOnce, type PlatformCalls } from "./ask-once.ts";
import { baseAddress } from "./path.ts";

/** The account that a token belongs to, as the platform describes it; further members are ignored. */
export interface Account {
  /** A uuid in lower case. */
  id: string;
  email: string;
  /** Whether the platform says that it has verified the e-mail. */
  isEmailVerified: boolean;
  name: string | null;
}

const MOST_BYTES = 64_000;
const LONGEST_NAME = 200;

/**
 * Asks once whose token this is: `GET /account` (assumed, section 7). `timeoutMs` covers the whole call. Rejects with
 * `PlatformRefused`, `UnreadableAnswer` or a `TransportError`.
 */
export function accountOf(
  { http, apiUrl, mediaType }: PlatformCalls,
  token: Secret,
  timeoutMs = 8_000,
): Promise<Account> {
  return askOnce(http, {
    ...{ method: "GET", url: `${baseAddress(apiUrl)}/account`, headers: { accept: mediaType } },
    ...{ token, timeoutMs, maxBytes: MOST_BYTES },
    ...{ read: accountIn, expected: "an account with an id and an e-mail" },
  });
}

function accountIn(body: unknown): Account | undefined {
  if (!isJsonObject(body)) return undefined;
  const { email, name } = body;
  const id = readUuid(body["id"]);
  if (!id) return undefined;
  if (typeof email !== "string" || !/^[^\s\p{Cc}]{1,320}$/u.test(email)) return undefined;
  // Assumed (section 7): the account's one word about this is `verified`; the name of OpenID Connect is clearer.
  const isEmailVerified = (body["email_verified"] ?? body["verified"]) === true;
  return { id, email, isEmailVerified, name: typeof name === "string" ? shownName(name) : null };
}

/** A name fit to be stored and shown: one line of whole characters, 200 at most; null if nothing is left. */
function shownName(name: string): string | null {
  const line = name
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim();
  return [...line].slice(0, LONGEST_NAME).join("") || null;
}
