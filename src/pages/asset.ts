import { createHash } from "node:crypto";
import type { RequestHandler } from "express";

/**
 * A file for the browser. Its name contains a hash of its content, so browsers may cache it for ever. A request with
 * the hash of another version, as happens during a rolling deployment, gets an answer that must be revalidated.
 */
interface Asset {
  /** The path below the base of the pages that use it. */
  path: string;
  /** The path with the hash of the content as query `v`. */
  name: string;
  send: RequestHandler;
}

/** `whose`: whether shared caches may store the file too, or only the browser that was allowed to load it. */
export function asset(whose: "public" | "private", file: string, type: string, text: string): Asset {
  const path = `/assets/${file}`;
  const version = createHash("sha256").update(text).digest("hex").slice(0, 12);
  const bytes = Buffer.from(text);
  return {
    ...{ path, name: `${path}?v=${version}` },
    send({ query }, response) {
      const kept = query["v"] === version ? "max-age=31536000, immutable" : "no-cache";
      response
        .set({ "Content-Type": `${type}; charset=utf-8`, "Cache-Control": `${whose}, ${kept}` })
        .send(bytes);
    },
  };
}
