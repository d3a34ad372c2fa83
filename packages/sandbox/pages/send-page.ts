import type { Response } from "express";
import type { VNode } from "preact";
import { renderToString } from "preact-render-to-string";

/** Answers a page rendered on the server; its components do not run in the browser. */
export function sendPage(res: Response, status: number, page: VNode): void {
  res
    .status(status)
    .type("html")
    .send(`<!doctype html>${renderToString(page)}`);
}
