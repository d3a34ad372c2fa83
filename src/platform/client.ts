import { isJsonObject, type JsonObject, parsedJson } from "../json-object.ts";
import type { Secret } from "../secret.ts";
import { PlatformRefused, retryAfterMs, UnreadableAnswer } from "./api-errors.ts";
import type { Http, HttpAnswer } from "./http.ts";
import { AnswerTooLarge, type CallName, RedirectRefused, TransportError } from "./http-errors.ts";
import type { Path } from "./path.ts";
import type { Clock, Throttle } from "./throttle.ts";
import type { ConfigVar } from "./types.ts";

/** Where a client gets the access token of its one resource from. */
export interface TokenSource {
  current(): Promise<Secret>;
  /** A newer token than the rejected one; many callers at once cause one refresh. Rejects if none can be had. */
  renew(rejected: Secret): Promise<Secret>;
}

export interface Call {
  method: string;
  path: Path;
  headers?: Record<string, string>;
  body?: string;
}

/** What calls with one resource's token need. */
export interface ResourceClient {
  http: Http;
  /** Without a slash at its end. */
  apiUrl: string;
  /** The `Accept` header, which selects the version (platform document, "Versioning"). */
  mediaType: string;
  tokens: TokenSource;
  throttle: Throttle;
  sleep: Clock["sleep"];
  random: () => number;
}

export interface ListOptions {
  /** The list is requested by POST, with this body. */
  filter?: object;
  /** Each object of the list must have these members, objects with an id. */
  parts?: readonly string[];
}

const MOST_WAITS = 2;
/** A longer wait is left to the caller, which may have to give back a lease or a connection first. */
const MOST_WAIT_MS = 10_000;
const FIRST_WAIT_MS = 400;
/** A longer list is taken for a mistake of the platform's. At 200 a page these are 20,000 objects. */
const MOST_PAGES = 100;

// The kinds of answers that the endpoints have; `api.ts` is written in these words.

/** An object. */
export async function one<T>(client: ResourceClient, method: string, path: Path, body?: object): Promise<T> {
  const call = aCall(method, path, body);
  const answer = await judged(client, call);
  const object = jsonIn(answer);
  if (!hasText(object, "id")) throw unreadable(client, call, answer, "an object with an id");
  return object as T;
}

/** All objects of a list, from all its pages. */
export async function many<T>(client: ResourceClient, path: Path, options?: ListOptions): Promise<T[]> {
  const all: T[] = [];
  for await (const page of pages<T>(client, path, options)) all.push(...page);
  return all;
}

/** A list page by page. */
export async function* pages<T>(
  client: ResourceClient,
  path: Path,
  { filter, parts }: ListOptions = {},
): AsyncGenerator<T[], void, undefined> {
  let range: string | undefined;
  for (let page = 1; ; page += 1) {
    const call = aCall(filter ? "POST" : "GET", path, filter, range);
    const answer = await judged(client, call);
    yield listIn<T>(client, call, answer, "id", parts);
    // The platform's text for the next page is sent back unread (assumed, section 4).
    const next = answer.headers["next-range"];
    if (!next && answer.status !== 206) return;
    // Otherwise the list would end in the middle, or never.
    if (typeof next !== "string" || next === range || page === MOST_PAGES)
      throw unreadable(client, call, answer, `a Next-Range that ends within ${MOST_PAGES} pages`);
    range = next;
  }
}

/** Config variables. */
export async function vars(
  client: ResourceClient,
  method: string,
  path: Path,
  body?: object,
): Promise<ConfigVar[]> {
  const call = aCall(method, path, body);
  return listIn<ConfigVar>(client, call, await judged(client, call), "name");
}

/** A call that only has to succeed; the content of its answer is ignored. */
export async function done(client: ResourceClient, method: string, path: Path): Promise<void> {
  const call = aCall(method, path);
  const answer = await judged(client, call);
  if (!isSuccess(answer)) throw unreadable(client, call, answer, "a success");
}

/** Any answer as it is, a refusal too. */
export async function raw(client: ResourceClient, call: Call): Promise<HttpAnswer> {
  return (await tried(client, call)).answer;
}

function send({ http, apiUrl, mediaType }: ResourceClient, call: Call, token: Secret): Promise<HttpAnswer> {
  const { path, headers, ...request } = call;
  const contentType = request.body !== undefined && { "content-type": "application/json" };
  const authorization = `Bearer ${token.reveal()}`;
  const all = { accept: mediaType, ...contentType, ...headers, authorization };
  return http.send({ ...request, url: apiUrl + path, headers: all });
}

/**
 * The answer of the last try, of any status, and the token that was sent with it. The one place that decides whether a
 * call is tried again:
 *
 * - 401: nothing was done, whatever the method. The token is renewed once; a second 401 is not the token's fault.
 * - GET: at most twice more, after a failure that may pass by itself (429, 5xx, most transport errors).
 * - Every other method changes something and is never repeated here. The caller has a row that says what is to be done,
 *   and compares before it asks again.
 * - 403 and every other 4xx: final.
 */
async function tried(client: ResourceClient, call: Call): Promise<{ answer: HttpAnswer; token: Secret }> {
  const { tokens, throttle, sleep, random } = client;
  let token = await tokens.current();
  let hasRenewed = false;
  for (let waits = 0; ;) {
    const outcome = await throttle(() => send(client, call, token)).catch(transportErrorOf);
    if (isAnswer(outcome) && outcome.status === 401 && !hasRenewed) {
      token = await tokens.renew(token);
      hasRenewed = true;
      continue;
    }
    const pauseMs = call.method === "GET" && waits < MOST_WAITS ? pauseAfter(outcome, waits, random) : null;
    if (pauseMs === null || pauseMs > MOST_WAIT_MS) {
      if (isAnswer(outcome)) return { answer: outcome, token };
      throw outcome;
    }
    waits += 1;
    await sleep(pauseMs);
    token = await tokens.current();
  }
}

async function judged(client: ResourceClient, call: Call): Promise<HttpAnswer> {
  const { answer, token } = await tried(client, call);
  if (answer.status < 400) return answer;
  throw new PlatformRefused(nameOf(client, call), answer, [token.reveal(), ...secretsIn(call.body)]);
}

/** Only what the kit relies on is checked; everything else may be absent, odd or new. */
function listIn<T>(
  client: ResourceClient,
  call: Call,
  answer: HttpAnswer,
  key: "id" | "name",
  parts: readonly string[] = [],
): T[] {
  const list = jsonIn(answer);
  const fits = (item: unknown) =>
    hasText(item, key) && parts.every((part) => hasText((item as JsonObject)[part], "id"));
  if (Array.isArray(list) && list.every(fits)) return list as T[];
  const members = [key, ...parts].map((member) => `"${member}"`).join(" and ");
  throw unreadable(client, call, answer, `a list of objects that have ${members}`);
}

function unreadable(client: ResourceClient, call: Call, { status }: HttpAnswer, expected: string) {
  return new UnreadableAnswer(nameOf(client, call), status, expected);
}

function nameOf({ apiUrl }: ResourceClient, { method, path }: Call): CallName {
  return { method, url: new URL(apiUrl + path) };
}

type Outcome = HttpAnswer | TransportError;

function isAnswer(outcome: Outcome): outcome is HttpAnswer {
  return !(outcome instanceof TransportError);
}

function transportErrorOf(error: unknown): TransportError {
  if (error instanceof TransportError) return error;
  throw error;
}

/** How long to wait before another try, in ms; null: another try would end in the same way. */
function pauseAfter(outcome: Outcome, waits: number, random: () => number): number | null {
  // Doubles with each wait, and is spread over its upper half, so that calls that failed together do not return together.
  const backoffMs = FIRST_WAIT_MS * 2 ** waits * (0.5 + random() / 2);
  if (isAnswer(outcome))
    return outcome.status === 429 || outcome.status >= 500
      ? (retryAfterMs(outcome.headers) ?? backoffMs)
      : null;
  return outcome instanceof AnswerTooLarge || outcome instanceof RedirectRefused ? null : backoffMs;
}

function aCall(method: string, path: Path, body?: object, range?: string): Call {
  return { method, path, ...(range && { headers: { range } }), ...(body && { body: JSON.stringify(body) }) };
}

function isSuccess({ status }: HttpAnswer): boolean {
  return status >= 200 && status < 300;
}

function jsonIn(answer: HttpAnswer): unknown {
  return isSuccess(answer) ? parsedJson(answer.body) : undefined;
}

function hasText(value: unknown, key: string): boolean {
  return isJsonObject(value) && typeof value[key] === "string" && value[key] !== "";
}

/** What a refusal may echo of our body: values of config variables, addresses of drains. */
function secretsIn(body: string | undefined): string[] {
  const secrets: string[] = [];
  JSON.parse(body ?? "null", (key, value: unknown) => {
    if ((key === "value" || key === "url") && typeof value === "string") secrets.push(value);
    return value;
  });
  return secrets;
}
