import { type IncomingHttpHeaders, request } from "node:http";
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

/** A request with any headers, of which `fetch` does not allow some. The answer's body is not read. */
function answerTo(
  path: string,
  headers: Record<string, string>,
  { method = "GET", base = world.sandbox.url } = {},
): Promise<{ status: number; headers: IncomingHttpHeaders }> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const sent = { accept: "text/html", ...headers };
    request({ hostname, port, path, method, headers: sent }, (response) => {
      resolve({ status: response.statusCode!, headers: response.headers });
      response.destroy();
    })
      .on("error", reject)
      .end();
  });
}

const statusUnder = async (host: string, path = "/", method = "GET") =>
  (await answerTo(path, { host, origin: `http://${host}` }, { method })).status;

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
});

describe("a GET that a browser sends for another site", () => {
  const control = ["/sandbox/health", "/sandbox/state", "/sandbox/ledger?reveal=1"];
  const pages = ["/", "/marketplace/ledger", "/marketplace/platform", "/marketplace/live"];

  it.each([...control, ...pages])(
    "gets nothing of %s, also from another port of this machine",
    async (path) => {
      for (const site of ["cross-site", "same-site"]) {
        expect((await answerTo(path, { "sec-fetch-site": site, "sec-fetch-mode": "no-cors" })).status).toBe(
          403,
        );
        expect((await answerTo(path, { "sec-fetch-site": site, "sec-fetch-dest": "iframe" })).status).toBe(
          403,
        );
      }
      for (const site of ["same-origin", "none"])
        expect((await answerTo(path, { "sec-fetch-site": site })).status).toBe(200);
    },
  );
});

describe("a sandbox that listens on more than the loopback address", () => {
  let open: TestWorld;
  let base: string;
  beforeAll(async () => {
    open = await aWorld({ host: "0.0.0.0" });
    base = open.sandbox.url.replace("localhost", "127.0.0.1");
  });
  afterAll(() => open.close());
  const at = (call: string, headers: Record<string, string> = {}) => {
    const [method, path] = call.split(" ") as [string, string];
    return answerTo(
      path,
      { host: "sandbox:4000", origin: "http://sandbox:4000", ...headers },
      { base, method },
    );
  };
  const basic = (password: string) => `Basic ${Buffer.from(`anyone:${password}`).toString("base64")}`;

  it.each([
    "GET /sandbox/health",
    "GET /sandbox/state",
    "GET /sandbox/ledger?reveal=1",
    "POST /sandbox/reset",
    "POST /sandbox/client-secret/reset",
    "GET /",
    "GET /marketplace/platform",
    "GET /marketplace/live",
    "POST /marketplace/platform/reset",
    "GET /oauth/authorize",
    "POST /oauth/authorize/sign-in",
  ])("answers %s to nobody without its token", async (call) => {
    for (const authorization of ["", "Bearer ", "Bearer wrong", "Basic !", basic(""), basic("wrong")])
      expect(await at(call, { authorization })).toMatchObject({
        status: 401,
        headers: { "www-authenticate": expect.stringMatching(/^Basic realm="sandbox"/) as string },
      });
    const { token } = open.sandbox.settings;
    for (const authorization of [`Bearer ${token}`, `bearer  ${token}`, basic(token!)])
      expect((await at(call, { authorization })).status).not.toBe(401);
  });

  it("reveals no secret with the token either, and shows the token nowhere", async () => {
    const { token } = open.sandbox.settings;
    const authorization = `Bearer ${token}`;
    expect((await at("GET /sandbox/ledger?reveal=1", { authorization })).status).toBe(403);
    await at("GET /oauth/authorize", { authorization });
    for (const path of ["/sandbox/state", "/sandbox/ledger", "/marketplace/ledger"]) {
      const answer = await fetch(base + path, { headers: { authorization, accept: "text/html" } });
      expect([path, answer.status]).toEqual([path, 200]);
      expect(await answer.text()).not.toContain(token);
    }
  });

  it("is a platform for everybody: the API, the token endpoint and the status feed want no such token", async () => {
    expect((await at("GET /api/v4/current-status")).status).toBe(200);
    const { body } = await open.post({ grant_type: "refresh_token" });
    expect(body).toMatchObject({ error: "invalid_client", error_description: "client_secret is missing." });
    const { token } = open.control.userToken();
    expect(await open.call(token, "/account")).toMatchObject({ status: 200 });
  });
});

it("a proxy may speak TLS in front of the pages, and a page may be asked for by HEAD", async () => {
  const { host } = new URL(world.sandbox.url);
  const secure = await person.send("/marketplace/platform/faults/clear", {}, { origin: `https://${host}` });
  expect(secure.status).toBe(200);
  expect((await answerTo("/marketplace/ledger", {}, { method: "HEAD" })).status).toBe(200);
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
    expect((await fetch(`${own.sandbox.url}/marketplace/live`, { method: "HEAD" })).status).toBe(200);
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
