export type JsonObject = { readonly [member: string]: unknown };

export type Json = string | number | boolean | null | readonly Json[] | { readonly [member: string]: Json };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value of a JSON text, or undefined. A byte order mark in front is ignored (RFC 8259, section 8.1). */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text.startsWith("\uFEFF") ? text.slice(1) : text);
  } catch {
    return undefined; // HTML, an empty body, half an answer: the caller says what was expected instead
  }
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** A uuid from outside in lower case, the form that we store; null if it is not a uuid. */
export function readUuid(value: unknown): string | null {
  return typeof value === "string" && UUID.test(value) ? value.toLowerCase() : null;
}

/** A timestamp with the offset `+hhmm` (as the platform writes it), `+hh:mm` or `Z`, of the years 2000 to 9999. */
export function readTime(value: unknown): Date | null {
  if (typeof value !== "string") return null;
  const time = new Date(/[+-]\d{4}$/.test(value) ? `${value.slice(0, -2)}:${value.slice(-2)}` : value);
  const year = time.getUTCFullYear();
  return year >= 2000 && year < 10_000 ? time : null;
}
