import type { IncomingMessage, ServerResponse } from "node:http";
import { KitError, Refusal } from "../errors.ts";

/**
 * Asks a client that sent `Expect: 100-continue` for its body. To be called once the caller is authenticated, and
 * before anything reads the body: without it such a client waits until the server cuts it off.
 */
export function askForBody({ headers }: IncomingMessage, response: ServerResponse): void {
  if (headers.expect?.toLowerCase() !== "100-continue") return;
  response.writeContinue();
  // So that a second call does not ask again.
  delete headers.expect;
}

/** Throws a 415 for a compressed body, before any decoder sees it: what strangers send is not unpacked here. */
export function refuseCompressed({ headers }: IncomingMessage): void {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding === "identity" || encoding === "") return;
  throw new Refusal("The body must not be compressed.", { id: "unsupported_media_type", status: 415 });
}

/**
 * Whether the error says that a body cannot be read: one of Express's parsers threw it. Their messages quote the body,
 * so they are neither sent nor logged.
 */
export function isUnreadableBody(error: unknown): boolean {
  if (error instanceof KitError) return false;
  const { status } = error as { status?: unknown };
  return typeof status === "number" && status >= 400 && status < 500;
}
