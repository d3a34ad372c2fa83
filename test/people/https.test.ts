import { runWeb } from "../../src/process/run-web.ts";
import type { RunningService } from "../../src/process/start-up.ts";
import { aBrowser } from "./browser.ts";
import { aWorldOfPeople } from "./people.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { basic } from "../support/partner-calls.ts";
import { eventually, opened } from "../support/world.ts";

// Behind a proxy that terminates https, as in production, and with a second web process on the same database.

const PROXY = { TRUST_PROXY: "1", WEB_JOBS: "off" };
const VIA_PROXY = { "x-forwarded-proto": "https", "x-forwarded-host": "addon.example.com" };

const people = opened(() => aWorldOfPeople({ environment: PROXY }));

describe("sign-in behind https", () => {
  it("sets Secure cookies with the __Host- prefix", async () => {
    const browser = people.browser(VIA_PROXY);
    await people.signIn(browser);
    const strict = "Path=/; HttpOnly; Secure; SameSite=Lax";
    expect([...browser.cookies].map(([name, { attributes }]) => [name, attributes])).toEqual([
      ["__Host-kit_sign_in", `Max-Age=3600; ${strict}`],
      ["__Host-kit_session", `Max-Age=43200; ${strict}`],
    ]);
    expect((await browser.get("/oauth/me")).status).toBe(200);
    expect((await browser.post("/oauth/logout", { origin: "http://addon.example.com" })).status).toBe(403);
    expect((await browser.post("/oauth/logout", { origin: "https://addon.example.com" })).status).toBe(303);
    expect(browser.cookies.has("__Host-kit_session")).toBe(false);

    // A neighbouring site could set one without the prefix.
    await people.signIn(browser);
    browser.cookies.set("kit_session", browser.cookies.get("__Host-kit_session")!);
    browser.cookies.delete("__Host-kit_session");
    expect((await browser.get("/oauth/me")).status).toBe(401);
  });

  it("uses PUBLIC_URL with its path as the service's address, whatever a request says", async () => {
    await people.world.restart({
      environment: { PUBLIC_URL: "https://example.com/teapots/", TRUST_PROXY: "0" },
    });
    const browser = people.browser();
    expect((await people.signIn(browser)).location).toBe("/teapots/oauth/me");
    const { text } = await browser.get("/oauth/me");
    expect(text).toContain(`action="/teapots/oauth/logout"`);
    expect(text).toContain(`href="/teapots/assets/style.css?v=`);
    expect((await browser.post("/oauth/logout", { origin: people.url() })).status).toBe(403);
    expect(await browser.post("/oauth/logout", { origin: "https://example.com" })).toMatchObject({
      ...{ status: 303, location: "/teapots/oauth/me" },
    });
    await people.world.restart();
  });
});

describe("sign-in with two web processes on one database", () => {
  let other: RunningService;
  let url: string;
  beforeAll(async () => {
    const config = teapotConfig({ ...people.world.environment, PORT: "0" });
    other = await runWeb(config, { ...teapotParts, logTo: { write: () => undefined } });
    await other.ready;
    url = other.url!;
  });
  afterAll(() => other.stop());

  it("can begin at one and is completed at the other, once, and ends at both", async () => {
    const one = people.browser();
    const atOther = aBrowser(() => url, {}, one.cookies);
    const back = people.atPlatform(await one.get("/oauth/login"));
    expect((await atOther.get(back)).status).toBe(303);
    expect((await one.get(back)).status).toBe(400);
    expect((await one.get("/oauth/me")).status).toBe(200);
    const { value, attributes } = one.cookies.get("kit_session")!;
    await atOther.post("/oauth/logout");
    one.cookies.set("kit_session", { value, attributes });
    expect((await one.get("/oauth/me")).status).toBe(401);
  });
});

// X-Forwarded-For, -Proto and -Host count as far as TRUST_PROXY says that our own proxies wrote them.

const ours = /^(127\.0\.0\.1|::1)$/;
const DIRECT = { proto: "http", host: /^localhost:\d+$/ };
const ADDON = { proto: "https", host: /^addon\.example\.com$/ };

describe.each<{ proxies: number; headers: Record<string, string>; address: RegExp; proto: string; host: RegExp }>([
  { proxies: 0, headers: {}, address: ours, ...DIRECT },
  { proxies: 0, headers: { "x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https", "x-forwarded-host": "evil.example.com" }, address: ours, ...DIRECT },
  { proxies: 1, headers: {}, address: ours, ...DIRECT },
  { proxies: 1, headers: { "x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https", "x-forwarded-host": "addon.example.com" }, address: /^203\.0\.113\.7$/, ...ADDON },
  { proxies: 1, headers: { "x-forwarded-for": "203.0.113.7:4711", "x-forwarded-proto": "http" }, address: /^203\.0\.113\.7$/, ...DIRECT },
  { proxies: 2, headers: { "x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https", "x-forwarded-host": "addon.example.com" }, address: /^203\.0\.113\.7$/, ...ADDON },
])("TRUST_PROXY=$proxies, $headers", ({ proxies, headers, address, proto, host }) => {
  beforeAll(() => people.world.restart({ environment: { TRUST_PROXY: String(proxies) } }));
  afterEach(() => people.forgetEverybody());

  it("decide the address in the log, and the browser's: its cookies and its forms", async () => {
    const id = `request-${Math.random().toString(36).slice(2)}`;
    const authorization = basic("teapots", "a-wrong-password");
    await fetch(`${people.url()}/resources`, { method: "POST", headers: { ...headers, authorization, "request-id": id } });
    const line = await eventually(() => people.world.logged().split("\n").find((each) => each.includes(id)) ?? null);
    expect((JSON.parse(line) as { address: string }).address).toMatch(address);

    const { headers: answered } = await people.browser(headers).get("/oauth/login");
    expect(/; Secure;/.test(answered.getSetCookie().join())).toBe(proto === "https");
    const hosts = [new URL(people.url()).host, "addon.example.com", "evil.example.com", "inner"];
    for (const each of hosts)
      for (const scheme of ["http", "https"]) {
        const isOurs = scheme === proto && host.test(each);
        const sent = await people.browser(headers).post("/oauth/logout", { origin: `${scheme}://${each}` });
        expect([scheme, each, sent.status]).toEqual([scheme, each, isOurs ? 303 : 403]);
      }
  });
}); // prettier-ignore
