import type { IncomingHttpHeaders } from "node:http";
import { KitError } from "../errors.ts";
import { isJsonObject, parsedJson } from "../json-object.ts";
import { redact } from "../redact.ts";
import type { HttpAnswer } from "./http.ts";
import { type CallName, shown, TransportError } from "./http-errors.ts";

/**
 * An answer of 400 or more. `id` is the platform's word for it (assumed, section 4; an open set), or `http_<status>`.
 */
export class PlatformRefused extends KitError {
  readonly status: number;
  /** The platform's id of the request, for its support; the log shows it. */
  readonly platformRequestId: string | null;
  /** How long it asks us to wait, 1 s to 15 min; null: it does not say. */
  readonly retryAfterMs: number | null;

  constructor(call: CallName, { status, headers, body }: HttpAnswer, sentSecrets: readonly string[]) {
    const json = parsedJson(body);
    const said = isJsonObject(json) ? json : {};
    const id = foreignWord(said["id"], sentSecrets);
    const text = typeof said["message"] === "string" ? `: ${foreignText(said["message"], sentSecrets)}` : "";
    super(
      id ?? `http_${status}`,
      `${shown(call)} was refused with ${[status, id].filter(Boolean).join(" ")}${text}`,
    );
    this.status = status;
    this.platformRequestId = foreignWord(headers["request-id"], sentSecrets) ?? null;
    this.retryAfterMs = retryAfterMs(headers) ?? null;
  }
}

/** Did a call fail by the platform's own trouble: it could not be reached, or answered 429 or 5xx? */
export function isPlatformAway(error: unknown): boolean {
  const isRefusal = error instanceof PlatformRefused && (error.status >= 500 || error.status === 429);
  return isRefusal || error instanceof TransportError;
}

/** A success whose content is not what the endpoint is known to answer. The message quotes none of the content. */
export class UnreadableAnswer extends KitError {
  readonly status: number;

  constructor(call: CallName, status: number, expected: string) {
    super("unreadable_answer", `${shown(call)} answered ${status}, but not with ${expected}`);
    this.status = status;
  }
}

/** The resource has used up its calls, and the next is allowed too late to wait for inside a call. Nothing was sent. */
export class RateLimited extends KitError {
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    super(
      "rate_limited",
      `The platform takes the next call for this resource in ${Math.ceil(retryAfterMs / 1_000)} s`,
    );
    this.retryAfterMs = retryAfterMs;
  }
}

/** The longest text of another server that enters an error of ours. */
const MOST_CHARACTERS = 200;

/**
 * Text that another server wrote, made fit for a message and a log line: what we sent as a secret is masked (a server
 * may echo it), control characters are gone, the rest is cut at 200 characters.
 */
export function foreignText(text: string, sentSecrets: readonly string[]): string {
  const oneLine = redact(text, sentSecrets)
    .replace(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .trim();
  return oneLine.length > MOST_CHARACTERS ? `${oneLine.slice(0, MOST_CHARACTERS)}…` : oneLine;
}

/** A machine word that another server wrote, or undefined if it is none, or holds one of our secrets. */
export function foreignWord(word: unknown, sentSecrets: readonly string[]): string | undefined {
  const isWord =
    typeof word === "string" && /^[\w.-]{1,64}$/.test(word) && foreignText(word, sentSecrets) === word;
  return isWord ? word : undefined;
}

const LEAST_WAIT_MS = 1_000;
const MOST_WAIT_MS = 15 * 60_000;

/**
 * How long the other side asks us to wait, in milliseconds between 1 s and 15 min; undefined if it does not say, or
 * says nothing readable. A date is counted from the answer's own `Date`, so that our clock may be wrong.
 */
export function retryAfterMs(headers: IncomingHttpHeaders, nowMs: number = Date.now()): number | undefined {
  const value = headers["retry-after"]?.trim();
  if (!value) return undefined;
  const sentAtMs = Date.parse(headers.date ?? "") || nowMs;
  const waitMs = Number.isNaN(Number(value)) ? Date.parse(value) - sentAtMs : Number(value) * 1_000;
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, LEAST_WAIT_MS), MOST_WAIT_MS);
}
