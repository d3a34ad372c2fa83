import { createHash } from "node:crypto";
import type { RequestHandler } from "express";

/**
 * A file for the browser. Its name changes with its content, so that it may be kept for ever; asked for by the name that
 * another version of the service gave it, as happens while that is rolled out, it is not kept at all.
 */
export interface Asset {
  /** Below where its pages stand. */
  path: string;
  /** With what makes it unlike the one before. */
  name: string;
  send: RequestHandler;
}

/** `whose`: whether anybody's cache may keep it, or only the browser of whoever may see it. */
export function asset(whose: "public" | "private", file: string, type: string, text: string): Asset {
  const path = `/assets/${file}`;
  const version = createHash("sha256").update(text).digest("hex").slice(0, 12);
  return {
    ...{ path, name: `${path}?v=${version}` },
    send({ query }, response) {
      const kept = query["v"] === version ? "max-age=31536000, immutable" : "no-cache";
      response.set({
        "Content-Type": `${type}; charset=utf-8`,
        "Cache-Control": `${whose}, ${kept}`,
        "X-Content-Type-Options": "nosniff",
      });
      response.send(text);
    },
  };
}
