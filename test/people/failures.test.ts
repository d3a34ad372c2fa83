import { jest } from "@jest/globals";
import type { FaultAction } from "../../packages/sandbox/index.ts";
import type { Database } from "../../src/database/database.ts";
import { opened } from "../support/world.ts";
import type { Browser, Shown } from "./browser.ts";
import { aWorldOfPeople } from "./people.ts";

// Every failure of a sign-in ends on a page that explains it, and leaves no session behind.

let browser: Browser;
/** The statement, or Prisma's call, that meets a database that refuses connections; "all": each does. */
let broken = "";

const refused = () =>
  Promise.reject(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));
const wrapDatabase = (database: Database): Database => ({
  ...database,
  query: (statement, ...values) =>
    broken === "all" || broken === statement.name ? refused() : database.query(statement, ...values),
  async prisma() {
    if (broken === "all") return refused();
    const prisma = await database.prisma();
    return broken === "session.deleteMany"
      ? but(prisma, "session", but(prisma.session, "deleteMany", refused))
      : prisma;
  },
});
/** The same, but for one member. */
const but = <T extends object>(original: T, member: keyof T, replaced: unknown): T =>
  new Proxy(original, {
    get: (target, name) => (name === member ? replaced : Reflect.get(target, name)) as unknown,
  });
const people = opened(() =>
  aWorldOfPeople({ environment: { WEB_JOBS: "off", LOG_LEVEL: "trace" }, parts: { wrapDatabase } }),
);
beforeEach(async () => {
  browser = people.browser();
  await people.forgetEverybody();
});
afterEach(() => {
  broken = "";
  people.control.clearFaults();
  people.control.settings({ pkce: "honoured", replayTokens: false });
});

const NOT_COMPLETED = "This sign-in cannot be completed";
const PLATFORM_FAILS = "The platform cannot complete this sign-in";
const NOT_WHO = "The platform does not say who you are";

/** Expects a page that explains the failure, with no session and no row. */
async function expectPage(shown: Shown, status: number, title: string): Promise<void> {
  expect({ status: shown.status, title: /<h1>(.*?)<\/h1>/.exec(shown.text)?.[1] }).toEqual({ status, title });
  expect(shown.headers.get("cache-control")).toBe("no-store");
  expect(shown.headers.has("retry-after")).toBe(status === 503);
  expect(shown.text).not.toMatch(/onerror|look here|<script|SVCK|maintenance/);
  expect(browser.cookies.has("kit_session")).toBe(false);
  expect([await people.sessions(), await people.people()]).toEqual([[], []]);
}

const begin = () => browser.get("/oauth/login");
const stateOf = ({ location }: Shown) => new URL(location!).searchParams.get("state")!;

/** Back from the platform, in the browser in which a sign-in began, or in another. */
const returned = async (by = browser) => people.atPlatform(await by.get("/oauth/login"));
const withState = (state: string) => async () =>
  `?code=abc&state=${encodeURIComponent((await begin()) && state)}`;
const withCode = (code: string) => async () => `?state=${stateOf(await begin())}${code}`;
const withError = (error: string) => async () =>
  `?${new URLSearchParams({ error, error_description: "<b>look here</b>", state: stateOf(await begin()) })}`;

/** What a browser brings back to the callback, and what it is shown. */
const CALLBACKS: [what: string, back: () => Promise<string>, status: number, title: string][] = [
  ["a denial", async () => people.atPlatform(await begin(), { allow: false }), 403, NOT_WHO],
  ["a denial without a state", async () => "?error=access_denied", 403, NOT_WHO],
  ["nothing", async () => "", 400, NOT_COMPLETED],
  ["a wrong state", withState("wrong"), 400, NOT_COMPLETED],
  ["a long state", withState("A".repeat(10_000)), 400, NOT_COMPLETED],
  ["a state of no text", withState("\0"), 400, NOT_COMPLETED],
  ["a state with a script", withState("<script>alert(1)</script>"), 400, NOT_COMPLETED],
  ["a changed state", async () => `?code=abc&state=${stateOf(await begin()).replace(/.{9}$/, "AAAAAAAAA")}`, 400, NOT_COMPLETED],
  ["the state twice", async () => `${await returned()}&state=x`, 400, NOT_COMPLETED],
  ["the state of another browser", () => returned(people.browser()), 400, NOT_COMPLETED],
  ["an expired code", async () => {
    const back = await returned();
    people.control.advanceClock(11 * 60);
    return back;
  }, 400, NOT_COMPLETED],
  // PKCE: the code was asked for by another browser.
  ["a code that leaked", async () => {
    const code = new URL(await returned(people.browser())).searchParams.get("code")!;
    return `?code=${code}&state=${stateOf(await begin())}`;
  }, 400, NOT_COMPLETED],
  ["another scope than identity", async () => {
    const begun = await begin();
    return people.atPlatform({ ...begun, location: begun.location!.replace("scope=identity", "scope=read") });
  }, 403, NOT_WHO],
  ["no code", withCode(""), 400, NOT_COMPLETED],
  ["two codes", withCode("&code=a&code=b"), 400, NOT_COMPLETED],
  ["a long code", withCode(`&code=${"x".repeat(2_000)}`), 400, NOT_COMPLETED],
  ["a code in lines", withCode("&code=a%0Ab"), 400, NOT_COMPLETED],
  ["a denial in time", withError("access_denied"), 403, NOT_WHO],
  ["a scope that is not known", withError("invalid_scope"), 503, PLATFORM_FAILS],
  ["a failure of the platform", withError("server_error"), 503, PLATFORM_FAILS],
  ["an unknown error", withError("<img src=x onerror=alert(1)>"), 503, PLATFORM_FAILS],
]; // prettier-ignore

describe("GET /oauth/callback", () => {
  it.each(CALLBACKS)("with %s", async (_what, back, status, title) => {
    const address = await back();
    const path = address.startsWith("http") ? address : `/oauth/callback${address}`;
    await expectPage(await browser.get(path), status, title);
    expect((await people.signIn(browser)).status).toBe(303);
  });

  it("later than ten minutes after the beginning", async () => {
    const back = await returned();
    const clock = jest.spyOn(Date, "now").mockImplementation(() => new Date().getTime() + 11 * 60_000);
    const shown = await browser.get(back).finally(() => clock.mockRestore());
    await expectPage(shown, 400, NOT_COMPLETED);
  });

  it.each(["required", "ignored"] as const)("works where PKCE is %s", async (pkce) => {
    people.control.settings({ pkce });
    expect((await people.signIn(browser)).status).toBe(303);
  });
});

describe("a sign-in that is completed", () => {
  it("once is refused the second time, and goes on", async () => {
    const back = await returned();
    const both = await Promise.all([browser.get(back), browser.get(back)]);
    expect(both.map(({ status }) => status).sort()).toEqual([303, 400]);
    expect(await people.sessions()).toHaveLength(1);
    expect((await browser.get("/oauth/me")).status).toBe(200);
  });

  it("is not completed again by whoever has a copy of its cookie, however the state is written", async () => {
    const back = await returned();
    const copy = new Map(browser.cookies);
    expect((await browser.get(back)).status).toBe(303);
    // This platform issues the tokens of a code again and again.
    people.control.settings({ replayTokens: true });
    browser = people.browser();
    for (const [name, cookie] of copy) browser.cookies.set(name, cookie);
    for (const address of [back, back.replace(/(state=[^&]*)/, "$1=")])
      expect((await browser.get(address)).text).toContain(NOT_COMPLETED);
    expect(browser.cookies.has("kit_session")).toBe(false);
    expect(await people.sessions()).toHaveLength(1);
  });
});

const SECRET_ECHO = { error: "invalid_grant", error_description: "the code was SVCK-1234 <b>" };
const AT_TOKEN: [action: FaultAction, status: number, title: string][] = [
  [{ status: 503, headers: { "retry-after": "9" } }, 503, PLATFORM_FAILS],
  [{ reset: "after" }, 503, PLATFORM_FAILS],
  [{ status: 307, headers: { location: "http://localhost:1/" } }, 503, PLATFORM_FAILS],
  [{ status: 200, body: "<html>maintenance</html>" }, 503, PLATFORM_FAILS],
  [{ status: 400, body: SECRET_ECHO }, 400, NOT_COMPLETED],
  [{ status: 400, body: { error: "invalid_request" } }, 503, PLATFORM_FAILS],
];
const AT_ACCOUNT: typeof AT_TOKEN = [
  [{ status: 500 }, 503, PLATFORM_FAILS],
  [{ reset: "after" }, 503, PLATFORM_FAILS],
  [{ status: 200, body: "x".repeat(70_000) }, 503, PLATFORM_FAILS],
  [{ status: 200, body: { id: "x", email: "a@example.com" } }, 503, PLATFORM_FAILS],
  [{ status: 200, body: { id: crypto.randomUUID(), email: "a\0b" } }, 503, PLATFORM_FAILS],
  [{ status: 401, body: { id: "unauthorized" } }, 403, NOT_WHO],
  [{ status: 404, body: { id: "not_found" } }, 503, PLATFORM_FAILS],
];

describe("a platform that fails during the sign-in", () => {
  it.each([
    ...AT_TOKEN.map((each) => ["POST /oauth/token", ...each] as const),
    ...AT_ACCOUNT.map((each) => ["GET /account", ...each] as const),
  ])("at %s (%#)", async (call, action, status, title) => {
    const back = await returned();
    people.control.fault(call, action);
    await expectPage(await browser.get(back), status, title);
  });

  it("or refuses our client secret, which is not the person's fault, and raises an alarm", async () => {
    const secret = "not-the-secret-of-this-client";
    await people.world.restart({ environment: { OAUTH_CLIENT_SECRET: secret } });
    const shown = await browser.get(people.atPlatform(await begin()));
    await expectPage(shown, 503, PLATFORM_FAILS);
    expect(people.world.logged()).toMatch(/"alarm":"oauth_client_rejected"/);
    expect(shown.text + people.world.logged()).not.toContain(secret);
    await people.world.restart();
  });
});

it("an account's name is shown as escaped text", async () => {
  const name = `<script>alert("1")</script>\0 ${"n".repeat(300)}`;
  const id = crypto.randomUUID();
  const body = { id: id.toUpperCase(), email: "a'<b>@x", name };
  people.control.fault("GET /account", { status: 200, body }, 1);
  await people.signIn(browser);
  const { text } = await browser.get("/oauth/me");
  expect(text).toContain(`<dd>&lt;script>alert(&quot;1&quot;)&lt;/script> nnnn`);
  expect(text).not.toContain("<b>");
  expect(await people.people()).toMatchObject([{ uuid: id, email: "a'<b>@x" }]);
});

it("a sign-in counts although the former session cannot be ended", async () => {
  await people.signIn(browser);
  broken = "session.deleteMany";
  expect(await people.signIn(browser)).toMatchObject({ status: 303 });
  broken = "";
  expect((await browser.get("/oauth/me")).status).toBe(200);
  expect(await people.world.rows(`SELECT 1 FROM sessions`)).toHaveLength(2);
});

it("a database that is away at any step is said, and the service works when it is back", async () => {
  const back = await returned();
  broken = "open_session";
  await expectPage(await browser.get(back), 503, "Not available for the moment");
  expect(people.world.logged()).toContain("ECONNREFUSED");
  broken = "";
  await expectPage(await browser.get(back), 400, NOT_COMPLETED);
  expect(await people.signIn(browser)).toMatchObject({ status: 303 });
  broken = "all";
  const away = [await browser.get("/oauth/me"), await browser.post("/oauth/logout")];
  broken = "";
  for (const { status, headers } of away) expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
  expect((await browser.get("/oauth/me")).status).toBe(200);
});

describe("sign-ins that succeed and fail in many ways", () => {
  /** The secrets by their kind, unencrypted. */
  const secrets = new Map<string, string>();
  let shown = "";

  beforeEach(async () => {
    secrets.set("the client's secret", people.client.secret);
    await signInAndStay("owner@example.com");
    await signInAndStay("colleague@example.com");
    await people.world.forged.tokensFellDue();
    await people.job("refresh-tokens");
    await failInManyWays();
    for (const { request, response } of people.control.ledger({ reveal: true }).entries)
      note(request, response);
  });

  async function signInAndStay(user: string): Promise<void> {
    const browser = people.browser();
    const begun = await browser.get("/oauth/login?return_to=/oauth/me");
    secrets.set(`a state of ${user}`, new URL(begun.location!).searchParams.get("state")!);
    const back = await browser.get(people.atPlatform(begun, { user }));
    const page = await browser.get("/oauth/me");
    shown += JSON.stringify([back.location, back.text, page.text, [...page.headers]]);
    for (const [name, { value }] of browser.cookies) secrets.set(`${name} of ${user}`, value);
  }

  async function failInManyWays(): Promise<void> {
    const text = `wrong: ${people.client.secret}`;
    const faults = [
      { status: 400, body: { error: "invalid_grant", error_description: text } },
      { status: 500, body: text },
      { status: 401, body: { error: text, error_description: text } },
      { truncate: true as const },
    ];
    for (const fault of faults) {
      for (const call of ["POST /oauth/token", "GET /account"]) {
        const browser = people.browser();
        const back = people.atPlatform(await browser.get("/oauth/login"));
        const code = new URL(back).searchParams.get("code")!;
        secrets.set(`a code met by ${call} ${JSON.stringify(fault)}`, code);
        // The account's endpoint knows no code, so one there is hidden by nobody.
        const told = { status: 403, body: { id: "forbidden", message: `Not with ${code}` } };
        people.control.fault(call, call === "GET /account" && fault.status === 500 ? told : fault);
        shown += (await browser.get(back)).text;
        shown += (await browser.get(back)).text;
        people.control.clearFaults();
      }
      await people.world.forged.tokensExpired();
      await people.world.forged.tokensFellDue();
      people.control.fault("POST /oauth/token", fault);
      await people.job("refresh-tokens");
      people.control.clearFaults();
    }
  }

  /** Tokens and codes that the platform sent and received, for any person. */
  function note(request: { body: unknown }, response: { body: unknown } | null): void {
    for (const body of [request.body, response?.body] as (Record<string, unknown> | null | undefined)[])
      for (const name of ["access_token", "refresh_token", "code", "session_nonce"])
        if (typeof body?.[name] === "string") secrets.set(`${name} ${secrets.size}`, body[name]);
  }

  const found = (text: string) =>
    [...secrets].filter(([, value]) => text.includes(value)).map(([what]) => what);

  it("leave no secret in the log, on a page, in an address or in a header other than cookies, nor unencrypted in a column", async () => {
    expect(secrets.size).toBeGreaterThan(20);
    expect(people.world.logged()).toMatch(/A page says what went wrong/);
    expect(found(people.world.logged())).toEqual([]);
    expect(found(shown.replace(/"set-cookie","[^"]*"/g, ""))).toEqual([]);

    const tables = await people.world.rows<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`,
    );
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["people", "sessions", "used_sign_ons"]),
    );
    for (const { name } of tables) {
      const rows = await people.world.rows<Record<string, unknown>>(`SELECT * FROM ${name}`);
      const values = rows.flatMap((row) => Object.values(row));
      const texts = values.flatMap((value) =>
        value instanceof Buffer
          ? [value.toString("latin1"), value.toString("base64url")]
          : [JSON.stringify(value)],
      );
      expect(found(texts.join("\n"))).toEqual([]);
    }
  });
});
