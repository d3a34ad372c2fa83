import type { Request, Response } from "express";
import { render } from "preact-render-to-string";
import { createAddressOf, type AddressOf } from "./address.ts";
import { Layout } from "./layout.tsx";
import type { Page } from "./page.ts";
import { STYLESHEET } from "./stylesheet.ts";

export type { Address, AddressOf } from "./address.ts";
export type { Page, PageExtras } from "./page.ts";
export { Problem, type Told } from "./problem.ts";

/**
 * What every page needs: the function that renders it in the common frame, and the address at which browsers see us.
 */
export interface Pages {
  show(request: Request, response: Response, page: Page): void;
  addressOf: AddressOf;
}

/** Renders pages, which are components, on the server only; every value in them is escaped. */
export function createPages({
  siteName,
  publicUrl,
}: {
  siteName: string;
  publicUrl: string | undefined;
}): Pages {
  const addressOf = createAddressOf(publicUrl);
  return {
    addressOf,
    show(request, response, page) {
      const stylesheet = addressOf(request).base + STYLESHEET;
      const html = render(<Layout {...{ siteName, stylesheet, page }} />);
      response
        .status(page.status ?? 200)
        .type("html")
        .send(`<!doctype html>${html}`);
    },
  };
}
