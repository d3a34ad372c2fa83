import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { eventually } from "../support/world.ts";
import { aWorldOfPeople, type PeopleWorld } from "./people.ts";

let people: PeopleWorld;
beforeAll(async () => void (people = await aWorldOfPeople({ environment: { WEB_JOBS: "off" } })));
beforeEach(() => people.forgetEverybody());
afterAll(() => people.close());

describe("GET /oauth/login and /oauth/callback", () => {
  it("send the browser to the platform with the documented parameters, and no others", async () => {
    const { status, location } = await people.browser().get("/oauth/login");
    expect(status).toBe(303);
    const [address, query] = location!.split("?");
    expect(address).toBe(`${people.world.sandbox.url}/oauth/authorize`);
    expect(query).toMatch(
      new RegExp(
        `^client_id=${people.client.id}&response_type=code&scope=identity&state=[\\w-]{43,}&code_challenge=[\\w-]{43}&code_challenge_method=S256$`,
      ),
    );
  });

  it("use a new state and a new code challenge each time, and store nothing here", async () => {
    const browser = people.browser();
    const begun = [await browser.get("/oauth/login"), await browser.get("/oauth/login")];
    for (const name of ["state", "code_challenge"])
      expect(new Set(begun.map(({ location }) => new URL(location!).searchParams.get(name))).size).toBe(2);
    expect(await people.used()).toEqual([]);
  });

  it("lead to a page that shows the person, the scopes and the time of the sign-in", async () => {
    const browser = people.browser();
    expect(await people.signIn(browser)).toMatchObject({ status: 303, location: "/oauth/me" });
    const { status, text } = await browser.get("/oauth/me");
    expect(status).toBe(200);
    expect(text).toContain("<dd>owner@example.com</dd>");
    expect(text).toContain("<dd>owner</dd>");
    expect(text).toContain("<code>identity</code> read the account's name and e-mail");
    expect(text).toMatch(/<time datetime="\d{4}-\d\d-\d\dT[^"]+Z">\d+ \w+ \d{4} at \d\d:\d\d UTC<\/time>/);
  });

  it("send the client secret in the body, and ask for no more scopes than needed", async () => {
    const since = people.control.ledger().next;
    await people.signIn(people.browser());
    const calls = people.control.ledger({ since, reveal: true }).entries;
    expect(calls.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST /oauth/token",
      "GET /account",
    ]);
    const { headers, body } = calls[0]!.request;
    expect(Object.keys(body as object).sort()).toEqual([
      ...["client_secret", "code", "code_verifier", "grant_type"],
    ]);
    expect(headers).not.toHaveProperty("authorization");
  });

  it("protect the session from scripts, other sites and the next person", async () => {
    const browser = people.browser();
    await people.signIn(browser);
    expect(browser.cookies.get("kit_session")!.attributes).toBe(
      "Max-Age=43200; Path=/; HttpOnly; SameSite=Lax",
    );
    expect(browser.cookies.get("kit_sign_in")!.attributes).toBe(
      "Max-Age=3600; Path=/; HttpOnly; SameSite=Lax",
    );
    expect(browser.cookies.size).toBe(2);
    const [{ id_hash: hash }] = (await people.sessions()) as [{ id_hash: Buffer }];
    expect(hash.toString("base64url")).not.toBe(browser.cookies.get("kit_session")!.value);
  });

  it("create a new session each time, and end the one before", async () => {
    const browser = people.browser();
    await people.signIn(browser);
    const former = browser.cookies.get("kit_session")!.value;
    await people.signIn(browser);
    expect(browser.cookies.get("kit_session")!.value).not.toBe(former);
    const thief = people.browser();
    thief.cookies.set("kit_session", { value: former, attributes: "Path=/" });
    expect((await thief.get("/oauth/me")).status).toBe(401);
    expect(await people.sessions()).toHaveLength(1);
  });

  it("accept no session that somebody else has set", async () => {
    const browser = people.browser();
    const planted = "A".repeat(43);
    browser.cookies.set("kit_session", { value: planted, attributes: "Path=/" });
    await people.signIn(browser);
    expect(browser.cookies.get("kit_session")!.value).not.toBe(planted);
  });

  it("leave no data of the person who was signed in before", async () => {
    const browser = people.browser();
    await people.signIn(browser);
    await people.signIn(browser, { user: "colleague@example.com" });
    expect((await people.people()).map(({ email }) => email)).toEqual(["colleague@example.com"]);
    expect((await browser.get("/oauth/me")).text).toContain("colleague@example.com");
  });

  it("work in two tabs of one browser", async () => {
    const browser = people.browser();
    const [one, other] = [await browser.get("/oauth/login"), await browser.get("/oauth/login")];
    for (const begun of [other, one]) {
      expect(await browser.get(people.atPlatform(begun))).toMatchObject({
        status: 303,
        location: "/oauth/me",
      });
    }
  });

  it("create separate sessions in two browsers", async () => {
    const [one, other] = [people.browser(), people.browser()];
    await people.signIn(one);
    await people.signIn(other);
    await one.post("/oauth/logout");
    expect((await one.get("/oauth/me")).status).toBe(401);
    expect((await other.get("/oauth/me")).status).toBe(200);
    expect(await people.people()).toMatchObject([
      { state: "signed_in", sealed_refresh_token: expect.anything() },
    ]);
  });
});

describe("the return address of a sign-in", () => {
  it.each(["/operator/resources?state=active#top", "/oauth/me", "/", "/a//b", "/%2F/evil.example"])(
    "is kept: %s",
    async (path) => {
      const back = await people.signIn(people.browser(), {
        begin: `/oauth/login?return_to=${encodeURIComponent(path)}`,
      });
      expect(back).toMatchObject({ status: 303, location: path });
    },
  );

  it.each([
    ...["//evil.example", "/\\evil.example", "\\\\evil.example", "https://evil.example/", "evil.example"],
    ...["javascript:alert(1)", "/\t/evil.example", "/\n/evil.example", "/.//evil.example"],
    ...["/x/..//evil.example", "", `/${"x".repeat(1_000)}`],
  ])("is ignored if it is no path of ours: %j", async (path) => {
    const begin = `/oauth/login?return_to=${encodeURIComponent(path)}`;
    expect((await people.signIn(people.browser(), { begin })).location).toBe("/oauth/me");
  });
});

describe("signing out", () => {
  it("deletes the session, and with the last one the tokens and the person", async () => {
    const browser = people.browser();
    await people.signIn(browser);
    const { status, location } = await browser.post("/oauth/logout", { origin: people.url() });
    expect({ status, location }).toEqual({ status: 303, location: "/oauth/me" });
    expect(browser.cookies.has("kit_session")).toBe(false);
    expect(await people.sessions()).toEqual([]);
    expect(await people.people()).toEqual([]);
  });

  it("works only from our own page", async () => {
    const browser = people.browser();
    await people.signIn(browser);
    const foreign = [
      { origin: "https://evil.example" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site", origin: people.url() },
    ];
    for (const headers of foreign) {
      const { status, text } = await browser.post("/oauth/logout", headers as Record<string, string>);
      expect(status).toBe(403);
      expect(text).toContain("Nothing was done");
    }
    expect((await browser.get("/oauth/me")).status).toBe(200);
    expect((await browser.post("/oauth/logout", { "sec-fetch-site": "same-origin" })).status).toBe(303);
  });

  it("is no error when repeated or not signed in", async () => {
    expect((await people.browser().post("/oauth/logout")).status).toBe(303);
  });

  it("happens automatically after twelve hours", async () => {
    const browser = people.browser();
    await people.signIn(browser);
    await people.world.rows(`UPDATE sessions SET expires_at = now() - interval '1 second'`);
    await people.world.rows(`UPDATE people SET signed_in_at = now() - interval '12 hours'`);
    expect((await browser.get("/oauth/me")).status).toBe(401);
    await people.job("prune-sessions");
    expect([await people.sessions(), await people.people()]).toEqual([[], []]);
  });

  it("happens automatically an hour after the last use, and no request before that writes anything", async () => {
    const browser = people.browser();
    await people.signIn(browser);
    const unused = (minutes: number) =>
      people.world.rows(`UPDATE sessions SET seen_at = now() - make_interval(mins => $1)`, [minutes]);
    const seen = async () => ((await people.sessions())[0] as { seen_at: Date }).seen_at;
    for (const [minutes, isNoted] of [
      [4, false],
      [59, true],
    ] as const) {
      await unused(minutes);
      const before = await seen();
      expect((await browser.get("/oauth/me")).status).toBe(200);
      expect([minutes, (await seen()) > before]).toEqual([minutes, isNoted]);
    }
    await unused(61);
    expect((await browser.get("/oauth/me")).status).toBe(401);
    await people.world.rows(`UPDATE people SET signed_in_at = now() - interval '12 hours'`);
    await people.job("prune-sessions");
    expect([await people.sessions(), await people.people()]).toEqual([[], []]);
  });
});

describe("the routes of the sign-in", () => {
  it.each([
    ["POST", "/oauth/login", "GET"],
    ["POST", "/oauth/callback", "GET"],
    ["GET", "/oauth/logout", "POST"],
    ["DELETE", "/oauth/me", "GET, HEAD"],
    ["POST", "/assets/style.css", "GET, HEAD"],
  ])("answer %s %s with 405", async (method, path, allowed) => {
    const response = await fetch(people.url() + path, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe(allowed);
    expect(await response.json()).toMatchObject({ id: "method_not_allowed" });
  });

  it("change nothing for HEAD requests", async () => {
    const browser = people.browser();
    const back = people.atPlatform(await browser.get("/oauth/login"));
    const { pathname, search } = new URL(back);
    for (const path of ["/oauth/login", pathname + search]) {
      const { status, headers } = await fetch(people.url() + path, { method: "HEAD", redirect: "manual" });
      expect([path, status, headers.get("allow")]).toEqual([path, 405, "GET"]);
    }
    expect((await browser.get(back)).location).toBe("/oauth/me");
    expect((await fetch(`${people.url()}/oauth/me`, { method: "HEAD" })).status).toBe(401);
  });

  it("let people sign in, and store nothing, however many sign-ins strangers begin", async () => {
    const stranger = async () => {
      const { location, headers } = await people.browser().get("/oauth/login");
      const state = new URL(location!).searchParams.get("state");
      const cookie = headers.get("set-cookie")!.split(";")[0]!;
      const back = `${people.url()}/oauth/callback?error=server_error&state=${state}`;
      expect((await fetch(back, { headers: { cookie } })).status).toBe(503);
    };
    for (let wave = 0; wave < 10; wave += 1) await Promise.all(Array.from({ length: 40 }, stranger));
    expect((await people.signIn(people.browser())).location).toBe("/oauth/me");
    expect([(await people.used()).length, (await people.sessions()).length]).toEqual([1, 1]);
  });

  it("keep the sign-ins of many tabs in one small cookie", async () => {
    const browser = people.browser();
    const tabs = [];
    for (let tab = 0; tab < 12; tab += 1)
      tabs.push(await browser.get(`/oauth/login?return_to=/${"x".repeat(990)}`));
    expect([...browser.cookies.values()].map(({ value }) => value.length)).toEqual([43]);
    expect((await browser.get(people.atPlatform(tabs[0]!))).status).toBe(303);
  });

  it("do not fill the log when strangers request them often", async () => {
    await people.world.restart();
    const before = people.world.logged().length;
    await Promise.all(Array.from({ length: 60 }, () => fetch(`${people.url()}/oauth/me`)));
    const linesOf = (what: string) => people.world.logged().slice(before).split(what).length - 1;
    await eventually(() => expect(linesOf("GET answered 401")).toBe(20));
    expect(linesOf("not_signed_in")).toBe(20);
  });

  it("answer unknown paths with JSON", async () => {
    const response = await fetch(`${people.url()}/oauth/other`);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ id: "not_found", message: "There is nothing here." });
  });

  it("do not exist without an OAuth client", async () => {
    await people.world.restart({ environment: { OAUTH_CLIENT_ID: "", OAUTH_CLIENT_SECRET: "" } });
    for (const path of ["/oauth/login", "/oauth/callback", "/oauth/me", "/assets/style.css"])
      expect((await fetch(people.url() + path)).status).toBe(404);
    await people.world.restart();
  });
});
