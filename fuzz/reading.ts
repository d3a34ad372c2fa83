import { isDeepStrictEqual } from "node:util";

/** What a provision asks to be kept, read from its bytes without the service's own code. */
export interface Reading {
  uuid: string;
  name: string | null;
  region: string | null;
  callbackUrl: string | null;
  options: object;
  hasCode: boolean;
}

/** Null: no reader of JSON sees a request in it, or none that can be kept. */
export function read(bytes: Buffer): Reading | null {
  try {
    return readBody(JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
  } catch {
    return null;
  }
}

/** Deeper or larger ones may be refused, and so may longer codes. */
const DEEPEST = 10;
const LARGEST = 65_536;
const LONGEST_CODE = 2_048;

/**
 * Whether these bytes, sent as JSON and in no odd way, must be accepted: a uuid and a plan that is sold, and nothing that
 * no database keeps. Whatever else stands in it, a refusal costs a sale.
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
    // Numbers beyond what a double holds become null, as JavaScript writes them.
    options: isObject(options) ? (JSON.parse(JSON.stringify(options)) as object) : {},
    hasCode: !!text(members(oauth_grant)["code"]),
  };
}

/** Names what of a row is not as it was asked for. */
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
