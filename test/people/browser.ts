/**
 * A browser as far as signing in needs one: it keeps cookies by path, does not send SameSite=Lax cookies with a post
 * from another site's page (`sec-fetch-site: cross-site`), and shows the answers.
 */
export interface Browser {
  get(address: string, headers?: Record<string, string>): Promise<Shown>;
  /** Posts the members of a form, or another body. */
  post(address: string, headers?: Record<string, string>, body?: URLSearchParams | string): Promise<Shown>;
  /** Cookies by name, with their attributes as they were set. */
  cookies: Map<string, { value: string; attributes: string }>;
}

export interface Shown {
  status: number;
  headers: Headers;
  /** The target of a redirect; null: none. */
  location: string | null;
  text: string;
}

/** `url` is the service's address, used for every host that an address names. Redirects are not followed. */
export function aBrowser(
  url: () => string,
  standard: Record<string, string> = {},
  cookies: Browser["cookies"] = new Map(),
): Browser {
  async function send(
    method: string,
    address: string,
    headers: Record<string, string> = {},
    body: URLSearchParams | string | null = null,
  ): Promise<Shown> {
    const { pathname, search } = new URL(address, url());
    const isForeignForm = method === "POST" && headers["sec-fetch-site"] === "cross-site";
    const cookie = cookiesFor(pathname, isForeignForm);
    const sent = { method, redirect: "manual", headers: { ...standard, ...headers, cookie }, body } as const;
    const response = await fetch(url() + pathname + search, sent);
    for (const line of response.headers.getSetCookie()) keep(line);
    const { status, headers: answered } = response;
    return { status, headers: answered, location: answered.get("location"), text: await response.text() };
  }
  function keep(line: string): void {
    const [, name, value, attributes] = /^([^=]+)=([^;]*);? ?(.*)$/.exec(line)!;
    const kept = cookies.get(name!);
    if (!/Max-Age=0/.test(attributes!)) cookies.set(name!, { value: value!, attributes: attributes! });
    else if (kept && pathOf(kept.attributes) === pathOf(attributes!)) cookies.delete(name!);
  }
  function cookiesFor(path: string, isForeign: boolean): string {
    const sent = [...cookies].filter(
      ([, { attributes }]) =>
        path.startsWith(pathOf(attributes)) && !(isForeign && attributes.includes("SameSite=Lax")),
    );
    return sent.map(([name, { value }]) => `${name}=${value}`).join("; ");
  }
  return {
    cookies,
    get: (address, headers) => send("GET", address, headers),
    post: (address, headers, body) => send("POST", address, headers, body),
  };
}

function pathOf(attributes: string): string {
  return /Path=([^;]+)/.exec(attributes)![1]!;
}

export type Fields = [name: string, value: string][];

/** The hidden fields of the forms on a page. */
export function hiddenIn(html: string): Fields {
  const found = html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g);
  return [...found].map(([, name, value]) => [name!, value!]);
}
