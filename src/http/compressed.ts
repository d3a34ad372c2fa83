import type { IncomingMessage } from "node:http";
import { Refusal } from "../errors.ts";

/** Throws a 415 for a compressed body, before any decoder sees it: what strangers send is not unpacked here. */
export function refuseCompressed({ headers }: IncomingMessage): void {
  const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  if (encoding === "identity" || encoding === "") return;
  throw new Refusal("The body must not be compressed.", { id: "unsupported_media_type", status: 415 });
}
