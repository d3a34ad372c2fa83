import { jest } from "@jest/globals";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { DatabaseUnavailable, type Database } from "../../src/database/database.ts";
import type { FaultAction } from "../../packages/sandbox/index.ts";
import type { Browser, Shown } from "./browser.ts";
import { aWorldOfPeople } from "./people.ts";
import { opened } from "../support/world.ts";

// Every failure of a sign-in ends on a page that explains it, and leaves no session behind.

let browser: Browser;
/** Whether the database refuses connections. */
let isAway = false;
/** Errors of statements, by the statement's name. */
const broken = new Map<string, Error>();

const wrapDatabase = (database: Database): Database => ({
  ...database,
  query(statement, values) {
    const error = isAway ? REFUSED : broken.get(statement.name);
    return error ? Promise.reject(error) : database.query(statement, values);
  },
  transaction: (work) => (isAway ? Promise.reject(REFUSED) : database.transaction(work)),
});
const people = opened(() => aWorldOfPeople({ environment: { WEB_JOBS: "off" }, parts: { wrapDatabase } }));
beforeEach(async () => {
  browser = people.browser();
  await people.forgetEverybody();
});
afterEach(() => {
  isAway = false;
  broken.clear();
  people.control.clearFaults();
  people.control.settings({ pkce: "honoured", replayTokens: false });
});

const REFUSED = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
const IS_OVER = "This sign-in is over";
const NOT_COMPLETED = "This sign-in cannot be completed";
const NO_ANSWER = "The platform does not answer";
const REFUSES_US = "The platform refuses this service";
const NOT_WHO = "The platform does not say who you are";

/** Expects a page that explains the failure, with no session and no row. */
async function expectPage(shown: Shown, status: number, title: string): Promise<void> {
  expect({ status: shown.status, title: /<h1>(.*?)<\/h1>/.exec(shown.text)?.[1] }).toEqual({ status, title });
  expect(shown.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(shown.headers.get("cache-control")).toBe("no-store");
  expect(shown.headers.has("retry-after")).toBe(status === 503);
  expect(shown.text.match(/<p>/g)!.length).toBeGreaterThanOrEqual(2);
  expect(shown.text).not.toMatch(/onerror|look here|<script|SVCK|maintenance/);
  expect(browser.cookies.has("kit_session")).toBe(false);
  expect([await people.sessions(), await people.people()]).toEqual([[], []]);
}

const begin = () => browser.get("/oauth/login");
/** Runs the work as if this process's clock were eleven minutes ahead. */
async function elevenMinutesLater(work: () => Promise<void>): Promise<void> {
  const clock = jest.spyOn(Date, "now").mockImplementation(() => new Date().getTime() + 11 * 60_000);
  await work().finally(() => clock.mockRestore());
}
const stateOf = ({ location }: Shown) => new URL(location!).searchParams.get("state")!;
const codeOf = (back: string) => new URL(back).searchParams.get("code")!;

/** What a browser brings back to the callback, and what it is shown. */
const CALLBACKS: [what: string, back: () => Promise<string>, status: number, title: string][] = [
  ["a denial", async () => people.atPlatform(await begin(), { allow: false }), 403, "You said no"],
  ["a denial without a state", async () => "?error=access_denied", 403, "You said no"],
  ["no state", async () => "?code=abc", 400, IS_OVER],
  ["nothing", async () => "", 400, IS_OVER],
  ...["wrong", "A".repeat(43), "A".repeat(10_000), "%00", "<script>alert(1)</script>"].map(
    (state): (typeof CALLBACKS)[number] => [
      `the state ${state.slice(0, 50)}`,
      async () => `?code=abc&state=${encodeURIComponent((await begin()) && state)}`,
      400,
      IS_OVER,
    ],
  ),
  ["a changed state", async () => `?code=abc&state=${stateOf(await begin()).replace(/.{9}$/, "AAAAAAAAA")}`, 400, IS_OVER],
  ["its state twice", async () => { const state = stateOf(await begin()); return `?code=abc&state=${state}&state=${state}`; }, 400, IS_OVER],
  ["a made-up state and a denial", async () => "?error=access_denied&state=made-up", 400, IS_OVER],
  ["the state of another browser", async () => people.atPlatform(await people.browser().get("/oauth/login")), 400, IS_OVER],
  ["an expired code", async () => { const back = people.atPlatform(await begin()); people.control.advanceClock(11 * 60); return back; }, 400, NOT_COMPLETED],
  // PKCE: the code was asked for by another browser.
  ["a code that leaked", async () => {
    const code = codeOf(people.atPlatform(await people.browser().get("/oauth/login")));
    return `?code=${code}&state=${stateOf(await begin())}`;
  }, 400, NOT_COMPLETED],
  ["fewer scopes than identity", async () => {
    const begun = await begin();
    return people.atPlatform({ ...begun, location: begun.location!.replace("scope=identity", "scope=read") });
  }, 403, NOT_WHO],
  ...["", "&code=", "&code=a&code=b", `&code=${"x".repeat(2_000)}`, "&code=a%0Ab", "&code[x]=1"].map(
    (code): (typeof CALLBACKS)[number] => [
      `no usable code: ${code.slice(0, 20)}`,
      async () => `?state=${stateOf(await begin())}${code}`,
      400,
      NOT_COMPLETED,
    ],
  ),
  ...([["access_denied", 403, "You said no"], ["invalid_scope", 502, REFUSES_US], ["server_error", 503, NO_ANSWER],
    ["temporarily_unavailable", 503, NO_ANSWER], ["<img src=x onerror=alert(1)>", 502, REFUSES_US]] as const).map(
    ([error, status, title]): (typeof CALLBACKS)[number] => [
      `the error ${error}`,
      async () => `?${new URLSearchParams({ error, error_description: "<b>look here</b>", state: stateOf(await begin()) })}`,
      status,
      title,
    ],
  ),
]; // prettier-ignore

describe("GET /oauth/callback", () => {
  it.each(CALLBACKS)("with %s", async (_what, back, status, title) => {
    const address = await back();
    await expectPage(
      await browser.get(address.startsWith("http") ? address : `/oauth/callback${address}`),
      status,
      title,
    );
    expect((await people.signIn(browser)).status).toBe(303);
  });

  it("with a code that was used before", async () => {
    people.control.settings({ pkce: "ignored" });
    const back = people.atPlatform(await begin());
    const form = {
      grant_type: "authorization_code",
      code: codeOf(back),
      client_secret: people.client.secret,
    };
    const used = { method: "POST", body: new URLSearchParams(form) };
    expect((await fetch(`${people.world.sandbox.url}/oauth/token`, used)).status).toBe(200);
    await expectPage(await browser.get(back), 400, NOT_COMPLETED);
  });

  it.each(["required", "honoured", "ignored"] as const)("works where PKCE is %s", async (pkce) => {
    people.control.settings({ pkce });
    expect((await people.signIn(browser)).status).toBe(303);
  });

  it("after a failure leads again to the page that the person wanted", async () => {
    const wanted = "/oauth/login?return_to=%2Foperator%2Factions%3Fa%3D1";
    const again = `<a href="${wanted}" role="button">Try again</a>`;
    const denied = await browser.get(people.atPlatform(await browser.get(wanted), { allow: false }));
    expect(denied.text).toContain(again);
    people.control.fault("POST /oauth/token", { status: 503 }, 1);
    const failed = await browser.get(people.atPlatform(await browser.get(wanted)));
    await expectPage(failed, 503, NO_ANSWER);
    expect(failed.text).toContain(again);
    const late = people.atPlatform(await browser.get(wanted));
    await elevenMinutesLater(async () => {
      const shown = await browser.get(late);
      await expectPage(shown, 400, NOT_COMPLETED);
      expect(shown.text).toContain(again);
    });
    const back = await browser.get(people.atPlatform(await browser.get(wanted)));
    expect(back.location).toMatch(/\/operator\/actions\?a=1$/);
  });
});

describe("a sign-in that is completed", () => {
  it("once is refused the second time, and goes on", async () => {
    const back = people.atPlatform(await begin());
    const both = await Promise.all([browser.get(back), browser.get(back)]);
    expect(both.map(({ status }) => status).sort()).toEqual([303, 400]);
    expect(await people.sessions()).toHaveLength(1);
    expect((await browser.get(back)).status).toBe(400);
    expect((await browser.get("/oauth/me")).status).toBe(200);
  });

  it("is not completed again by whoever has a copy of its cookie, however the state is written", async () => {
    const back = people.atPlatform(await begin());
    const copy = new Map(browser.cookies);
    expect((await browser.get(back)).status).toBe(303);
    // This platform issues the tokens of a code again and again.
    people.control.settings({ replayTokens: true });
    browser = people.browser();
    for (const [name, cookie] of copy) browser.cookies.set(name, cookie);
    for (const address of [back, back.replace(/(state=[^&]*)/, "$1=")])
      expect((await browser.get(address)).text).toContain(IS_OVER);
    expect(browser.cookies.has("kit_session")).toBe(false);
    expect(await people.sessions()).toHaveLength(1);
  });
});

const NO_ACCOUNTS = [
  "null",
  "x".repeat(70_000),
  ...[
    { id: "x", email: "a@example.com" },
    { id: crypto.randomUUID() },
    { id: crypto.randomUUID(), email: "a\u0000b" },
  ],
];
const SECRET_ECHO = { error: "invalid_grant", error_description: "the code was SVCK-1234 <b>" };
const FAULTS: [call: string, action: FaultAction, status: number, title: string][] = [
  ...[{ status: 500 }, { status: 429 }, { status: 503, headers: { "retry-after": "9" } }, { reset: "before" as const },
    { reset: "after" as const }, { truncate: true as const }, { status: 200, body: "<html>maintenance</html>" },
    { status: 200, body: { access_token: 7 } }].map((fault): (typeof FAULTS)[number] => ["POST /oauth/token", fault, 503, NO_ANSWER]),
  ["POST /oauth/token", { status: 400, body: SECRET_ECHO }, 400, NOT_COMPLETED],
  ["POST /oauth/token", { status: 400, body: { error: "invalid_request" } }, 502, REFUSES_US],
  ...[{ status: 500 }, { status: 429 }, { reset: "after" as const }, ...NO_ACCOUNTS.map((body) => ({ status: 200, body }))].map(
    (fault): (typeof FAULTS)[number] => ["GET /account", fault, 503, NO_ANSWER]),
  ["GET /account", { status: 401, body: { id: "unauthorized" } }, 403, NOT_WHO],
  ["GET /account", { status: 403, body: { id: "forbidden" } }, 403, NOT_WHO],
  ["GET /account", { status: 404, body: { id: "not_found" } }, 502, REFUSES_US],
]; // prettier-ignore

describe("a platform that fails during the sign-in", () => {
  it.each(FAULTS)("at %s (%#)", async (call, action, status, title) => {
    const back = people.atPlatform(await begin());
    people.control.fault(call, action);
    await expectPage(await browser.get(back), status, title);
    expect((await people.signIn(people.browser())).status).toBe(303);
  });

  it("with a redirect is not followed", async () => {
    const elsewhere: Server = createServer((_request, response) => void response.end("{}")).listen(0);
    await once(elsewhere, "listening");
    let asked = 0;
    elsewhere.on("request", () => (asked += 1));
    const location = `http://localhost:${(elsewhere.address() as AddressInfo).port}/`;
    for (const call of ["POST /oauth/token", "GET /account"]) {
      const back = people.atPlatform(await begin());
      people.control.fault(call, { status: 307, headers: { location } });
      await expectPage(await browser.get(back), 503, NO_ANSWER);
    }
    expect(asked).toBe(0);
    await once(elsewhere.close(), "close");
  });

  it("an account's name is shown as escaped text", async () => {
    const name = `<script>alert("1")</script>\u0007 ${"n".repeat(300)}`;
    const id = crypto.randomUUID();
    const body = { id: id.toUpperCase(), email: "a'<b>@x", name };
    people.control.fault("GET /account", { status: 200, body }, 2);
    await people.signIn(browser);
    const { text } = await browser.get("/oauth/me");
    expect(text).toContain(`<dd>&lt;script>alert(&quot;1&quot;)&lt;/script> nnnn`);
    expect(text).not.toContain("<b>");
    expect(await people.people()).toMatchObject([{ uuid: id, email: "a'<b>@x" }]);
  });
});

describe("GET /oauth/me", () => {
  it.each([400, 403, 404, 422, 429, 500, "lost"])(
    "says so when the platform does not name the account (%s)",
    async (how) => {
      await people.signIn(browser);
      const fault =
        how === "lost" ? { reset: "after" as const } : { status: Number(how), body: { id: "no" } };
      people.control.fault("GET /account", fault);
      const { status, text } = await browser.get("/oauth/me");
      expect([status, text]).toEqual([
        200,
        expect.stringContaining("this is what it said when you signed in"),
      ]);
    },
  );

  it.each([REFUSED, new DatabaseUnavailable("the database did not answer in time")])(
    "answers 503 when the database fails for a moment (%#)",
    async (error) => {
      await people.signIn(browser);
      broken.set("read_tokens", error);
      const { status, text, headers } = await browser.get("/oauth/me");
      expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
      expect(text).toContain("Not available for the moment");
      broken.clear();
      expect((await browser.get("/oauth/me")).status).toBe(200);
    },
  );
});

describe("a service in trouble", () => {
  it("with a wrong client secret says that it is not the person's fault, and raises an alarm", async () => {
    const secret = "not-the-secret-of-this-client";
    await people.world.restart({ environment: { OAUTH_CLIENT_SECRET: secret } });
    const shown = await browser.get(people.atPlatform(await begin()));
    await expectPage(shown, 502, REFUSES_US);
    expect(people.world.logged()).toMatch(/"alarm":"oauth_client_rejected"/);
    expect(shown.text + people.world.logged()).not.toContain(secret);
    await people.world.restart();
  });

  it("whose database fails after the state was used says so, and then offers a new sign-in", async () => {
    const back = people.atPlatform(await begin());
    broken.set("open_session", REFUSED);
    const shown = await browser.get(back);
    await expectPage(shown, 503, "Not available for the moment");
    expect(shown.text).toContain("sign in again: loading this page again does not help");
    expect(people.world.logged()).toMatch(
      /A page says what went wrong.*ECONNREFUSED|ECONNREFUSED.*A page says/,
    );
    broken.clear();
    const again = await browser.get(back);
    await expectPage(again, 400, NOT_COMPLETED);
    expect(again.text).toContain(`<a href="/oauth/login" role="button">Try again</a>`);
  });

  it("without its database says so at each step, and works when it is back", async () => {
    expect(await people.signIn(browser)).toMatchObject({ status: 303 });
    isAway = true;
    const signedIn = [await browser.get("/oauth/me"), await browser.post("/oauth/logout")];
    isAway = false;
    for (const { status, headers } of signedIn)
      expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
    expect((await browser.get("/oauth/me")).status).toBe(200);
  });
});
