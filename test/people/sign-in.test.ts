import { randomUUID } from "node:crypto";
import { runWeb } from "../../src/process/run-web.ts";
import { basic } from "../support/partner-calls.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { eventually, opened } from "../support/world.ts";
import { aBrowser } from "./browser.ts";
import { aWorldOfPeople } from "./people.ts";

const PROXY = { TRUST_PROXY: "1", WEB_JOBS: "off" };
const people = opened(() => aWorldOfPeople({ environment: PROXY }));
beforeEach(() => people.forgetEverybody());

const stateOf = (location: string | null) => new URL(location!).searchParams.get("state")!;

describe("GET /oauth/login and /oauth/callback", () => {
  it("send the browser to the platform with the documented parameters, and no others; nothing is stored", async () => {
    const browser = people.browser();
    const [one, other] = [await browser.get("/oauth/login"), await browser.get("/oauth/login")];
    const [address, query] = one.location!.split("?");
    expect([one.status, address]).toEqual([303, `${people.world.sandbox.url}/oauth/authorize`]);
    const random = "state=[\\w-]{43,}&code_challenge=[\\w-]{43}&code_challenge_method=S256";
    const wanted = `^client_id=${people.client.id}&response_type=code&scope=identity&${random}$`;
    expect(query).toMatch(new RegExp(wanted));
    const [first, second] = [one, other].map(({ location }) => new URL(location!).searchParams);
    for (const name of ["state", "code_challenge"]) expect(second!.get(name)).not.toBe(first!.get(name));
    expect(await people.used()).toEqual([]);
  });

  it("send the client secret in the body, and ask for no more than needed", async () => {
    const since = people.control.ledger().next;
    await people.signIn(people.browser());
    const calls = people.control.ledger({ since, reveal: true }).entries;
    expect(calls.map(({ path }) => path)).toEqual(["/oauth/token", "/account"]);
    const { headers, body } = calls[0]!.request;
    const members = ["client_secret", "code", "code_verifier", "grant_type"];
    expect(Object.keys(body as object).sort()).toEqual(members);
    expect(headers).not.toHaveProperty("authorization");
  });

  it("create a new session each time, accept none that was planted, and end the one before", async () => {
    const browser = people.browser();
    const planted = "A".repeat(43);
    browser.cookies.set("kit_session", { value: planted, attributes: "Path=/" });
    await people.signIn(browser);
    expect([...browser.cookies].map(([name, { attributes }]) => [name, attributes]).sort()).toEqual([
      ["kit_session", "Max-Age=43200; Path=/; HttpOnly; SameSite=Lax"],
      ["kit_sign_in", "Max-Age=3600; Path=/; HttpOnly; SameSite=Lax"],
    ]);
    const former = browser.cookies.get("kit_session")!.value;
    await people.signIn(browser);
    expect(new Set([planted, former, browser.cookies.get("kit_session")!.value]).size).toBe(3);
    const thief = people.browser();
    for (const value of ["made-up", planted, former, "%zz"]) {
      thief.cookies.set("kit_session", { value, attributes: "Path=/" });
      expect((await thief.get("/oauth/me")).status).toBe(401);
    }
    expect(await people.sessions()).toHaveLength(1);
  });

  it("work in many tabs of one browser, with one small cookie", async () => {
    const browser = people.browser();
    const tabs = [];
    for (let tab = 0; tab < 3; tab += 1)
      tabs.push(await browser.get(`/oauth/login?return_to=/${"x".repeat(990)}`));
    expect([...browser.cookies.values()].map(({ value }) => value.length)).toEqual([43]);
    for (const tab of [tabs[2]!, tabs[0]!])
      expect((await browser.get(people.atPlatform(tab))).status).toBe(303);
  });

  it.each([
    ...["/operator/resources?state=active#top", "/oauth/me", "/", "/a//b", "/%2F/evil.example"].map(
      (path) => [path, path],
    ),
    ...["//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example/", "evil.example",
      "javascript:alert(1)", "/\t/evil.example", "/\n/evil.example", "/.//evil.example", "/x/..//evil.example",
      "", `/${"x".repeat(1_000)}`].map((path) => [path, "/oauth/me"]),
  ])("lead to %j, which is a path of ours, or else to who is signed in", async (path, location) => {
    const begin = `/oauth/login?return_to=${encodeURIComponent(path!)}`;
    expect((await people.signIn(people.browser(), { begin })).location).toBe(location);
  }); // prettier-ignore
});

describe("signing out", () => {
  it("deletes the session, and with the last one soon the tokens and the person", async () => {
    const [browser, other] = [people.browser(), people.browser()];
    await people.signIn(browser);
    await people.signIn(other);
    const { status, location } = await browser.post("/oauth/logout", { origin: people.url() });
    expect({ status, location }).toEqual({ status: 303, location: "/oauth/me" });
    expect(browser.cookies.has("kit_session")).toBe(false);
    expect((await browser.post("/oauth/logout")).status).toBe(303);
    expect((await other.get("/oauth/me")).status).toBe(200);
    await other.post("/oauth/logout");
    expect(await people.sessions()).toEqual([]);
    await people.world.forged.peopleSignedIn(120);
    await people.job("prune-sessions");
    expect(await people.people()).toEqual([]);
  });

  it("works only from our own page", async () => {
    const browser = people.browser();
    await people.signIn(browser);
    for (const headers of [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site", origin: people.url() },
    ]) {
      const { status, text } = await browser.post("/oauth/logout", headers as Record<string, string>);
      expect([status, text]).toEqual([403, expect.stringContaining("Nothing was done")]);
    }
    expect((await browser.get("/oauth/me")).status).toBe(200);
    expect((await browser.post("/oauth/logout", { "sec-fetch-site": "same-origin" })).status).toBe(303);
  });

  it.each([
    ["twelve hours", () => people.world.forged.sessionsExpired()],
    ["an hour after the last use", () => people.world.forged.sessionsAreUnusedFor(61 * 60)],
  ])("happens automatically after %s", async (_when, isOver) => {
    const browser = people.browser();
    await people.signIn(browser);
    await isOver();
    await people.world.forged.peopleSignedIn(12 * 3_600);
    expect((await browser.get("/oauth/me")).status).toBe(401);
    await people.job("prune-sessions");
    expect([await people.sessions(), await people.people()]).toEqual([[], []]);
  });

  it("happens to nobody who comes back within each hour", async () => {
    const browser = people.browser();
    await people.signIn(browser);
    for (const minutes of [40, 40]) {
      await people.world.forged.sessionsAreUnusedFor(minutes * 60);
      expect((await browser.get("/oauth/me")).status).toBe(200);
    }
  });
});

describe("the routes of the sign-in", () => {
  it.each([
    ["HEAD", "/oauth/login", "GET"],
    ["HEAD", "/oauth/callback", "GET"],
    ["GET", "/oauth/logout", "POST"],
    ["DELETE", "/oauth/me", "GET, HEAD"],
  ])("answer %s %s with 405", async (method, path, allowed) => {
    const response = await fetch(people.url() + path, { method });
    expect([response.status, response.headers.get("allow")]).toEqual([405, allowed]);
    if (method !== "HEAD") expect(await response.json()).toMatchObject({ id: "method_not_allowed" });
  });

  it("let people sign in, and store nothing, however many sign-ins strangers begin", async () => {
    const stranger = async () => {
      const { location, headers } = await people.browser().get("/oauth/login");
      const cookie = headers.get("set-cookie")!.split(";")[0]!;
      const back = `${people.url()}/oauth/callback?error=server_error&state=${stateOf(location)}`;
      expect((await fetch(back, { headers: { cookie } })).status).toBe(503);
    };
    await Promise.all(Array.from({ length: 40 }, stranger));
    expect((await people.signIn(people.browser())).location).toBe("/oauth/me");
    expect([(await people.used()).length, (await people.sessions()).length]).toEqual([1, 1]);
  });

  it("do not exist without an OAuth client, nor do others; both are answered in JSON", async () => {
    expect((await fetch(`${people.url()}/oauth/other`)).status).toBe(404);
    await people.world.restart({ environment: { OAUTH_CLIENT_ID: "", OAUTH_CLIENT_SECRET: "" } });
    for (const path of ["/oauth/login", "/oauth/callback", "/oauth/me", "/assets/style.css"]) {
      const response = await fetch(people.url() + path);
      expect([response.status, await response.json()]).toMatchObject([404, { id: "not_found" }]);
    }
    await people.world.restart();
  });
});

// Behind a proxy that terminates https, as in production, and with a second web process on the same database.

const VIA_PROXY = { "x-forwarded-proto": "https", "x-forwarded-host": "addon.example.com" };

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
    const environment = { PUBLIC_URL: "https://example.com/teapots/", TRUST_PROXY: "0" };
    await people.world.restart({ environment });
    const browser = people.browser();
    expect((await people.signIn(browser)).location).toBe("/teapots/oauth/me");
    const { text } = await browser.get("/oauth/me");
    expect(text).toContain(`action="/teapots/oauth/logout"`);
    expect(text).toContain(`href="/teapots/assets/style.css?v=`);
    expect((await browser.post("/oauth/logout", { origin: people.url() })).status).toBe(403);
    const { location } = await browser.post("/oauth/logout", { origin: "https://example.com" });
    expect(location).toBe("/teapots/oauth/me");
    await people.world.restart();
  });
});

it("a sign-in can begin at one process and is completed at another, once, and ends at both", async () => {
  const config = teapotConfig({ ...people.world.environment, PORT: "0" });
  const other = await runWeb(config, { ...teapotParts, logTo: { write: () => undefined } });
  try {
    await other.ready;
    const one = people.browser();
    const atOther = aBrowser(() => other.url!, {}, one.cookies);
    const back = people.atPlatform(await one.get("/oauth/login"));
    expect((await atOther.get(back)).status).toBe(303);
    expect((await one.get(back)).status).toBe(400);
    expect((await one.get("/oauth/me")).status).toBe(200);
    const session = one.cookies.get("kit_session")!;
    await atOther.post("/oauth/logout");
    one.cookies.set("kit_session", session);
    expect((await one.get("/oauth/me")).status).toBe(401);
  } finally {
    await other.stop();
  }
});

// X-Forwarded-For, -Proto and -Host count as far as TRUST_PROXY says that our own proxies wrote them.

const OURS = /^(127\.0\.0\.1|::1)$/;
const THEIRS = /^203\.0\.113\.7$/;
const OF_THE_PROXY = { ...VIA_PROXY, "x-forwarded-for": "203.0.113.7" };
const WITHOUT_TLS = { "x-forwarded-for": "203.0.113.7:4711", "x-forwarded-proto": "http" };

it.each([
  { proxies: 0, headers: OF_THE_PROXY, address: OURS, isSecure: false },
  { proxies: 1, headers: {}, address: OURS, isSecure: false },
  { proxies: 1, headers: OF_THE_PROXY, address: THEIRS, isSecure: true },
  { proxies: 1, headers: WITHOUT_TLS, address: THEIRS, isSecure: false },
  { proxies: 2, headers: OF_THE_PROXY, address: THEIRS, isSecure: true },
])(
  "TRUST_PROXY=$proxies, $headers decide the address in the log, and the browser's: its cookies and its forms",
  async ({ proxies, headers, address, isSecure }) => {
    await people.world.restart({ environment: { TRUST_PROXY: String(proxies) } });
    const wrong = {
      ...headers,
      authorization: basic("teapots", "wrong"),
      "request-id": `by-${randomUUID()}`,
    };
    await fetch(`${people.url()}/resources`, { method: "POST", headers: wrong });
    const line = await eventually(() => people.world.lines(wrong["request-id"])[0] ?? null);
    expect((JSON.parse(line) as { address: string }).address).toMatch(address);

    const { headers: answered } = await people.browser(headers).get("/oauth/login");
    expect(/; Secure;/.test(answered.getSetCookie().join())).toBe(isSecure);
    const ours = isSecure ? "https://addon.example.com" : new URL(people.url()).origin;
    for (const host of [new URL(people.url()).host, "addon.example.com", "inner"])
      for (const origin of [`http://${host}`, `https://${host}`]) {
        const { status } = await people.browser(headers).post("/oauth/logout", { origin });
        expect([origin, status]).toEqual([origin, origin === ours ? 303 : 403]);
      }
  },
);
