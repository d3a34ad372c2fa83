import { isDeepStrictEqual } from "node:util";

/** The data that a provision asks to store, read from its bytes without the service's own code. */
export interface Reading {
  uuid: string;
  name: string | null;
  region: string | null;
  callbackUrl: string | null;
  options: object;
  hasCode: boolean;
}

/** Null if the bytes are not a JSON request, or have no uuid. */
export function read(bytes: Buffer): Reading | null {
  try {
    return readBody(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  } catch {
    return null;
  }
}

/** Requests beyond these limits may be refused. */
const DEEPEST = 10;
const LARGEST = 65_536;
const LONGEST_CODE = 2_048;

/**
 * Whether these bytes, sent as ordinary JSON, must be accepted: a uuid, a plan on offer, and nothing that a database
 * cannot store. Whatever else they contain, a refusal would cost a sale.
 */
export function isGood(bytes: Buffer): boolean {
  const reading = read(bytes);
  if (!reading || bytes.length > LARGEST || bytes[0] !== 0x7b) return false;
  const body = JSON.parse(bytes.toString()) as Record<string, unknown>;
  const { uuid, plan, oauth_grant } = body;
  const { code } = members(oauth_grant);
  return (
    /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(String(uuid)) &&
    ["basic", "premium", "dedicated"].includes(plan as string) &&
    !(typeof code === "string" && code.length > LONGEST_CODE) &&
    isKeepable(body, DEEPEST)
  );
}

function isKeepable(value: unknown, depth: number): boolean {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0");
  if (typeof value !== "object" || value === null) return true;
  return depth > 0 && Object.entries(value).flat().every((each) => isKeepable(each, depth - 1));
} // prettier-ignore

function readBody(body: unknown): Reading | null {
  const { uuid, name, region, callback_url, options, oauth_grant } = members(body);
  if (typeof uuid !== "string") return null;
  return {
    uuid: uuid.toLowerCase(),
    name: text(name),
    region: text(region),
    callbackUrl: text(callback_url),
    // Numbers beyond the range of a double become null, as JavaScript writes them.
    options: isObject(options) ? (JSON.parse(JSON.stringify(options)) as object) : {},
    hasCode: !!text(members(oauth_grant)["code"]),
  };
}

/** The names of a row's columns that differ from the request. */
export function differences(reading: Reading, row: Omit<Reading, "uuid">): string[] {
  const names = ["name", "region", "callbackUrl", "options", "hasCode"] as const;
  return names.filter((name) => !isDeepStrictEqual(row[name], reading[name]));
}

function members(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
