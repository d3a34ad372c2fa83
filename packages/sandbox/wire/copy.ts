import http from "node:http";
import type { Request } from "express";

/** Marks the second of two equal calls, which gets no further fault. */
export const COPY_HEADER = "x-sandbox-copy";

/** Headers that belong to one connection and are not copied. */
const ownHeaders = new Set([
  "host",
  "connection",
  "keep-alive",
  "content-length",
  "transfer-encoding",
  "expect",
  "upgrade",
]);

/**
 * Makes the same call once more, with its body, and waits for its answer. Does not use `fetch`, which allows no body
 * with GET.
 */
export function makeCopy(ownUrl: string, req: Request, text: string): Promise<void> {
  const copied = Object.entries(req.headers).filter(
    (header): header is [string, string] => typeof header[1] === "string" && !ownHeaders.has(header[0]),
  );
  const headers = {
    ...Object.fromEntries(copied),
    ...(text !== "" && { "content-length": Buffer.byteLength(text) }),
    [COPY_HEADER]: "1",
  };
  return new Promise((resolve, reject) => {
    const copy = http.request(ownUrl + req.originalUrl, { method: req.method, headers, agent: false });
    copy.on("error", reject);
    copy.on("response", (response) => response.resume().on("close", resolve));
    copy.end(text);
  });
}
