const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Comes before every other in their order. */
export const FIRST_UUID = "00000000-0000-0000-0000-000000000000";

/** A uuid from outside in the one form we keep, lower case; null if it is none. */
export function readUuid(value: unknown): string | null {
  return typeof value === "string" && UUID.test(value) ? value.toLowerCase() : null;
}
