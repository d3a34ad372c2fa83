import { type TestWorld } from "./world.ts";

export interface MarketPage {
  status: number;
  headers: Headers;
  html: string;
  /** The text that a person reads: the page without its tags. */
  text: string;
  /** The path of the page, after redirects. */
  at: string;
}

/** A person at the marketplace whose browser runs no script. */
export function aPerson({ sandbox }: Pick<TestWorld, "sandbox">) {
  async function read(response: Response): Promise<MarketPage> {
    const html = await response.text();
    const { status, headers } = response;
    return { status, headers, html, text: textOf(html), at: new URL(response.url).pathname };
  }
  const html = { accept: "text/html" };

  return {
    visit: async (path: string, headers: Record<string, string> = {}) =>
      read(await fetch(sandbox.url + path, { headers: { ...html, ...headers } })),

    /** Sends a form as its page would, and follows the redirect. */
    async send(path: string, form: Record<string, string | File>, headers: Record<string, string> = {}) {
      const hasFile = Object.values(form).some((value) => value instanceof File);
      const body = hasFile ? new FormData() : new URLSearchParams();
      for (const [name, value] of Object.entries(form)) (body as FormData).append(name, value);
      const origin = new URL(sandbox.url).origin;
      return read(
        await fetch(sandbox.url + path, { method: "POST", body, headers: { ...html, origin, ...headers } }),
      );
    },
  };
}

export type Person = ReturnType<typeof aPerson>;

/** The error shown at a field, or null. */
export function faultAt({ html }: MarketPage, field: string): string | null {
  const found = new RegExp(`id="${field}-fault">([^<]*)<`).exec(html);
  return found ? unescape(found[1]!) : null;
}

function textOf(html: string): string {
  return unescape(html.replace(/<[^>]*>/g, " ").replace(/\s+/g, " "));
}

function unescape(text: string): string {
  return text
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}
