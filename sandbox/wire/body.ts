import type { IncomingMessage } from "node:http";
import { badRequest } from "../refusal.ts";

const LARGEST_BODY = 1024 * 1024;

/** Reads a message to its end as text; rejects when it is cut off or larger than 1 MB. */
export async function readBody(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST_BODY) throw badRequest("The body is larger than 1 MB.");
    chunks.push(chunk);
  }
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

/** A body as the ledger shows it: parsed where its content type allows, else the text. */
export function readableBody(text: string, contentType: unknown): unknown {
  if (text === "") return null;
  if (mediaTypeOf(contentType) === "application/x-www-form-urlencoded") {
    return Object.fromEntries(new URLSearchParams(text));
  }
  if (!isJson(contentType)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
