import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { DatabaseUnavailable, type Database } from "../../src/database/database.ts";
import type { FaultAction } from "../../packages/sandbox/index.ts";
import type { Browser, Shown } from "./browser.ts";
import { eventually } from "../support/world.ts";
import { aWorldOfPeople, type PeopleWorld } from "./people.ts";

// Every failure of a sign-in ends on a page that explains it, and leaves no session behind.

let people: PeopleWorld;
let browser: Browser;
/** Whether the database refuses connections. */
let isAway = false;
/** Errors of statements, by the statement's name. */
const broken = new Map<string, Error>();

beforeAll(async () => {
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    query(statement, values) {
      const error = isAway ? REFUSED : broken.get(statement.name);
      return error ? Promise.reject(error) : database.query(statement, values);
    },
    transaction: (work) => (isAway ? Promise.reject(REFUSED) : database.transaction(work)),
  });
  people = await aWorldOfPeople({ environment: { WEB_JOBS: "off" }, parts: { wrapDatabase } });
});
beforeEach(async () => {
  browser = people.browser();
  await people.forgetEverybody();
});
afterEach(() => {
  isAway = false;
  broken.clear();
  people.control.clearFaults();
});
afterAll(() => people.close());

const REFUSED = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });

/** Expects a page that explains the failure, with no session and no row. */
async function expectPage(shown: Shown, status: number, title: string): Promise<void> {
  expect({ status: shown.status, title: /<h1>(.*?)<\/h1>/.exec(shown.text)?.[1] }).toEqual({ status, title });
  expect(shown.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(shown.headers.get("cache-control")).toBe("no-store");
  expect(shown.text.match(/<p>/g)!.length).toBeGreaterThanOrEqual(2);
  expect(browser.cookies.has("kit_session")).toBe(false);
  expect([await people.sessions(), await people.people()]).toEqual([[], []]);
}

const begin = () => browser.get("/oauth/login");
/** Runs the work as if this process's clock were so many minutes ahead. */
async function minutesLater(minutes: number, work: () => Promise<void>): Promise<void> {
  const clock = jest.spyOn(Date, "now").mockImplementation(() => new Date().getTime() + minutes * 60_000);
  await work().finally(() => clock.mockRestore());
}
const stateOf = ({ location }: Shown) => new URL(location!).searchParams.get("state")!;

describe("signing in as a person", () => {
  it("who denies it shows a page that offers another try", async () => {
    const back = await browser.get(people.atPlatform(await begin(), { allow: false }));
    await expectPage(back, 403, "You said no");
    expect(back.text).toContain(`<a href="/oauth/login" role="button">Try again</a>`);
    expect((await people.signIn(browser)).status).toBe(303);
  });

  it("again after a failure leads to the page that the person wanted", async () => {
    const wanted = "/oauth/login?return_to=%2Foperator%2Factions%3Fa%3D1";
    const again = `<a href="${wanted}" role="button">Try again</a>`;
    const denied = await browser.get(people.atPlatform(await browser.get(wanted), { allow: false }));
    expect(denied.text).toContain(again);
    people.control.fault("POST /oauth/token", { status: 503 }, 1);
    const failed = await browser.get(people.atPlatform(await browser.get(wanted)));
    await expectPage(failed, 503, "The platform does not answer");
    expect(failed.text).toContain(again);
    const late = people.atPlatform(await browser.get(wanted));
    await minutesLater(11, async () => expect((await browser.get(late)).text).toContain(again));
    const back = await browser.get(people.atPlatform(await browser.get(wanted)));
    expect(back.location).toMatch(/\/operator\/actions\?a=1$/);
  });

  it("with too few scopes says that the service does not know who they are", async () => {
    const begun = await begin();
    const less = { ...begun, location: begun.location!.replace("scope=identity", "scope=read") };
    await expectPage(
      await browser.get(people.atPlatform(less)),
      403,
      "The platform does not say who you are",
    );
  });

  it("after the code has expired offers another try", async () => {
    const back = people.atPlatform(await begin());
    people.control.advanceClock(11 * 60);
    await expectPage(await browser.get(back), 400, "The platform's code is no longer good");
  });

  it("with a code that was used before offers another try", async () => {
    people.control.settings({ pkce: "ignored" });
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
    people.control.settings({ pkce: "honoured" });
  });
});

describe("a code that leaked", () => {
  it("signs nobody in with a state and a cookie of another sign-in: the platform refuses it", async () => {
    const victim = people.browser();
    const code = new URL(people.atPlatform(await victim.get("/oauth/login"))).searchParams.get("code")!;
    const state = stateOf(await begin());
    const back = await browser.get(`/oauth/callback?code=${code}&state=${state}`);
    await expectPage(back, 400, "The platform's code is no longer good");
  });

  it.each(["required", "honoured", "ignored"] as const)(
    "is no matter of signing in where PKCE is %s",
    async (pkce) => {
      people.control.settings({ pkce });
      expect((await people.signIn(browser)).status).toBe(303);
      people.control.settings({ pkce: "honoured" });
    },
  );
});

describe("the state of a sign-in", () => {
  it("that is unknown fills no log, however often it is sent", async () => {
    await people.world.restart();
    const before = people.world.logged().length;
    await Promise.all(Array.from({ length: 60 }, () => people.browser().get("/oauth/callback?state=x")));
    const linesOf = (what: string) => people.world.logged().slice(before).split(what).length - 1;
    await eventually(() => expect(linesOf("GET answered 400")).toBe(20));
    expect(linesOf(`"problem":"state_unknown"`)).toBe(20);
  });

  it("that is missing is refused", async () => {
    await expectPage(await browser.get("/oauth/callback?code=abc"), 400, "This is not a way to begin");
    await expectPage(await browser.get("/oauth/callback"), 400, "This is not a way to begin");
    await expectPage(await browser.get("/oauth/callback?error=access_denied"), 403, "You said no");
  });

  it.each(["wrong", "A".repeat(43), "A".repeat(10_000), "%00", "<script>alert(1)</script>"])(
    "that is unknown is refused (%#)",
    async (state) => {
      const since = people.control.ledger().next;
      const { headers } = await begin();
      expect(headers.get("set-cookie")).toMatch(/^kit_sign_in_[\w-]{8}=/);
      const back = await browser.get(`/oauth/callback?code=abc&state=${encodeURIComponent(state)}`);
      await expectPage(back, 400, "This sign-in is over");
      expect(back.text).not.toContain("<script");
      expect(people.control.ledger({ since }).entries).toEqual([]);
    },
  );

  it("that is given twice is refused", async () => {
    const state = stateOf(await begin());
    const back = await browser.get(`/oauth/callback?code=abc&state=${state}&state=${state}`);
    await expectPage(back, 400, "This sign-in is over");
  });

  it("that is sent again is refused, and does not end the first sign-in", async () => {
    const back = people.atPlatform(await begin());
    await browser.get(back);
    const again = await browser.get(back);
    expect(again.status).toBe(400);
    expect(again.text).toContain("This sign-in is over");
    expect((await browser.get("/oauth/me")).status).toBe(200);
  });

  it("that is sent twice at the same time signs in once", async () => {
    const back = people.atPlatform(await begin());
    const both = await Promise.all([browser.get(back), browser.get(back)]);
    expect(both.map(({ status }) => status).sort()).toEqual([303, 400]);
    expect(await people.sessions()).toHaveLength(1);
  });

  it("of another browser is refused, and that browser can still continue", async () => {
    const other = people.browser();
    const back = people.atPlatform(await other.get("/oauth/login"));
    await expectPage(await browser.get(back), 400, "This sign-in is over");
    await begin();
    await expectPage(await browser.get(back), 400, "This sign-in is over");
    expect((await other.get(back)).status).toBe(303);
  });

  it("that is older than ten minutes is refused", async () => {
    const back = people.atPlatform(await begin());
    await minutesLater(11, async () => expectPage(await browser.get(back), 400, "That took too long"));
    expect([...browser.cookies.values()][0]!.attributes).toContain("Max-Age=3600;");
  });

  it("is used once, also by whoever has a copy of its cookie", async () => {
    const back = people.atPlatform(await begin());
    const copy = new Map(browser.cookies);
    expect((await browser.get(back)).status).toBe(303);
    // This platform issues the tokens of a code again and again.
    people.control.settings({ replayTokens: true });
    browser = people.browser();
    for (const [name, cookie] of copy) browser.cookies.set(name, cookie);
    const again = await browser.get(back);
    people.control.settings({ replayTokens: false });
    expect([again.status, again.text]).toEqual([400, expect.stringContaining("This sign-in is over")]);
    expect(browser.cookies.has("kit_session")).toBe(false);
    expect(await people.sessions()).toHaveLength(1);
  });

  it("is required for an error answer too, so that nobody can show others one", async () => {
    const back = await browser.get("/oauth/callback?error=access_denied&state=made-up");
    await expectPage(back, 400, "This sign-in is over");
  });
});

describe("GET /oauth/callback", () => {
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

describe("a platform that fails during the sign-in", () => {
  it.each(faults)("at %s (%#)", async (call, action, status, title) => {
    const back = people.atPlatform(await begin());
    people.control.fault(call, action);
    const shown = await browser.get(back);
    await expectPage(shown, status, title);
    expect(shown.headers.has("retry-after")).toBe(status === 503);
    expect(shown.text).not.toMatch(/SVCK|maintenance/);
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
      await expectPage(await browser.get(back), 503, "The platform does not answer");
    }
    expect(asked).toBe(0);
    await once(elsewhere.close(), "close");
  });

  it("an account's name is shown as escaped text", async () => {
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

describe("GET /oauth/me", () => {
  const SAID_BEFORE = "this is what it said when you signed in";

  it.each([400, 403, 404, 422])("says so when the platform withholds the account with %i", async (status) => {
    await people.signIn(browser);
    people.control.fault("GET /account", { status, body: { id: "no" } });
    const shown = await browser.get("/oauth/me");
    expect(shown.text).toContain(`refuses to tell this service who you are now; ${SAID_BEFORE}`);
    // Only the page for 403 says that another attempt helps.
    expect(shown.text.includes("Sign in again, and allow it")).toBe(status === 403);
    expect(shown.text).not.toContain("could not be asked");
  });

  it.each([{ status: 429 }, { status: 500 }, { reset: "after" as const }])(
    "says so when the platform cannot be asked (%#)",
    async (fault) => {
      await people.signIn(browser);
      people.control.fault("GET /account", fault);
      expect((await browser.get("/oauth/me")).text).toContain(`could not be asked just now; ${SAID_BEFORE}`);
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

  it("whose database fails after the state was used offers a new sign-in instead of the same address", async () => {
    const back = people.atPlatform(await begin());
    broken.set("open_session", REFUSED);
    const shown = await browser.get(back);
    await expectPage(shown, 503, "Not available for the moment");
    expect(shown.text).toContain("Wait a moment, then sign in again");
    expect(shown.text).toContain(`<a href="/oauth/login" role="button">Try again</a>`);
    expect(people.world.logged()).toMatch(/"problem":"session_not_kept".*ECONNREFUSED/);
  }, 30_000);

  it("without its database says so at each step, and works when it is back", async () => {
    const back = people.atPlatform(await begin());
    isAway = true;
    const step = await browser.get(back);
    isAway = false;
    await expectPage(step, 503, "Not available for the moment");
    expect(await people.signIn(browser)).toMatchObject({ status: 303 });
    isAway = true;
    const signedIn = [await browser.get("/oauth/me"), await browser.post("/oauth/logout")];
    isAway = false;
    for (const { status, headers } of signedIn)
      expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
    expect((await browser.get("/oauth/me")).status).toBe(200);
  }, 60_000);
});
