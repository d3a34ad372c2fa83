/**
 * A browser as far as signing in needs one: it keeps cookies by path, sends none of SameSite=Lax along when another site's
 * page posts (`sec-fetch-site: cross-site`), and shows what it was answered.
 */
export interface Browser {
  get(address: string, headers?: Record<string, string>): Promise<Shown>;
  /** With the members of a form, or with another body. */
  post(address: string, headers?: Record<string, string>, body?: URLSearchParams | string): Promise<Shown>;
  /** Cookies by name, with their attributes as they were set. */
  cookies: Map<string, { value: string; attributes: string }>;
}

export interface Shown {
  status: number;
  headers: Headers;
  /** Where it is sent on to; null: nowhere. */
  location: string | null;
  text: string;
}

/** `url` is where the service listens, whatever host an address names. Redirects are for the test to follow. */
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
    const response = await fetch(url() + pathname + search, {
      method,
      redirect: "manual",
      headers: { ...standard, ...headers, cookie: cookiesFor(pathname, isForeignForm(method, headers)) },
      body,
    });
    for (const line of response.headers.getSetCookie()) keep(line);
    const { status } = response;
    return {
      status,
      headers: response.headers,
      location: response.headers.get("location"),
      text: await response.text(),
    };
  }
  function keep(line: string): void {
    const [, name, value, attributes] = /^([^=]+)=([^;]*);? ?(.*)$/.exec(line)!;
    if (/Max-Age=0/.test(attributes!)) forget(name!, attributes!);
    else cookies.set(name!, { value: value!, attributes: attributes! });
  }
  function forget(name: string, attributes: string): void {
    const kept = cookies.get(name);
    if (kept && pathOf(kept.attributes) === pathOf(attributes)) cookies.delete(name);
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

function isForeignForm(method: string, headers: Record<string, string>): boolean {
  return method === "POST" && headers["sec-fetch-site"] === "cross-site";
}
