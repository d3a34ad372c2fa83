import { isJsonObject, type JsonObject } from "../json-object.ts";

/** What the kit relies on in an answer, checked by name; everything else may be absent, odd or new. */
export interface Shape<T> {
  /** Completes "… answered 200, but not with". */
  expected: string;
  fits(value: unknown): value is T;
}

export function anObject<T>(): Shape<T> {
  return { expected: "an object with an id", fits: (value): value is T => hasText(value, "id") };
}

/** A list of objects that each have a text under `key`, and an object with an id under each of `parts`. */
export function aList<T>(key: "id" | "name" = "id", parts: readonly string[] = []): Shape<T[]> {
  const fits = (item: unknown) =>
    hasText(item, key) && parts.every((part) => hasText((item as JsonObject)[part], "id"));
  return {
    expected: `a list of objects with ${[key === "id" ? "an id" : "a name", ...parts.map((part) => `an ${part}`)].join(" and ")}`,
    fits: (value): value is T[] => Array.isArray(value) && value.every(fits),
  };
}

function hasText(value: unknown, key: string): boolean {
  return isJsonObject(value) && typeof value[key] === "string" && value[key] !== "";
}
