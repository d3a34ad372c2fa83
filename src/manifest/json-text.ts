import { whyNoKey, whyNoString, whyNotSeparated, whyNoValue } from "./json-mistakes.ts";
import type { Path } from "./path.ts";

/** The index at which a value of a JSON text begins (for a member, its key), and the same for the values inside it. */
export interface Spot {
  at: number;
  inside: Map<PropertyKey, Spot>;
}

export interface JsonText {
  value: unknown;
  spot: Spot;
  /** Members whose name occurred before in their object. The last one counts, as in JSON.parse. */
  repeated: readonly Path[];
}

/**
 * The text is not JSON. The message says what is wrong and repeats nothing of the text; `at` is the index of the
 * character.
 */
export class NotJson extends Error {
  readonly at: number;

  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

const DEEPEST = 100;

const SPACE = /[ \t\r\n]*/y;
const PLAIN_VALUE = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;
const STRING_UP_TO_QUOTE = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*/y; // eslint-disable-line no-control-regex

/**
 * Reads JSON (RFC 8259) with the same result as JSON.parse, but also tells where each value stands and which members
 * are repeated, and its messages do not depend on Node's version. Throws {@link NotJson}.
 */
export function readJson(text: string): JsonText {
  let at = 0;
  const path: PropertyKey[] = [];
  const opened: number[] = [];
  const repeated: Path[] = [];

  const fail = (message: string, where = at): never => {
    throw new NotJson(where, message);
  };
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  };
  const skipSpace = () => take(SPACE);
  const isNext = (sign: string): boolean => text[at] === sign;

  function readValue(): Spot {
    const spot: Spot = { at, inside: new Map() };
    if (isNext("{")) readInside(spot, "}", readMember);
    else if (isNext("[")) readInside(spot, "]", readElement);
    else if (isNext('"')) readString();
    else if (take(PLAIN_VALUE) === undefined) fail(whyNoValue(text, at, opened.at(-1)));
    return spot;
  }

  function readInside(spot: Spot, end: "}" | "]", readOne: (spot: Spot) => void): void {
    if (opened.push(at) > DEEPEST) fail(`This is nested deeper than ${DEEPEST} levels: no manifest is.`);
    at++;
    skipSpace();
    for (let isFirst = true; !isNext(end); isFirst = false) {
      if (!isFirst) readComma(end);
      readOne(spot);
      skipSpace();
    }
    at++;
    opened.pop();
  }

  function readComma(end: string): void {
    if (!isNext(",")) fail(whyNotSeparated(text, at, opened.at(-1)!, end));
    const comma = at++;
    skipSpace();
    if (isNext(end)) fail(`There is a comma too many before the closing ${end}.`, comma);
  }

  function readMember({ inside }: Spot): void {
    if (!isNext('"')) fail(whyNoKey(text, at, opened.at(-1)!));
    const begin = at;
    const key = JSON.parse(readString()) as string;
    skipSpace();
    if (!isNext(":")) fail("A colon is missing after the key.");
    at++;
    skipSpace();
    path.push(key);
    if (inside.has(key)) repeated.push([...path]);
    inside.set(key, { ...readValue(), at: begin });
    path.pop();
  }

  function readElement({ inside }: Spot): void {
    path.push(inside.size);
    inside.set(inside.size, readValue());
    path.pop();
  }

  function readString(): string {
    const begin = at;
    take(STRING_UP_TO_QUOTE);
    if (!isNext('"')) fail(...whyNoString(text, at, begin));
    at++;
    return text.slice(begin, at);
  }

  skipSpace();
  if (at === text.length) fail("There is nothing in it.", 0);
  const spot = readValue();
  skipSpace();
  if (at < text.length)
    fail("The text goes on after the end of the first value: one object is all there may be.");
  return { value: JSON.parse(text) as unknown, spot, repeated };
}
