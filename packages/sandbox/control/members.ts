import { isObject } from "../is-object.ts";
import { invalid } from "../refusal.ts";

/** Returns the value, or throws an error that says what it must be. */
export type Check = (value: unknown) => unknown;

export const text: Check = (value) => {
  if (typeof value !== "string" || value.trim() === "") throw new Error("must be a string that is not empty");
  if (!value.isWellFormed()) throw new Error("contains half of a character");
  return value;
};

/** A lower-case word; any is accepted, since the platform's sets of words are open. */
export const word: Check = (value) => {
  if (typeof value !== "string" || !/^[a-z][a-z0-9_-]*$/.test(value))
    throw new Error("must be a word of lower-case letters");
  return value;
};

export const flag: Check = (value) => {
  if (typeof value !== "boolean") throw new Error("must be true or false");
  return value;
};

export const httpUrl: Check = (value) => {
  if (typeof value !== "string" || !/^https?:\/\//.test(value) || !URL.canParse(value))
    throw new Error("must be an http URL");
  return value;
};

export const path: Check = (value) => {
  if (typeof value !== "string" || !/^\/[^\s?#]*[^\s?#/]$/.test(value))
    throw new Error("must be a path like /resources");
  return value;
};

export const isoTimestamp: Check = (value) => {
  if (typeof value !== "string" || !/^\d{4}-\d\d-\d\dT/.test(value) || Number.isNaN(Date.parse(value)))
    throw new Error("must be an ISO 8601 timestamp");
  return value;
};

export const object: Check = (value) => {
  if (!isObject(value)) throw new Error("must be a JSON object");
  return value;
};

export const oneOf =
  (...allowed: unknown[]): Check =>
  (value) => {
    if (!allowed.includes(value)) throw new Error(`must be one of ${allowed.join(", ")}`);
    return value;
  };

export const listOf =
  (check: Check): Check =>
  (value) => {
    if (!Array.isArray(value)) throw new Error("must be an array");
    return value.map((item: unknown) => check(item));
  };

/** An object with any member names that match the pattern. */
export const tableOf =
  (name: RegExp, check: Check): Check =>
  (value) => {
    const entries = Object.entries(object(value) as object) as [string, unknown][];
    const strange = entries.find(([key]) => !name.test(key));
    if (strange) throw new Error(`cannot hold the name ${strange[0]}`);
    return Object.fromEntries(entries.map(([key, member]) => [key, check(member)]));
  };

/** Checks each member of a control call's body. An unknown member is refused, because it may be a typing error. */
export function checkMembers(
  body: unknown,
  checks: Record<string, Check>,
  needed: string[] = [],
): Record<string, unknown> {
  if (!isObject(body)) throw invalid("The body must be a JSON object.");
  const checked: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    if (!Object.hasOwn(checks, name))
      throw invalid(`There is no member ${name}; there are ${Object.keys(checks).join(", ")}.`);
    try {
      if (value !== undefined) checked[name] = checks[name]!(value);
    } catch (error) {
      throw invalid(`${name}: ${(error as Error).message}.`.replace(/\.\.$/, "."));
    }
  }
  const missing = needed.find((name) => checked[name] === undefined);
  if (missing !== undefined) throw invalid(`${missing} is missing.`);
  return checked;
}
