import type { Secret } from "../secret.ts";
import { isJsonObject } from "../values.ts";
import {
  type HttpAnswer,
  type PlatformCalls,
  RateLimited,
  readAnswer,
  type Reading,
  retryAfterMs,
  TransportError,
  UnreadableAnswer,
} from "./call.ts";
import type { Path } from "./path.ts";
import type { ConfigVar } from "./types.ts";

export interface TokenSource {
  current(): Promise<Secret>;
  /** A newer token than the rejected one; many callers at once cause one refresh. Rejects if none can be had. */
  renew(rejected: Secret): Promise<Secret>;
}

interface Call {
  method: string;
  path: Path;
  headers?: Record<string, string>;
  body?: string;
}

export interface ResourceClient extends PlatformCalls {
  tokens: TokenSource;
  throttle: Throttle;
  sleep: (ms: number) => Promise<unknown>;
}

const MOST_WAITS = 2;
/** A longer wait is left to the caller, which may have to give back a lease or a connection first. */
const MOST_WAIT_MS = 10_000;
const FIRST_WAIT_MS = 400;
/** A longer list is taken for a mistake of the platform's. At 200 a page these are 20,000 objects. */
const MOST_PAGES = 100;

// The kinds of answers that the endpoints have; `api.ts` is written in these words.

export async function one<T>(on: ResourceClient, method: string, path: Path, body?: object): Promise<T> {
  const read = (json: unknown) => (hasText(json, "id") ? (json as T) : null);
  return (await answerTo(on, aCall(method, path, body), { read, expected: "an object with an id" })).value;
}

/**
 * All objects of a list, from all its pages; with `filter`, it is requested by POST. Each must have the member `part`, an
 * object with an id.
 */
export async function many<T>(
  on: ResourceClient,
  path: Path,
  filter?: object,
  part?: string & keyof T,
): Promise<T[]> {
  const all: T[] = [];
  let range: string | undefined;
  for (let page = 1; ; page += 1) {
    const call = { ...aCall(filter ? "POST" : "GET", path, filter), ...(range && { headers: { range } }) };
    const { value, answer } = await answerTo(on, call, listOf<T>("id", part));
    all.push(...value);
    // The platform's text for the next page is sent back unread (assumed, section 4).
    const next = answer.headers["next-range"];
    if (!next && answer.status !== 206) return all;
    // Otherwise the list would end in the middle, or never.
    if (typeof next !== "string" || next === range || page === MOST_PAGES)
      throw new UnreadableAnswer(
        { method: call.method, url: new URL(on.apiUrl + path) },
        answer.status,
        `a Next-Range that ends within ${MOST_PAGES} pages`,
      );
    range = next;
  }
}

export async function vars(on: ResourceClient, method: string, path: Path, body?: object) {
  return (await answerTo(on, aCall(method, path, body), listOf<ConfigVar>("name"))).value;
}

export async function done(on: ResourceClient, method: string, path: Path): Promise<void> {
  await answerTo(on, aCall(method, path), { read: () => true, expected: "a success" });
}

/** Any answer as it is, a refusal too. */
export const raw = async (on: ResourceClient, call: Call): Promise<HttpAnswer> =>
  (await tried(on, call)).answer;

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
async function tried(on: ResourceClient, call: Call): Promise<{ answer: HttpAnswer; token: Secret }> {
  const { tokens, throttle, sleep } = on;
  let token = await tokens.current();
  let hasRenewed = false;
  for (let waits = 0; ;) {
    const outcome = await throttle(() => send(on, call, token)).catch((error: unknown) => {
      if (error instanceof TransportError) return error;
      throw error;
    });
    if (outcome.status === 401 && !(outcome instanceof Error) && !hasRenewed) {
      token = await tokens.renew(token);
      hasRenewed = true;
      continue;
    }
    const pauseMs = call.method === "GET" && waits < MOST_WAITS ? pauseAfter(outcome, waits) : null;
    if (pauseMs === null || pauseMs > MOST_WAIT_MS) {
      if (outcome instanceof Error) throw outcome;
      return { answer: outcome, token };
    }
    waits += 1;
    await sleep(pauseMs);
    token = await tokens.current();
  }
}

function send({ http, apiUrl, mediaType }: ResourceClient, call: Call, token: Secret): Promise<HttpAnswer> {
  const { path, headers, ...request } = call;
  const contentType = request.body !== undefined && { "content-type": "application/json" };
  const authorization = `Bearer ${token.reveal()}`;
  const all = { accept: mediaType, authorization, ...contentType, ...headers };
  return http.send({ url: apiUrl + path, headers: all, ...request });
}

/** In ms; null: another try would end in the same way. */
function pauseAfter(outcome: HttpAnswer | TransportError, waits: number): number | null {
  // Doubles with each wait, and is spread over its upper half, so that calls that failed together do not return together.
  const backoffMs = FIRST_WAIT_MS * 2 ** waits * (0.5 + Math.random() / 2);
  // A transport error with a status is an answer that is too large, or a redirect.
  if (outcome instanceof Error) return outcome.status === null ? backoffMs : null;
  const mayPass = outcome.status === 429 || outcome.status >= 500;
  return mayPass ? (retryAfterMs(outcome.headers) ?? backoffMs) : null;
}

async function answerTo<T>(on: ResourceClient, call: Call, reading: Reading<T>) {
  const { answer, token } = await tried(on, call);
  const secrets = [token.reveal(), ...secretsIn(call.body)];
  const value = readAnswer({ method: call.method, url: on.apiUrl + call.path }, answer, {
    secrets,
    ...reading,
  });
  return { value, answer };
}

/** Checks only what the kit relies on. */
function listOf<T>(key: "id" | "name", part?: string & keyof T): Reading<T[]> {
  const isItem = (item: unknown) => hasText(item, key) && (!part || hasText((item as T)[part], "id"));
  return {
    read: (json) => (Array.isArray(json) && json.every(isItem) ? (json as T[]) : null),
    expected: `a list of objects that have "${key}"${part ? ` and "${part}"` : ""}`,
  };
}

function aCall(method: string, path: Path, body?: object): Call {
  return { method, path, ...(body && { body: JSON.stringify(body) }) };
}

function hasText(value: unknown, key: string): boolean {
  return isJsonObject(value) && typeof value[key] === "string" && value[key] !== "";
}

/** What a refusal may echo of our body: values of config variables, addresses of drains. */
function secretsIn(body = "null"): string[] {
  const secrets: string[] = [];
  JSON.parse(body, (key, value: unknown) => {
    if ((key === "value" || key === "url") && typeof value === "string") secrets.push(value);
    return value;
  });
  return secrets;
}

type Clock = { nowMs: () => number; sleep: (ms: number) => Promise<unknown> };

type Throttle = (send: () => Promise<HttpAnswer>) => Promise<HttpAnswer>;

/** The platform is assumed to refill 75 calls a minute (section 4). */
const REFILL_MS = 1_000;
const MOST_RESOURCES = 10_000;

/**
 * A throttle per resource that outlives its clients (platform document, "Limits"), for those that called last. A call
 * that would wait longer than 10 s rejects with `RateLimited`, and is not sent.
 */
export function createThrottles(clock: Clock): (uuid: string) => Throttle {
  const throttles = new Map<string, Throttle>();
  return (uuid) => {
    const throttle = throttles.get(uuid) ?? createThrottle(clock);
    throttles.delete(uuid);
    throttles.set(uuid, throttle);
    if (throttles.size > MOST_RESOURCES) throttles.delete(throttles.keys().next().value!);
    return throttle;
  };
}

function createThrottle({ nowMs, sleep }: Clock): Throttle {
  /**
   * When the next call is covered. Each call moves it on by the time in which one is refilled, each answer sets it by
   * the calls that are left, and a 429 to the time that it asks for.
   */
  let coveredAtMs = -Infinity;
  let inFlight = 0;

  function count({ status, headers }: HttpAnswer): void {
    const left = Number.parseInt(String(headers["ratelimit-remaining"]), 10);
    // The platform may not have counted yet what is still in flight.
    if (left >= 0) coveredAtMs = nowMs() + (1 + inFlight - left) * REFILL_MS;
    if (status === 429) coveredAtMs = Math.max(coveredAtMs, nowMs() + (retryAfterMs(headers) ?? REFILL_MS));
  }

  return async function inTurn(send) {
    const waitMs = Math.max(0, coveredAtMs - nowMs());
    if (waitMs > MOST_WAIT_MS) throw new RateLimited(waitMs);
    coveredAtMs += REFILL_MS;
    inFlight += 1;
    let answer: HttpAnswer;
    try {
      if (waitMs > 0) await sleep(waitMs);
      answer = await send();
    } finally {
      inFlight -= 1;
    }
    count(answer);
    return answer;
  };
}
