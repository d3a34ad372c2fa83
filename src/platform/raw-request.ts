import type { Call } from "./caller.ts";
import { rawPath } from "./raw-path.ts";

export interface RawRequest {
  /** Sent as it is, as JSON unless the headers say otherwise. */
  body?: string;
  headers?: Record<string, string>;
}

/**
 * Headers that decide where a request goes, with whose credentials, and where it ends: those of the caller are dropped.
 */
const OURS = [
  ...["authorization", "host", "connection", "content-length", "transfer-encoding"],
  // With one of these, Node would send a body in chunks.
  ...["expect", "trailer"],
];

/** A call from what a person typed. Throws `InvalidPath` or `ForeignResource`. */
export function rawCall(
  method: string,
  typedPath: string,
  { body, headers = {} }: RawRequest,
  own: { apiUrl: string; uuid: string },
): Call {
  const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return {
    method: method.toUpperCase(),
    path: rawPath(typedPath, own),
    headers: Object.fromEntries(named.filter(([name]) => !OURS.includes(name))),
    ...(body !== undefined && { body }),
  };
}
