import { createHash } from "node:crypto";
import type { Request, Response } from "express";
import { type Listed, pageOf } from "./paging.ts";

type Times = { updatedAt?: number; createdAt: number };

/** Answers one object or a whole array. Express itself adds `ETag` and answers 304 to `If-None-Match`. */
export function answer(res: Response, body: unknown, record: Times): void {
  setLastModified(res, record.updatedAt ?? record.createdAt);
  res.json(body);
}

/** Answers one page of a list; `Last-Modified` is that of the row that changed last. */
export function answerList<Row>(req: Request, res: Response, all: Row[], shape: (row: Row) => Listed): void {
  const { shapes: body, status, headers } = pageOf(all.map(shape), req.headers.range);
  if (body.length > 0)
    setLastModified(res, Math.max(...body.map(({ updated_at }) => Date.parse(updated_at))));
  res
    .status(status)
    .set({ ...headers, ETag: tagOf({ headers, body }) })
    .json(body);
}

/**
 * The `ETag` covers the paging headers too: a last page must not count as unchanged when another page now follows it.
 */
function tagOf(page: object): string {
  return `"${createHash("sha256").update(JSON.stringify(page)).digest("base64url")}"`;
}

function setLastModified(res: Response, ms: number): void {
  res.set("Last-Modified", new Date(ms).toUTCString());
}
