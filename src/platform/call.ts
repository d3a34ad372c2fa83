import type { IncomingHttpHeaders } from "node:http";
import { KitError } from "../errors.ts";
import { redact } from "../secret.ts";
import { isJsonObject, parsedJson } from "../values.ts";

// A call to the platform: what is sent, what comes back, what an answer holds, and what can go wrong.

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
  /** None that says where the request ends: that follows from `body`. */
  headers?: Record<string, string>;
  body?: string;
  /** Overrides the client's own limits for this call. */
  timeoutMs?: number;
  maxBytes?: number;
}

/** Sends one request once. Any status but a redirect is an answer; everything else rejects with a `TransportError`. */
export interface Http {
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** Refuses new calls, waits for those in flight, and closes the connections. */
  close(): Promise<void>;
}

/** A call that brought no usable answer. */
export class TransportError extends KitError {
  /** False only where the other side certainly never saw the request, so that repeating it can do nothing twice. */
  readonly mayHaveArrived: boolean;
  /** That of an answer whose body is unusable; null: there is none. */
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

/** An answer of 400 or more. `id` is the platform's word for it (assumed, section 4), or `http_<status>`. */
export class PlatformRefused extends KitError {
  readonly status: number;
  /** The platform's id of the request, for its support; the log shows it. */
  readonly platformRequestId: string | null;
  /** How long it asks us to wait, 1 s to 15 min; null: it does not say. */
  readonly retryAfterMs: number | null;
  /** Its body is JSON, or empty; a page of HTML is that of a router or of another server. */
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

/** The platform shows an add-on that it has ended. */
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

/** A success whose content is not what the endpoint is known to answer. The message quotes none of the content. */
export class UnreadableAnswer extends KitError {
  constructor(call: CallName, status: number, expected: string) {
    super("unreadable_answer", `${shown(call)} answered ${status}, but not with ${expected}`);
  }
}

/** The resource's next call is allowed too late to wait for inside a call. Nothing was sent. */
export class RateLimited extends KitError {
  readonly retryAfterMs: number;

  constructor(retryAfterMs: number) {
    const seconds = Math.ceil(retryAfterMs / 1_000);
    super("rate_limited", `The platform takes the next call for this resource in ${seconds} s`);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * METHOD and address as they may be logged: no user, no query. A path segment that is itself an encoded address (a log
 * drain's) may carry a password, so it is left out too.
 */
export function shown({ method, url }: CallName): string {
  return `${method} ${url.origin}${url.pathname.replace(/[^/]*%3A%2F%2F[^/]*/gi, "…")}`;
}

/** The error record of a refusal: its word (or `http_<status>`), and a sentence that begins with `call`. */
export function refusalOf(call: string, { status, body }: HttpAnswer, sentSecrets: readonly string[]) {
  const json = parsedJson(body);
  const said = isJsonObject(json) ? json : {};
  const word = foreignWord(said["error"] ?? said["id"], sentSecrets);
  const text = said["error_description"] ?? said["message"];
  const because = typeof text === "string" ? `: ${foreignText(text, sentSecrets)}` : "";
  return { id: word ?? `http_${status}`, message: `${call} ${status}${word ? ` ${word}` : ""}${because}` };
}

const MOST_CHARACTERS = 200;

/** On one line, without what we sent as a secret: a server may echo it. */
function foreignText(text: string, sentSecrets: readonly string[]): string {
  const oneLine = redact(text, sentSecrets)
    .replace(/[\p{Cc}\u2028\u2029]+/gu, " ")
    .trim();
  return oneLine.length > MOST_CHARACTERS ? `${oneLine.slice(0, MOST_CHARACTERS)}…` : oneLine;
}

/** A machine word that another server wrote, or undefined if it is none, or holds one of our secrets. */
function foreignWord(word: unknown, sentSecrets: readonly string[]): string | undefined {
  const isWord = typeof word === "string" && /^[\w.-]{1,64}$/.test(word);
  return isWord && redact(word, sentSecrets) === word ? word : undefined;
}

/**
 * How long the other side asks us to wait, in milliseconds between 1 s and 15 min; null if it says nothing readable. A
 * date is counted from the answer's own `Date`, so that our clock may be wrong.
 */
export function retryAfterMs(headers: IncomingHttpHeaders): number | null {
  const value = headers["retry-after"]?.trim();
  if (!value) return null;
  const sentAtMs = Date.parse(headers.date ?? "") || Date.now();
  const waitMs = Number.isNaN(Number(value)) ? Date.parse(value) - sentAtMs : Number(value) * 1_000;
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 1_000), 15 * 60_000);
}

/** There is no access token to use; `id` says why: the credential's state, or what prevented a refresh. */
export class NoToken extends KitError {
  /** Whether waiting will bring none: true if the credential's state rules it out, false for a fault that passes. */
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
  /** What was sent as a secret, and is masked wherever the platform repeats it. */
  secrets?: readonly string[];
  /** The value in the JSON of a success; null: it is not what was asked for. */
  read(json: unknown): T | null;
  /** Completes "… answered 200, but not with". */
  expected: string;
}

/** What an answer holds. Throws `PlatformRefused` or `UnreadableAnswer`. */
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

/** Asks the platform without a retry. Rejects like {@link readAnswer}, or with a `TransportError`. */
export async function askOnce<T>(http: Http, question: HttpRequest & Reading<T>): Promise<T> {
  return readAnswer(question, await http.send(question), question);
}
