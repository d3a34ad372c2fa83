import type { Response } from "express";
import type { VNode } from "preact";
import { renderToString } from "preact-render-to-string";

/** Answers a page, rendered here and only here: no script of it runs in a browser. */
export function sendPage(res: Response, status: number, page: VNode): void {
  res
    .status(status)
    .type("html")
    .send(`<!doctype html>${renderToString(page)}`);
}
