import type { Secret } from "../secret.ts";
import { PlatformRefused, UnreadableAnswer } from "./api-errors.ts";
import type { Http } from "./http.ts";
import { isJsonObject, parsedJson } from "./json-object.ts";

/** Who gave us a token, in the platform's words; further members are not looked at. */
export interface Account {
  /** A uuid in small letters. */
  id: string;
  email: string;
  name: string | null;
}

/** Asks whose token this is, once. Throws `PlatformRefused`, `UnreadableAnswer` or a `TransportError`. */
export type AccountOf = (token: Secret) => Promise<Account>;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const MOST_BYTES = 64_000;
const LONGEST_NAME = 200;

/** `GET /account` with a person's own token (assumed: see docs/assumed.md). `timeoutMs` covers the whole call. */
export function createAccountOf({
  http,
  apiUrl,
  mediaType,
  timeoutMs = 8_000,
}: {
  http: Http;
  apiUrl: string;
  mediaType: string;
  timeoutMs?: number;
}): AccountOf {
  const call = { method: "GET", url: new URL(`${apiUrl.replace(/\/+$/, "")}/account`) };
  return async (token) => {
    const headers = { accept: mediaType, authorization: `Bearer ${token.reveal()}` };
    const answer = await http.send({ ...call, headers, timeoutMs, maxBytes: MOST_BYTES });
    if (answer.status >= 400) throw new PlatformRefused(call, answer, [token.reveal()]);
    const account = answer.status === 200 ? accountIn(parsedJson(answer.body)) : null;
    if (!account) throw new UnreadableAnswer(call, answer.status, "an account with an id and an e-mail");
    return account;
  };
}

function accountIn(body: unknown): Account | null {
  if (!isJsonObject(body)) return null;
  const { id, email, name } = body;
  if (typeof id !== "string" || !UUID.test(id.toLowerCase())) return null;
  if (typeof email !== "string" || !/^[^\s\p{Cc}]{1,320}$/u.test(email)) return null;
  return { id: id.toLowerCase(), email, name: typeof name === "string" ? shownName(name) : null };
}

/** As it may be kept and shown: one line, of whole characters, and not too long; null if nothing is left. */
function shownName(name: string): string | null {
  const line = name
    .toWellFormed()
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim();
  return [...line].slice(0, LONGEST_NAME).join("") || null;
}
