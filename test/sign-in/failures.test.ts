import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Database } from "../../src/database/database.ts";
import type { FaultAction } from "../../sandbox/index.ts";
import type { Browser, Shown } from "./browser.ts";
import { aWorldOfPeople, type PeopleWorld } from "./people.ts";

// Every way in which signing in can fail ends on a page that says so, and leaves nothing behind.

let people: PeopleWorld;
let browser: Browser;
/** Whether the database refuses connections. */
let isAway = false;

beforeAll(async () => {
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    query: (statement, values) => (isAway ? refused() : database.query(statement, values)),
    transaction: (work) => (isAway ? refused() : database.transaction(work)),
  });
  people = await aWorldOfPeople({ environment: { WEB_JOBS: "off" }, parts: { wrapDatabase } });
});
beforeEach(async () => {
  browser = people.browser();
  await people.forgetEverybody();
});
afterEach(() => {
  isAway = false;
  people.control.clearFaults();
});
afterAll(() => people.close());

function refused(): Promise<never> {
  return Promise.reject(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
}

/** A page that says what happened, with no session and no row behind it. */
async function expectPage(shown: Shown, status: number, title: string): Promise<void> {
  expect({ status: shown.status, title: /<h1>(.*?)<\/h1>/.exec(shown.text)?.[1] }).toEqual({ status, title });
  expect(shown.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(shown.headers.get("cache-control")).toBe("no-store");
  expect(shown.text.match(/<p>/g)!.length).toBeGreaterThanOrEqual(2);
  expect(browser.cookies.has("kit_session")).toBe(false);
  expect([await people.sessions(), await people.people()]).toEqual([[], []]);
}

const begin = () => browser.get("/oauth/login");
const stateOf = ({ location }: Shown) => new URL(location!).searchParams.get("state")!;

describe("a person", () => {
  it("who says no is told so, and can think again", async () => {
    const back = await browser.get(people.atPlatform(await begin(), { allow: false }));
    await expectPage(back, 403, "You said no");
    expect(back.text).toContain(`<a href="/oauth/login" role="button">Try again</a>`);
    expect((await people.signIn(browser)).status).toBe(303);
  });

  it("who allows too little is told that we do not know who they are", async () => {
    const begun = await begin();
    const less = { ...begun, location: begun.location!.replace("scope=identity", "scope=read") };
    await expectPage(
      await browser.get(people.atPlatform(less)),
      403,
      "The platform does not say who you are",
    );
  });

  it("whose code has run out can sign in again", async () => {
    const back = people.atPlatform(await begin());
    people.control.advanceClock(11 * 60);
    await expectPage(await browser.get(back), 400, "The platform's code is no longer good");
  });

  it("whose code was used by somebody else can sign in again", async () => {
    const back = people.atPlatform(await begin());
    const code = new URL(back).searchParams.get("code")!;
    const body = new URLSearchParams({
      grant_type: "authorization_code",
      code,
      client_secret: people.client.secret,
    });
    expect((await fetch(`${people.world.sandbox.url}/oauth/token`, { method: "POST", body })).status).toBe(
      200,
    );
    await expectPage(await browser.get(back), 400, "The platform's code is no longer good");
  });
});

describe("a state", () => {
  it("that is missing ends there", async () => {
    await expectPage(await browser.get("/oauth/callback?code=abc"), 400, "This is not a way to begin");
    await expectPage(await browser.get("/oauth/callback"), 400, "This is not a way to begin");
  });

  it.each(["wrong", "A".repeat(43), "A".repeat(10_000), "%00", "<script>alert(1)</script>"])(
    "that is not ours ends there (%#)",
    async (state) => {
      const since = people.control.ledger().next;
      const { headers } = await begin();
      expect(headers.get("set-cookie")).toMatch(/^kit_sign_in=/);
      const back = await browser.get(`/oauth/callback?code=abc&state=${encodeURIComponent(state)}`);
      await expectPage(back, 400, "This sign-in is over");
      expect(back.text).not.toContain("<script");
      expect(people.control.ledger({ since }).entries).toEqual([]);
    },
  );

  it("given twice ends there", async () => {
    const state = stateOf(await begin());
    const back = await browser.get(`/oauth/callback?code=abc&state=${state}&state=${state}`);
    await expectPage(back, 400, "This sign-in is over");
  });

  it("that is replayed ends there, and leaves the first sign-in alone", async () => {
    const back = people.atPlatform(await begin());
    await browser.get(back);
    const again = await browser.get(back);
    expect(again.status).toBe(400);
    expect(again.text).toContain("This sign-in is over");
    expect((await browser.get("/oauth/me")).status).toBe(200);
  });

  it("that comes twice at once signs in once", async () => {
    const back = people.atPlatform(await begin());
    const both = await Promise.all([browser.get(back), browser.get(back)]);
    expect(both.map(({ status }) => status).sort()).toEqual([303, 400]);
    expect(await people.sessions()).toHaveLength(1);
  });

  it("of another browser ends there, and that browser can still go on", async () => {
    const other = people.browser();
    const back = people.atPlatform(await other.get("/oauth/login"));
    await expectPage(await browser.get(back), 400, "This sign-in began somewhere else");
    await begin();
    await expectPage(await browser.get(back), 400, "This sign-in began somewhere else");
    expect((await other.get(back)).status).toBe(303);
  });

  it("that is older than ten minutes ends there", async () => {
    const back = people.atPlatform(await begin());
    await people.world.rows(`UPDATE sign_in_attempts SET expires_at = now() - interval '1 second'`);
    await expectPage(await browser.get(back), 400, "That took too long");
  });

  it("is needed for a refusal too, so that nobody can show others one", async () => {
    const back = await browser.get("/oauth/callback?error=access_denied&state=made-up");
    await expectPage(back, 400, "This sign-in is over");
  });
});

describe("the platform's way back", () => {
  it.each([
    ["access_denied", 403, "You said no"],
    ["invalid_scope", 502, "The platform refuses this service"],
    ["unauthorized_client", 502, "The platform refuses this service"],
    ["server_error", 503, "The platform does not answer"],
    ["temporarily_unavailable", 503, "The platform does not answer"],
    ["<img src=x onerror=alert(1)>", 502, "The platform refuses this service"],
  ])("with the error %s", async (error, status, title) => {
    const query = new URLSearchParams({
      error,
      error_description: "<b>look here</b>",
      state: stateOf(await begin()),
    });
    const back = await browser.get(`/oauth/callback?${query}`);
    await expectPage(back, status, title);
    expect(back.text).not.toMatch(/onerror|look here/);
  });

  it.each(["", "&code=", "&code=a&code=b", `&code=${"x".repeat(2_000)}`, "&code=a%0Ab", "&code[x]=1"])(
    "without a usable code (%#)",
    async (code) => {
      const since = people.control.ledger().next;
      const back = await browser.get(`/oauth/callback?state=${stateOf(await begin())}${code}`);
      await expectPage(back, 400, "The platform's answer is incomplete");
      expect(people.control.ledger({ since }).entries).toEqual([]);
    },
  );
});

const SECRET_ECHO = { error: "invalid_grant", error_description: "the code was SVCK-1234 <b>" };
const faults: [call: string, action: FaultAction, status: number, title: string][] = [
  ["POST /oauth/token", { status: 500 }, 503, "The platform does not answer"],
  [
    "POST /oauth/token",
    { status: 503, headers: { "retry-after": "9" } },
    503,
    "The platform does not answer",
  ],
  ["POST /oauth/token", { status: 429 }, 503, "The platform does not answer"],
  ["POST /oauth/token", { reset: "before" }, 503, "The platform does not answer"],
  ["POST /oauth/token", { reset: "after" }, 503, "The platform does not answer"],
  ["POST /oauth/token", { truncate: true }, 503, "The platform does not answer"],
  [
    "POST /oauth/token",
    { status: 200, body: "<html>maintenance</html>" },
    502,
    "The platform's answer makes no sense",
  ],
  [
    "POST /oauth/token",
    { status: 200, body: { access_token: 7 } },
    502,
    "The platform's answer makes no sense",
  ],
  ["POST /oauth/token", { status: 400, body: SECRET_ECHO }, 400, "The platform's code is no longer good"],
  [
    "POST /oauth/token",
    { status: 400, body: { error: "invalid_request" } },
    502,
    "The platform refuses this service",
  ],
  ["GET /account", { status: 500 }, 503, "The platform does not answer"],
  ["GET /account", { status: 429 }, 503, "The platform does not answer"],
  ["GET /account", { reset: "after" }, 503, "The platform does not answer"],
  [
    "GET /account",
    { status: 401, body: { id: "unauthorized" } },
    403,
    "The platform does not say who you are",
  ],
  ["GET /account", { status: 403, body: { id: "forbidden" } }, 403, "The platform does not say who you are"],
  ["GET /account", { status: 404, body: { id: "not_found" } }, 502, "The platform refuses this service"],
  ["GET /account", { status: 200, body: "null" }, 502, "The platform's answer makes no sense"],
  [
    "GET /account",
    { status: 200, body: { id: "x", email: "a@example.com" } },
    502,
    "The platform's answer makes no sense",
  ],
  [
    "GET /account",
    { status: 200, body: { id: crypto.randomUUID() } },
    502,
    "The platform's answer makes no sense",
  ],
  [
    "GET /account",
    { status: 200, body: { id: crypto.randomUUID(), email: "a\u0000b" } },
    502,
    "The platform's answer makes no sense",
  ],
  ["GET /account", { status: 200, body: "x".repeat(70_000) }, 502, "The platform's answer makes no sense"],
];

describe("a platform in trouble", () => {
  it.each(faults)("at %s (%#)", async (call, action, status, title) => {
    const back = people.atPlatform(await begin());
    people.control.fault(call, action);
    const shown = await browser.get(back);
    await expectPage(shown, status, title);
    expect(shown.headers.has("retry-after")).toBe(status === 503);
    expect(shown.text).not.toMatch(/SVCK|maintenance/);
    expect((await people.signIn(people.browser())).status).toBe(303);
  });

  it("that points elsewhere is not followed", async () => {
    const elsewhere: Server = createServer((_request, response) => void response.end("{}")).listen(0);
    await once(elsewhere, "listening");
    let asked = 0;
    elsewhere.on("request", () => (asked += 1));
    const location = `http://localhost:${(elsewhere.address() as AddressInfo).port}/`;
    for (const call of ["POST /oauth/token", "GET /account"]) {
      const back = people.atPlatform(await begin());
      people.control.fault(call, { status: 307, headers: { location } });
      await expectPage(await browser.get(back), 503, "The platform does not answer");
    }
    expect(asked).toBe(0);
    await once(elsewhere.close(), "close");
  });

  it("shows the name that an account has as text, whatever it is", async () => {
    const name = `<script>alert("1")</script>\u0007 ${"n".repeat(300)}`;
    const id = crypto.randomUUID();
    people.control.fault(
      "GET /account",
      { status: 200, body: { id: id.toUpperCase(), email: "a'<b>@x", name } },
      2,
    );
    await people.signIn(browser);
    const { text } = await browser.get("/oauth/me");
    expect(text).toContain(`<dd>&lt;script>alert(&quot;1&quot;)&lt;/script> nnnn`);
    expect(text).not.toContain("<b>");
    expect(await people.people()).toMatchObject([{ uuid: id, email: "a'<b>@x" }]);
  });
});

describe("a service", () => {
  it("whose client secret is wrong says that it is not the person's fault, and raises an alarm", async () => {
    const secret = "not-the-secret-of-this-client";
    await people.world.restart({ environment: { OAUTH_CLIENT_SECRET: secret } });
    const shown = await browser.get(people.atPlatform(await begin()));
    await expectPage(shown, 502, "The platform refuses this service");
    expect(people.world.logged()).toMatch(/"alarm":"oauth_client_rejected"/);
    expect(shown.text + people.world.logged()).not.toContain(secret);
    await people.world.restart();
  });

  it("that cannot reach the platform says so", async () => {
    await people.world.restart({ environment: { PLATFORM_AUTH_URL: "http://127.0.0.1:9" } });
    const shown = await browser.get(`/oauth/callback?code=abc&state=${stateOf(await begin())}`);
    await expectPage(shown, 503, "The platform does not answer");
    await people.world.restart();
  });

  it("whose database is away says so at each step, and goes on when it is back", async () => {
    const back = people.atPlatform(await begin());
    isAway = true;
    const steps = [await browser.get("/oauth/login"), await browser.get(back)];
    isAway = false;
    for (const step of steps) await expectPage(step, 503, "Not available for the moment");
    expect(await browser.get(back)).toMatchObject({ status: 303 });
    isAway = true;
    const signedIn = [await browser.get("/oauth/me"), await browser.post("/oauth/logout")];
    isAway = false;
    for (const { status, headers } of signedIn)
      expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
    expect((await browser.get("/oauth/me")).status).toBe(200);
  }, 60_000);
});
