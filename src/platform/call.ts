import type { IncomingHttpHeaders } from "node:http";
import { KitError } from "../errors.ts";
import { redact } from "../secret.ts";
import { isJsonObject, parsedJson } from "../values.ts";

// A call to the platform: the request, the answer, how a value is read from the answer, and the errors.

export interface CallName {
  method: string;
  url: URL;
}

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface HttpRequest {
  method: string;
  url: URL | string;
  /** Without Content-Length and Transfer-Encoding, which follow from `body`. */
  headers?: Record<string, string>;
  body?: string;
  /** Overrides the client's own limits for this call. */
  timeoutMs?: number;
  maxBytes?: number;
}

/** Sends a request once. Every status except a redirect is an answer; all else rejects with a `TransportError`. */
export interface Http {
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** Refuses new calls, waits for those in flight, and closes the connections. */
  close(): Promise<void>;
}

/** A call without a usable answer. */
export class TransportError extends KitError {
  /** `false` only if the other side certainly never received the request, so that a retry cannot act twice. */
  readonly mayHaveArrived: boolean;
  /** The status of an answer whose body is unusable; `null` without an answer. */
  readonly status: number | null;

  constructor(
    id: "timed_out" | "connection_failed" | "answer_too_large" | "redirect_refused",
    call: CallName,
    happened: string,
    about: { mayHaveArrived?: boolean; status?: number; cause?: unknown } = {},
  ) {
    super(id, `${shown(call)} ${happened}`, { cause: about.cause });
    this.mayHaveArrived = about.mayHaveArrived ?? true;
    this.status = about.status ?? null;
  }
}

/** An answer of 400 or more. `id`: the platform's error code (assumed, section 4), or `http_<status>`. */
export class PlatformRefused extends KitError {
  readonly status: number;
  /** The platform's id of the request, for its support; the log shows it. */
  readonly platformRequestId: string | null;
  /** The pause that the platform requests, 1 s to 15 min; `null` if it requests none. */
  readonly retryAfterMs: number | null;
  /** The body is JSON or empty. A page of HTML comes from a router or another server. */
  readonly isOfApi: boolean;

  constructor(call: CallName, answer: HttpAnswer, sentSecrets: readonly string[]) {
    const { id, message } = refusalOf(`${shown(call)} was refused with`, answer, sentSecrets);
    super(id, message);
    this.status = answer.status;
    this.platformRequestId = foreignWord(answer.headers["request-id"], sentSecrets) ?? null;
    this.retryAfterMs = retryAfterMs(answer.headers);
    this.isOfApi = answer.body.trim() === "" || isJsonObject(parsedJson(answer.body));
  }
}

/** The platform returned an add-on whose state is deprovisioned. */
export class AddonEnded extends KitError {
  constructor(uuid: string) {
    super("addon_ended", `The platform has ended the add-on ${uuid}.`);
  }
}

/** Whether the platform's API answered that it does not have what the call is about. */
export function isNotThere(error: unknown): boolean {
  if (error instanceof AddonEnded) return true;
  return error instanceof PlatformRefused && [404, 410].includes(error.status) && error.isOfApi;
}

/** A success whose content does not have the form of the endpoint's answers. The message does not quote the content. */
export class UnreadableAnswer extends KitError {
  constructor(call: CallName, status: number, expected: string) {
    super("unreadable_answer", `${shown(call)} answered ${status}, but not with ${expected}`);
  }
}

/** The rate limit allows the resource's next call too late for this call to wait. No request was sent. */
export class RateLimited extends KitError {
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    const seconds = Math.ceil(retryAfterMs / 1_000);
    super("rate_limited", `The platform takes the next call for this resource in ${seconds} s`);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * METHOD and address as they may be logged, without user and query. A path segment that is an encoded address (of a log
 * drain) may contain a password, so it is left out, too.
 */
export function shown({ method, url }: CallName): string {
  return `${method} ${url.origin}${url.pathname.replace(/[^/]*%3A%2F%2F[^/]*/gi, "…")}`;
}

/** The id of a refusal (the error code or `http_<status>`) and its message, which begins with `call`. */
export function refusalOf(call: string, { status, body }: HttpAnswer, sentSecrets: readonly string[]) {
  const json = parsedJson(body);
  const said = isJsonObject(json) ? json : {};
  const word = foreignWord(said["error"] ?? said["id"], sentSecrets);
  const text = said["error_description"] ?? said["message"];
  const because = typeof text === "string" ? `: ${foreignText(text, sentSecrets)}` : "";
  return { id: word ?? `http_${status}`, message: `${call} ${status}${word ? ` ${word}` : ""}${because}` };
}

const MOST_CHARACTERS = 200;

/** The text on one line, without the sent secrets, which a server may echo. */
function foreignText(text: string, sentSecrets: readonly string[]): string {
  const oneLine = redact(text, sentSecrets)
    .replace(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .trim();
  return oneLine.length > MOST_CHARACTERS ? `${oneLine.slice(0, MOST_CHARACTERS)}…` : oneLine;
}

/** An error code from another server; `undefined` if it is not one word, or contains a sent secret. */
function foreignWord(word: unknown, sentSecrets: readonly string[]): string | undefined {
  const isWord = typeof word === "string" && /^[\w.-]{1,64}$/.test(word);
  return isWord && redact(word, sentSecrets) === word ? word : undefined;
}

/**
 * The pause that the other side requests, in ms between 1 s and 15 min; `null` if it requests none. A date is counted from the
 * answer's own `Date`, because the clocks may differ.
 */
export function retryAfterMs(headers: IncomingHttpHeaders): number | null {
  const value = headers["retry-after"]?.trim();
  if (!value) return null;
  const sentAtMs = Date.parse(headers.date ?? "") || Date.now();
  const waitMs = Number.isNaN(Number(value)) ? Date.parse(value) - sentAtMs : Number(value) * 1_000;
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 1_000), 15 * 60_000);
}

/** There is no usable access token. `id`: the credential's state, or the cause that prevented a refresh. */
export class NoToken extends KitError {
  /** Whether a retry is useless: `true` if the credential's state rules a token out, `false` for a passing fault. */
  readonly isFinal: boolean;

  constructor(id: string, message: string, isFinal = false) {
    super(id, message);
    this.isFinal = isFinal;
  }
}

export interface PlatformCalls {
  http: Http;
  apiUrl: string;
  /** The `Accept` header, which selects the version (platform document, "Versioning"). */
  mediaType: string;
}

export interface Reading<T> {
  /** The sent secrets, which are masked where the platform repeats them. */
  secrets?: readonly string[];
  /** Reads the value from the JSON of a success; `null` if the JSON does not have it. */
  read(json: unknown): T | null;
  /** Completes "… answered 200, but not with". */
  expected: string;
}

/** Reads the value of an answer. Throws `PlatformRefused` or `UnreadableAnswer`. */
export function readAnswer<T>(
  { method, url }: Pick<HttpRequest, "method" | "url">,
  answer: HttpAnswer,
  { secrets = [], read, expected }: Reading<T>,
): T {
  const call = { method, url: new URL(url) };
  if (answer.status >= 400) throw new PlatformRefused(call, answer, secrets);
  const value = answer.status < 300 ? read(parsedJson(answer.body)) : null;
  if (value === null) throw new UnreadableAnswer(call, answer.status, expected);
  return value;
}

/** Sends a request without a retry and reads its answer. Rejects like {@link readAnswer}, or with a `TransportError`. */
export async function askOnce<T>(http: Http, question: HttpRequest & Reading<T>): Promise<T> {
  return readAnswer(question, await http.send(question), question);
}
