import type { IncomingMessage } from "node:http";
import { TooLarge } from "../refusal.ts";

const LARGEST_BODY = 1024 * 1024;
/** How much of a message is read at most: a sender that is still sending does not read an answer yet. */
const LARGEST_WASTE = 64 * LARGEST_BODY;
const FORM = "application/x-www-form-urlencoded";
/** Deeper than any legitimate document, and far from where a recursive walk overflows the stack. */
const DEEPEST = 100;

/** Reads a message to its end as text. Rejects if it is cut off, and with {@link TooLarge} beyond 1 MB. */
export async function readBody(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= LARGEST_BODY) chunks.push(chunk);
    if (size > LARGEST_WASTE) break;
  }
  if (size > LARGEST_BODY) throw new TooLarge(size);
  return Buffer.concat(chunks).toString("utf8");
}

/** The media type of a Content-Type header, without parameters. */
export function mediaTypeOf(contentType: unknown): string {
  return String(contentType ?? "")
    .split(";", 1)[0]!
    .trim()
    .toLowerCase();
}

export function isJson(contentType: unknown): boolean {
  return /^application\/([\w.-]+\+)?json$/.test(mediaTypeOf(contentType));
}

/** Whether a JSON value is nested more than 100 levels deep; it is walked level by level, without recursion. */
export function isTooDeep(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth <= DEEPEST && level.length > 0; depth++) {
    level = level.flatMap((item) => (typeof item === "object" && item !== null ? Object.values(item) : []));
  }
  return level.length > 0;
}

/** A body as the ledger shows it: parsed if its content type and its depth allow that, else as text. */
export function readableBody(text: string, contentType: unknown): unknown {
  if (text === "") return null;
  if (mediaTypeOf(contentType) === FORM) return Object.fromEntries(new URLSearchParams(text));
  if (!isJson(contentType)) return text;
  try {
    const value: unknown = JSON.parse(text);
    return isTooDeep(value) ? text : value;
  } catch {
    return text;
  }
}

/**
 * The same for bodies whose secrets are masked by member names: a body without members, such as plain text, is replaced
 * by its size.
 */
export function membersOrSize(text: string, contentType: unknown): unknown {
  const isForm = mediaTypeOf(contentType) === FORM && hasUsualNames(text);
  return isForm ? readableBody(text, contentType) : objectOrSize(text, contentType);
}

/**
 * Whether a form has ordinary member names. A JSON document or a bare secret sent as a form would become one long name.
 */
function hasUsualNames(form: string): boolean {
  const names = [...new URLSearchParams(form).keys()];
  return names.every((name) => /^[\w.[\]-]+$/.test(name)) && !/(^|&)[^=&]+(&|$)/.test(form);
}

/**
 * The same for bodies that may hold secrets anywhere: plain text, which has no members to mask, is replaced by its
 * size.
 */
export function objectOrSize(text: string, contentType: unknown): unknown {
  const body = isJson(contentType) || text === "" ? readableBody(text, contentType) : text;
  if (typeof body !== "string") return body;
  return `[no JSON object: ${Buffer.byteLength(text)} bytes]`;
}
