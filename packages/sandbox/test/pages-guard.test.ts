import { request } from "node:http";
import { aPerson, type Person } from "./market.ts";
import { aWorld, type TestWorld } from "./world.ts";

let world: TestWorld;
let person: Person;
beforeAll(async () => {
  world = await aWorld();
  person = aPerson(world);
});
afterAll(() => world.close());

const apps = () => world.control.state().apps;

/** A request with any Host header, which `fetch` does not allow. */
function statusUnder(
  host: string,
  path = "/",
  method = "GET",
  base = world.sandbox.url,
): Promise<number | undefined> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const headers = { host, accept: "text/html", origin: `http://${host}` };
    request({ hostname, port, path, method, headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
  });
}

describe("the sandbox's pages are protected from other sites", () => {
  it.each(["https://evil.example", "null", "http://localhost:1", ""])(
    "a form from %p is refused",
    async (origin) => {
      const page = await person.send("/marketplace/apps", { name: "shop" }, { origin });
      expect([page.status, page.text, apps()]).toEqual([
        403,
        expect.stringContaining("the sandbox's own pages"),
        [],
      ]);
    },
  );

  it.each(["evil.example", "127.0.0.1.evil.example:80", "localhost.evil.example"])(
    "a page and its form are refused under the host name %s",
    async (host) => {
      expect(await statusUnder(host)).toBe(403);
      expect(await statusUnder(host, "/marketplace/platform/reset", "POST")).toBe(403);
    },
  );

  it.each(["localhost:4000", "127.0.0.1", "[::1]:4000"])("a page is shown under %s", async (host) => {
    expect(await statusUnder(host)).toBe(200);
  });

  it("any host name is accepted when SANDBOX_HOST is set, as in a container", async () => {
    const open = await aWorld({ host: "0.0.0.0" });
    const { port } = new URL(open.sandbox.url);
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { accept: "text/html" } });
    await open.close();
    expect(response.status).toBe(200);
  });
});

describe("the control API", () => {
  const createApp = (headers: Record<string, string>) =>
    fetch(`${world.sandbox.url}/sandbox/apps`, { method: "POST", body: '{"name":"by-json"}', headers });

  it("refuses requests of other sites' pages, also as text/plain", async () => {
    const response = await createApp({ origin: "https://evil.example", "content-type": "text/plain" });
    expect([response.status, await response.json(), apps()]).toEqual([
      ...[403, { id: "forbidden", message: expect.stringContaining("evil.example") as string }],
      [],
    ]);
  });

  it("is refused under foreign host names, and open under those of this machine", async () => {
    const names = ["evil.example", "evil.example:4000", "localhost:4000", "127.0.0.1", "[::1]:4000"];
    const statuses = await Promise.all(names.map((name) => statusUnder(name, "/sandbox/ledger?reveal=1")));
    expect(statuses).toEqual([403, 403, 200, 200, 200]);
    expect(await statusUnder("evil.example", "/sandbox/reset", "POST")).toBe(403);
  });

  it("is open under any host name when the sandbox listens on all addresses", async () => {
    const open = await aWorld({ host: "0.0.0.0" });
    const base = open.sandbox.url.replace("localhost", "127.0.0.1");
    expect(await statusUnder("sandbox:4000", "/sandbox/state", "GET", base)).toBe(200);
    await open.close();
  });

  it("accepts programs, which send no Origin, and the sandbox's own pages", async () => {
    expect((await createApp({})).status).toBe(201);
    expect((await createApp({ origin: world.sandbox.url })).status).toBe(409);
    await fetch(`${world.sandbox.url}/sandbox/reset`, { method: "POST" });
  });
});

describe("every page of the sandbox", () => {
  const policy =
    "default-src 'none';style-src 'self';script-src 'self';connect-src 'self';img-src 'self' data:;base-uri 'none';frame-ancestors 'none';form-action 'self'";

  it.each(["/", "/marketplace/ledger", "/marketplace/platform", "/marketplace/apps/nope"])(
    "%s allows only our scripts and styles, no framing and no caching",
    async (path) => {
      const { headers, html } = await person.visit(path);
      expect(headers.get("content-security-policy")).toBe(policy);
      expect([headers.get("cache-control"), headers.get("referrer-policy")]).toEqual([
        "no-store",
        "same-origin",
      ]);
      expect(html).not.toMatch(/ style=|<style| on\w+="/);
      expect(html.match(/<script[^>]*>/g)).toEqual(['<script src="/sandbox/assets/live.js" defer>']);
    },
  );

  it("has its styles and its script", async () => {
    for (const name of ["pico.css", "pages.css", "market.css", "live.js"]) {
      expect([name, (await person.visit(`/sandbox/assets/${name}`)).status]).toEqual([name, 200]);
    }
  });
});

describe("a body that is not a form", () => {
  const post = (body: string, type: string) =>
    fetch(`${world.sandbox.url}/marketplace/apps`, {
      method: "POST",
      body,
      headers: { "content-type": type, origin: world.sandbox.url },
    });

  it.each([
    ["JSON", '{"name":"shop"}', "application/json", 400],
    ["a torn form", "--b\r\nContent-Disposition: form-data; na", "multipart/form-data; boundary=b", 400],
    ["no boundary", "--b--", "multipart/form-data", 400],
    ["2 MB", `name=${"x".repeat(2 * 1024 * 1024)}`, "application/x-www-form-urlencoded", 413],
  ])("%s is refused with a message, and creates nothing", async (_what, body, type, status) => {
    const response = await post(body, type);
    expect([response.status, response.headers.get("content-type")]).toEqual([
      status,
      expect.stringContaining("html"),
    ]);
    expect(apps()).toEqual([]);
  });
});

describe("GET /marketplace/live", () => {
  it("sends an event after a change, and ends with the sandbox", async () => {
    const own = await aWorld();
    const response = await fetch(`${own.sandbox.url}/marketplace/live`);
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toContain("retry:");
    own.control.createApp({ name: "shop" });
    expect((await reader.read()).value).toBe("data: changed\n\n");
    await own.close();
    expect(
      await reader.read().then(
        ({ done }) => done,
        () => true,
      ),
    ).toBe(true);
  });
});
