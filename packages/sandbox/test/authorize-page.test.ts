import { aBrowser } from "./browser.ts";
import { aClient, CALLBACK } from "./web-flow.ts";
import { aWorld, type TestWorld } from "./world.ts";

let world: TestWorld;
let monitor: ReturnType<typeof aClient>;
let browser: ReturnType<typeof aBrowser>;
beforeEach(async () => {
  world = await aWorld();
  monitor = aClient(world.sandbox, { name: "Monitor & <Scale>" });
  browser = aBrowser(world.sandbox.url);
});
afterEach(() => world.close());

/** Signs in, up to the page that asks for consent. */
async function signIn(user = "colleague@example.com", members: Record<string, string> = {}) {
  await browser.visit(monitor.authorizeUrl(members));
  await browser.press("user", user);
  return browser.follow();
}
const answerOf = (location: string | null) => Object.fromEntries(new URL(location ?? "").searchParams);

describe("the authorize page", () => {
  it("lets a person choose an account, shows client and scopes, and gives the client the account", async () => {
    const signInPage = await browser.visit(monitor.authorizeUrl({ scope: "identity write-protected" }));
    expect(signInPage.status).toBe(200);
    for (const text of ["owner@example.com", "newcomer@example.com", "Monitor &amp; &lt;Scale>"]) {
      expect(signInPage.html).toContain(text);
    }
    await browser.press("user", "colleague@example.com");
    const { html } = await browser.follow();
    for (const text of ["Monitor &amp; &lt;Scale>", "identity", "account information", "config variables"]) {
      expect(html).toContain(text);
    }
    expect(html).not.toContain("<script");
    const { status, location } = await browser.press("decision", "allow");
    expect([status, location]).toEqual([303, expect.stringMatching(`^${CALLBACK}\\?code=`)]);
    const { code = "", ...rest } = answerOf(location);
    expect(rest).toEqual({ state: "s-1" });
    const { body } = await monitor.exchange(code);
    const account = await world.call(body.access_token, "/account");
    expect(account).toMatchObject({
      body: { email: "colleague@example.com", last_login: expect.any(String) as string },
    });
  });

  it("creates an account for an unknown e-mail", async () => {
    await signIn("Somebody.New@example.com");
    const { location } = await browser.press("decision", "allow");
    const { body } = await monitor.exchange(answerOf(location)["code"] ?? "");
    expect(await world.call(body.access_token, "/account")).toMatchObject({
      body: { email: "somebody.new@example.com", name: "somebody.new" },
    });
  });

  it("reports a denial to the client as access_denied with its state", async () => {
    await signIn();
    const { location } = await browser.press("decision", "deny");
    expect(location).toMatch(new RegExp(`^${CALLBACK}`));
    expect(answerOf(location)).toMatchObject({ error: "access_denied", state: "s-1" });
    expect(answerOf(location)).not.toHaveProperty("code");
  });

  it("keeps the person signed in, and allows another account", async () => {
    await signIn("owner@example.com");
    const again = await browser.visit(monitor.authorizeUrl());
    expect(again.html).toContain("You are signed in as <strong>owner@example.com");
    const signOut = browser.form();
    expect(signOut.text).not.toContain("sign-out");
    const [, action = ""] = /action="([^"]*sign-out[^"]*)"/.exec(again.html) ?? [];
    const body = new URLSearchParams(signOut.hidden);
    await browser.visit(action.replaceAll("&amp;", "&"), { method: "POST", body });
    expect((await browser.follow()).html).toContain("Or by e-mail");
  });
});

describe("the state parameter", () => {
  it.each(["a b+c/d=e&f", "é ✓ 100%", '"><script>', "x".repeat(2000)])(
    "is returned unchanged: %s",
    async (state) => {
      await signIn("owner@example.com", { state });
      expect(answerOf((await browser.press("decision", "allow")).location)["state"]).toBe(state);
      await browser.visit(monitor.authorizeUrl({ state }));
      expect(answerOf((await browser.press("decision", "deny")).location)["state"]).toBe(state);
    },
  );

  it("is omitted when none was sent, and appended to a query in the redirect address", async () => {
    const redirectUri = "https://monitor.example.com/callback?tenant=7";
    const { id } = aClient(world.sandbox, { redirectUri });
    const url = `${world.sandbox.url}/oauth/authorize?client_id=${id}&response_type=code`;
    const location = world.control.authorize({ url });
    expect(location).toMatch(/^https:\/\/monitor\.example\.com\/callback\?tenant=7&code=[\w-]+$/);
  });
});

describe("an authorize request without a valid client or redirect address", () => {
  it.each<[string, Record<string, string>]>([
    ["an unknown client", { client_id: "nobody" }],
    ["no client", { client_id: "" }],
    ["another address", { redirect_uri: "https://evil.example.com/callback" }],
    ["a longer address", { redirect_uri: `${CALLBACK}/more` }],
    ["an address with other letters", { redirect_uri: CALLBACK.toUpperCase() }],
  ])("shows an error page: %s", async (_what, members) => {
    const { status, html, location, headers } = await browser.visit(monitor.authorizeUrl(members));
    expect([status, location]).toEqual([400, null]);
    expect(headers.get("content-type")).toMatch(/^text\/html/);
    expect(html).toContain("This did not work");
  });
});

it.each<[string, Record<string, string>, string]>([
  ["invalid_request", { response_type: "" }, ""],
  ["unsupported_response_type", { response_type: "token" }, ""],
  ["invalid_scope", { scope: "identity everything" }, ""],
  ["invalid_scope", { scope: "read,writing" }, ""],
  ["invalid_request", {}, "&scope=read&scope=global"],
])("other faults are reported to the client as %s: %j%s", async (error, members, more) => {
  const { status, location } = await browser.visit(monitor.authorizeUrl(members) + more);
  expect([status, location]).toEqual([303, expect.stringMatching(`^${CALLBACK}\\?error=`)]);
  expect(answerOf(location)).toMatchObject({
    error,
    error_description: expect.any(String) as string,
    state: "s-1",
  });
});

it.each([
  ["no scope", {}, ["global"]],
  ["an empty scope", { scope: "" }, ["global"]],
  ["spaces between scopes", { scope: "identity read" }, ["identity", "read"]],
  ["commas between scopes", { scope: "read, identity,read" }, ["read", "identity"]],
])("a request with %s: %j gets %j", async (_, members: Record<string, string>, scope) => {
  const code = answerOf(world.control.authorize({ url: monitor.authorizeUrl(members) }))["code"] ?? "";
  const { body } = await monitor.exchange(code);
  const { token } = world.control.userToken();
  const { body: all } = await world.call<{ scope: string[]; access_token: { token: string } }[]>(
    token,
    "/oauth/authorizations",
  );
  expect(all.find((one) => one.access_token.token === body.access_token)).toMatchObject({ scope });
});

describe("the forms of the authorize page", () => {
  const post = (page: ReturnType<typeof aBrowser>, path: string, members: Record<string, string>) =>
    page.visit(monitor.authorizeUrl().replace("/oauth/authorize", path), {
      method: "POST",
      body: new URLSearchParams(members),
    });

  it("are refused without the form token, with another browser's, and without the cookie", async () => {
    await signIn();
    const other = aBrowser(world.sandbox.url);
    await other.visit(monitor.authorizeUrl());
    const { form_token = "" } = browser.form().hidden;
    const allow = (token: Record<string, string>) => ({ decision: "allow", ...token });
    for (const [page, members] of [
      [browser, allow({})],
      [browser, allow({ form_token: other.form().hidden["form_token"] ?? "" })],
      [other, allow({ form_token })],
      [aBrowser(world.sandbox.url), allow({ form_token })],
    ] as const) {
      expect(await post(page, "/oauth/authorize", members)).toMatchObject({ status: 403, location: null });
    }
    for (const step of ["sign-in", "sign-out"]) {
      const refused = await post(browser, `/oauth/authorize/${step}`, { user: "owner@example.com" });
      expect(refused).toMatchObject({ status: 403, location: null });
    }
    expect(await post(browser, "/oauth/authorize", allow({ form_token }))).toMatchObject({ status: 303 });
  });

  it("accept no decision before the person has signed in", async () => {
    await browser.visit(monitor.authorizeUrl());
    const { form_token = "" } = browser.form().hidden;
    const { location } = await post(browser, "/oauth/authorize", { decision: "allow", form_token });
    expect(location).toMatch(/^\/oauth\/authorize\?/);
  });

  it("get a new session with every sign-in, which scripts cannot read", async () => {
    await browser.visit(monitor.authorizeUrl());
    const before = browser.cookies.get("platform_session");
    const { headers } = await browser.press("user", "owner@example.com");
    expect(browser.cookies.get("platform_session")).not.toBe(before);
    expect(headers.getSetCookie()[0]).toMatch(/; Path=\/oauth; HttpOnly; SameSite=Lax$/);
  });
});

it("the authorize pages allow no script and no framing, and their styles are served", async () => {
  for (const url of [monitor.authorizeUrl(), monitor.authorizeUrl({ client_id: "nobody" })]) {
    const { html, headers } = await browser.visit(url);
    const policy = headers.get("content-security-policy") ?? "";
    for (const rule of [
      "default-src 'none'",
      "style-src 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ]) {
      expect(policy).toContain(rule);
    }
    expect([headers.get("cache-control"), headers.get("referrer-policy")]).toEqual([
      "no-store",
      "no-referrer",
    ]);
    const styles = [...html.matchAll(/rel="stylesheet" href="([^"]+)"/g)].map(([, href = ""]) => href);
    expect(styles).toHaveLength(2);
    for (const style of styles) {
      const { status, headers } = await browser.visit(style);
      expect([status, headers.get("content-type")]).toEqual([200, "text/css; charset=utf-8"]);
    }
  }
});

it("called without a browser, the authorize endpoint answers with the text of the page", () => {
  const authorize = (url: string) => () => world.control.authorize({ url });
  expect(authorize(monitor.authorizeUrl({ client_id: "nobody" }))).toThrow("no client with this client_id");
  expect(authorize(`${world.sandbox.url}/account`)).toThrow("not one of /oauth/authorize");
  const denied = world.control.authorize({ url: monitor.authorizeUrl(), allow: false });
  expect(answerOf(denied)).toMatchObject({ error: "access_denied", state: "s-1" });
});
