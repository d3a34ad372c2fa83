import { createAnswerCache } from "./answer-cache.ts";
import { PlatformRefused, UnreadableAnswer } from "./api-errors.ts";
import { type Call, type CallerNeeds, createCaller } from "./caller.ts";
import type { HttpAnswer } from "./http.ts";
import type { CallName } from "./http-errors.ts";
import { parsedJson } from "../json-object.ts";
import type { Path } from "./path.ts";
import { aList, anObject, type Shape } from "./shape.ts";
import type { ConfigVar } from "./types.ts";

/** A longer list is taken for a mistake of the platform's. At 200 a page these are 20,000 objects. */
const MOST_PAGES = 100;

export interface ListOptions {
  filter?: object;
  parts?: readonly string[];
}

/** The kinds of answers the endpoints have; `api.ts` is written in these words. */
export interface ResourceClient {
  /** An object. */
  one<T>(method: string, path: Path, body?: object): Promise<T>;
  /**
   * All objects of a list, from all its pages. With a `filter` the list is asked for by POST. Each object must have
   * these `parts`, objects with an id.
   */
  many<T>(path: Path, options?: ListOptions): Promise<T[]>;
  /** The same list page by page. */
  pages<T>(path: Path, options?: ListOptions): AsyncGenerator<T[], void, undefined>;
  /** Config variables. Never remembered: their values are secrets. */
  vars(method: string, path: Path, body?: object): Promise<ConfigVar[]>;
  /** A call that only has to succeed; the content of its answer is ignored. */
  done(method: string, path: Path): Promise<void>;
  /** Any answer as it is, a refusal too. */
  raw(call: Call): Promise<HttpAnswer>;
}

/** The path of an answer: tried (`caller.ts`) → judged → remembered → read. */
export function createResourceClient(needs: CallerNeeds): ResourceClient {
  const tried = createCaller(needs);
  const cache = createAnswerCache();

  async function judged(call: Call): Promise<HttpAnswer> {
    const { answer, token } = await tried(call);
    if (answer.status < 400) return answer;
    throw new PlatformRefused(nameOf(call), answer, [token.reveal(), ...secretsIn(call.body)]);
  }

  async function remembered(call: Call): Promise<HttpAnswer> {
    const key = `${call.path} ${call.headers?.["range"] ?? ""}`;
    const known = cache.known(key);
    const headers = { ...call.headers, ...(known && { "if-none-match": known.etag }) };
    return cache.fresh(key, await judged({ ...call, headers }), known);
  }

  function read<T>(call: Call, { status, body }: HttpAnswer, shape: Shape<T>): T {
    const value = parsedJson(body);
    if (isSuccess(status) && shape.fits(value)) return value;
    throw new UnreadableAnswer(nameOf(call), status, shape.expected);
  }

  async function* pages<T>(
    path: Path,
    { filter, parts }: ListOptions = {},
  ): AsyncGenerator<T[], void, undefined> {
    let range: string | undefined;
    for (let page = 1; page <= MOST_PAGES; page += 1) {
      const call = aCall(filter ? "POST" : "GET", path, filter, range);
      const answer = await (filter ? judged(call) : remembered(call));
      yield read(call, answer, aList<T>("id", parts));
      const next = nextRange(answer);
      if (next === undefined && answer.status !== 206) return;
      // The list would end in the middle, or never.
      if (next === undefined || next === range)
        throw new UnreadableAnswer(nameOf(call), answer.status, "a Next-Range that leads on");
      range = next;
    }
    throw new UnreadableAnswer(nameOf(aCall("GET", path)), 206, `an end after ${MOST_PAGES} pages`);
  }

  async function many<T>(path: Path, options?: ListOptions): Promise<T[]> {
    const all: T[] = [];
    for await (const page of pages<T>(path, options)) all.push(...page);
    return all;
  }

  async function one<T>(method: string, path: Path, body?: object): Promise<T> {
    const call = aCall(method, path, body);
    return read(call, await (method === "GET" ? remembered(call) : judged(call)), anObject<T>());
  }

  async function vars(method: string, path: Path, body?: object): Promise<ConfigVar[]> {
    const call = aCall(method, path, body);
    return read(call, await judged(call), aList<ConfigVar>("name"));
  }

  async function done(method: string, path: Path): Promise<void> {
    const call = aCall(method, path);
    const { status } = await judged(call);
    if (!isSuccess(status)) throw new UnreadableAnswer(nameOf(call), status, "a success");
  }

  function nameOf({ method, path }: Call): CallName {
    return { method, url: new URL(needs.apiUrl + path) };
  }

  return { one, many, pages, vars, done, raw: async (call) => (await tried(call)).answer };
}

function aCall(method: string, path: Path, body?: object, range?: string): Call {
  return { method, path, ...(range && { headers: { range } }), ...(body && { body: JSON.stringify(body) }) };
}

/** The platform's text for the next page, sent back unread (assumed, section 4); undefined after the last page. */
function nextRange({ headers }: HttpAnswer): string | undefined {
  const range = headers["next-range"];
  return typeof range === "string" && range !== "" ? range : undefined;
}

function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
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
