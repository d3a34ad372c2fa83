import type { Request, Response } from "express";
import { pageOf } from "./paging.ts";

type Times = { updatedAt?: number; createdAt: number };

/** Answers one object or a whole array; `ETag` and the 304 of `If-None-Match` are Express's own. */
export function answer(res: Response, body: unknown, record: Times): void {
  setLastModified(res, record.updatedAt ?? record.createdAt);
  res.json(body);
}

/** Answers one page of a list. */
export function answerList<Row extends Times & { id: string }>(
  req: Request,
  res: Response,
  all: Row[],
  shape: (row: Row) => unknown,
): void {
  const { rows, status, headers } = pageOf(all, req.headers.range);
  const newest = rows.reduce((latest, row) => Math.max(latest, row.updatedAt ?? row.createdAt), 0);
  setLastModified(res, newest || Date.now());
  res.status(status).set(headers).json(rows.map(shape));
}

function setLastModified(res: Response, ms: number): void {
  res.set("Last-Modified", new Date(ms).toUTCString());
}
