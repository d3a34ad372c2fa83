import { runWeb } from "../../../src/process/run-web.ts";
import { SALT } from "../../people/customers.ts";
import { basic } from "../../support/partner-calls.ts";
import { teapotConfig, teapotParts } from "../../support/sellers.ts";
import { opened } from "../../support/world.ts";
import { aWorldOfOperators, FROM_OUR_PAGE, hiddenIn, linkTo, PASSWORD } from "./operator.ts";

const BOTH = "Owner@Example.com, colleague@example.com";

let uuid: string;
let isAway = false;
const REFUSED = Object.assign(new Error("connect ECONNREFUSED"), {
  code: "ECONNREFUSED",
  syscall: "connect",
});
const refused = () => Promise.reject(REFUSED);
afterEach(() => void (isAway = false));
const operators = opened(() =>
  aWorldOfOperators(BOTH, {
    sandbox: { ssoSalt: SALT },
    environment: { SSO_SALT: SALT },
    parts: {
      wrapDatabase: (db) => ({
        ...db,
        query: (...asked) => (isAway ? refused() : db.query(...asked)),
        prisma: () => (isAway ? refused() : db.prisma()),
        ping: () => (isAway ? refused() : db.ping()),
      }),
    },
  }),
);
beforeAll(async () => {
  uuid = await operators.world.settled();
});
beforeEach(async () => {
  await operators.people.forgetEverybody();
  await operators.world.forged.nothingIsLeftOf("operator_actions");
});

const ACCOUNT = { id: "0a1b2c3d-89ab-cdef-0123-456789abcdef", email: "owner@example.com", name: null };
/** What the platform says of whoever signs in next. */
const sayAccount = (said: object) =>
  operators.control.fault("GET /account", { status: 200, body: { ...ACCOUNT, ...said } }, 1);

const CHALLENGE = [401, `Basic realm="operator"`];
const password = { authorization: basic("operator", PASSWORD) };

describe("an operator with an account", () => {
  it("is not kept signed in by a page that renews itself", async () => {
    const browser = await operators.signedIn();
    const lastUse = async () => (await operators.world.rows(`SELECT seen_at FROM sessions`))[0]!["seen_at"];
    await operators.world.forged.sessionsAreUnusedFor(30 * 60);
    const before = await lastUse();
    expect((await browser.get("/operator", { "x-renewal": "1" })).status).toBe(200);
    expect(await lastUse()).toEqual(before);
    expect((await browser.get("/operator")).status).toBe(200);
    expect(await lastUse()).not.toEqual(before);
  });

  it("signs in at the platform, returns to the page they wanted, acts, and signs out", async () => {
    const browser = operators.browser();
    const path = `/operator/resources/${uuid}`;
    const asked = await browser.get(path);
    expect([asked.status, asked.headers.get("www-authenticate")]).toEqual([401, null]);
    const begun = await browser.get(linkTo("Sign in", asked.text));
    expect(new URL(begun.location!).searchParams.get("scope")).toBe("identity");
    const back = await browser.get(operators.people.atPlatform(begun));
    expect([back.status, back.location]).toEqual([303, path]);
    const page = await browser.get(back.location!);
    expect(page.status).toBe(200);
    expect(page.text).toMatch(/<form class="signed-in"[^>]*><span>owner@example\.com<\/span>/);

    const done = await operators.press(browser, `${path}/refresh`);
    expect(done.status).toBe(303);
    expect((await browser.get(done.location!)).text).toContain("owner@example.com");
    const account = await operators.idOf("owner@example.com");
    expect(await operators.audit()).toEqual([{ action: "refresh", operator: "owner@example.com", account }]);
    expect(operators.world.lines(`"account":"${account}"`, "An operator began an action")).toHaveLength(1);
    const { text: trail } = await browser.get("/operator/actions");
    expect(trail).toContain(`data-label="By"><div>owner@example.com<`);
    expect((await browser.get(path)).text).toContain("<bdi>owner@example.com</bdi>: refresh");

    const out = await browser.post("/oauth/logout?return_to=/operator", FROM_OUR_PAGE);
    expect([out.status, out.location]).toEqual([303, "/operator"]);
    expect(browser.cookies.has("kit_session")).toBe(false);
    expect((await browser.get("/operator")).status).toBe(401);
    expect(await operators.people.sessions()).toEqual([]);
  });

  it("is recognised by the account's id too, whatever its e-mail, and verified or not", async () => {
    await operators.list(ACCOUNT.id.toUpperCase());
    for (const email_verified of [true, false]) {
      const browser = operators.browser();
      sayAccount({ email: "newcomer@example.com", email_verified });
      await operators.signIn(browser);
      expect((await browser.get("/operator")).status).toBe(200);
    }
    await operators.list(BOTH);
  });
});

describe("an account that is not listed", () => {
  it("is refused with a page that offers another account", async () => {
    const browser = operators.browser();
    const back = await operators.signIn(browser, { user: "newcomer@example.com" });
    expect(back.location).toBe("/operator");
    for (const path of ["", "/resources", "/actions", "/secret", "/nothing", `/resources/${uuid}`]) {
      const { status, text, headers } = await browser.get(`/operator${path}`);
      expect([path, status]).toEqual([path, 403]);
      expect(text).toMatch(/Not for this account.*newcomer@example\.com/s);
      expect(text).not.toMatch(/<nav|<script|colleague@/);
      expect(headers.get("content-security-policy")).not.toContain("script-src");
    }
    const program = await browser.get("/operator", { accept: "application/json" });
    expect([program.status, JSON.parse(program.text)]).toMatchObject([403, { id: "forbidden" }]);
    const form = new URLSearchParams({ token: "any" });
    const refused = await browser.post("/operator/refresh-all", FROM_OUR_PAGE, form);
    expect([refused.status, refused.headers.get("connection")]).toEqual([403, "close"]);
    expect(await operators.audit()).toEqual([]);
    expect((await browser.post("/oauth/logout?return_to=/operator", FROM_OUR_PAGE)).status).toBe(303);
    await operators.signIn(browser);
    expect((await browser.get("/operator")).status).toBe(200);
  });

  it("that was removed from the list is refused at once, with its open session and forms", async () => {
    const owner = await operators.signedIn();
    const colleague = await operators.signedIn("colleague@example.com");
    const form = new URLSearchParams(hiddenIn((await colleague.get("/operator/refresh-all")).text));
    await operators.list("owner@example.com");
    expect((await owner.get("/operator")).status).toBe(200);
    expect((await colleague.get("/operator")).status).toBe(403);
    expect((await colleague.post("/operator/refresh-all", FROM_OUR_PAGE, form)).status).toBe(403);
    expect(await operators.audit()).toEqual([]);
    await operators.list(BOTH);
    expect((await colleague.get("/operator")).status).toBe(200);
  });

  it("is not mistaken for a listed one: letters that only look alike, another domain, the id of one", async () => {
    await operators.list(`kay@example.com,${uuid}`);
    for (const [email, status] of [
      ["\u212Aay@example.com", 403],
      ["kay@example.com.evil.example", 403],
      [`x,kay@example.com`, 403],
      [uuid, 403],
      ["KAY@EXAMPLE.COM", 200],
    ]) {
      const browser = operators.browser();
      sayAccount({ email, email_verified: true });
      await operators.signIn(browser);
      expect([email, (await browser.get("/operator")).status]).toEqual([email, status]);
    }
    await operators.list(BOTH);
  });
});

describe("a session of an operator", () => {
  it("ends after its time, and when the platform refuses the person's tokens", async () => {
    const browser = await operators.signedIn();
    await operators.world.forged.pairsAreRefusedElsewhere();
    expect((await browser.get("/operator")).status).toBe(401);
    await operators.signIn(browser);
    await operators.world.forged.sessionsExpired();
    expect((await browser.get("/operator")).status).toBe(401);
  });

  it("is used by each page that is opened, and so goes on", async () => {
    const browser = await operators.signedIn();
    for (const minutes of [59, 59]) {
      await operators.world.forged.sessionsAreUnusedFor(minutes * 60);
      expect((await browser.get("/operator")).status).toBe(200);
    }
  });

  it("is required: an invalid one, a customer's, or another kind of id is refused", async () => {
    const browser = await operators.signedIn();
    const customer = operators.browser();
    await customer.post("/sso/login", {}, new URLSearchParams(operators.control.signOnForm(uuid).form));
    const [name, { value }] = [...customer.cookies][0]!;
    const ids = ["made-up", "A".repeat(43), value, browser.cookies.get("kit_sign_in")!.value];
    for (const cookie of [`${name}=${value}`, ...ids.map((id) => `kit_session=${id}`)]) {
      const headers = { cookie, accept: "text/html" };
      const { status } = await fetch(`${operators.url()}/operator`, { headers });
      expect([cookie, status]).toEqual([cookie, 401]);
    }
  });
});

describe("the e-mail of an account", () => {
  it.each([
    [{ email_verified: true }, 200],
    [{ email_verified: false, verified: true }, 403],
    [{}, 403],
    [{ verified: "true" }, 403],
  ])(
    "makes an operator only while the platform says that it is verified: %j is answered %i",
    async (said, status) => {
      const browser = operators.browser();
      sayAccount(said);
      await operators.signIn(browser);
      const page = await browser.get("/operator");
      expect([page.status, page.text]).toEqual([status, expect.not.stringContaining("with this e-mail")]);
    },
  );
});

it("a form of an operator is valid only for the operator who opened it", async () => {
  const owner = await operators.signedIn();
  const colleague = await operators.signedIn("colleague@example.com");
  const path = "/operator/refresh-all";
  const form = new URLSearchParams(hiddenIn((await owner.get(path)).text));
  expect((await colleague.post(path, FROM_OUR_PAGE, form)).status).toBe(403);
  expect((await owner.post(path, { ...FROM_OUR_PAGE, ...password }, form)).status).toBe(403);
  // A browser does not send the cookie from another site, but does from a sibling subdomain.
  expect((await owner.post(path, { "sec-fetch-site": "cross-site" }, form)).status).toBe(401);
  expect((await owner.post(path, { "sec-fetch-site": "same-site" }, form)).status).toBe(403);
  const { status, text } = await operators.browser().post(path, FROM_OUR_PAGE, form);
  expect([status, text]).toEqual([401, expect.stringContaining("Nothing was done")]);
  expect(linkTo("Sign in", text)).toBe("/oauth/login?return_to=%2Foperator");
  expect(await operators.audit()).toEqual([]);
  expect((await owner.post(path, FROM_OUR_PAGE, form)).status).toBe(303);
  expect(await operators.audit()).toMatchObject([{ action: "refresh-all", operator: "owner@example.com" }]);
});

describe("the operator's password beside accounts", () => {
  it("is asked for on request, and is named in the audit trail", async () => {
    const browser = operators.browser();
    const { text } = await browser.get("/operator/resources");
    const asked = await browser.get(linkTo("Use the operator's password", text));
    expect([asked.status, asked.headers.get("www-authenticate")]).toEqual(CHALLENGE);
    const withPassword = operators.browser(password);
    expect((await withPassword.get("/operator?with=password")).status).toBe(200);
    const done = await operators.press(withPassword, "/operator/refresh-all");
    expect(done.status).toBe(303);
    expect(await operators.audit()).toEqual([{ action: "refresh-all", operator: "operator", account: null }]);
    expect((await withPassword.get("/operator")).text).not.toContain("Sign out");
  });

  it("decides alone when it is sent, right or wrong", async () => {
    const browser = await operators.signedIn("newcomer@example.com");
    expect((await browser.get("/operator", password)).status).toBe(200);
    const owner = await operators.signedIn();
    const wrong = { authorization: basic("operator", "wrong") };
    for (const each of [browser, owner]) expect((await each.get("/operator", wrong)).status).toBe(401);
  });

  it("is requested from programs, and from browsers only on request", async () => {
    const ask = (headers: Record<string, string>) => fetch(`${operators.url()}/operator`, { headers });
    const program = await ask({ accept: "*/*" });
    expect([program.status, program.headers.get("www-authenticate")]).toEqual(CHALLENGE);
    const stylesheet = await ask({ accept: "text/css,*/*;q=0.1", "sec-fetch-site": "same-origin" });
    expect([stylesheet.status, stylesheet.headers.get("www-authenticate")]).toEqual([401, null]);
  });

  it("is offered while the database is away, also to signed-in people", async () => {
    const [owner, nobody] = [operators.browser(), operators.browser()];
    await operators.signIn(owner);
    isAway = true;
    const { status, headers, text } = await owner.get("/operator/resources");
    expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
    expect(text).not.toContain("<nav");
    const asked = await owner.get(linkTo("Use the operator's password", text));
    expect([asked.status, asked.headers.get("www-authenticate")]).toEqual(CHALLENGE);
    expect((await owner.get("/operator/check-up", password)).status).toBe(200);
    const { text: ways } = await nobody.get("/operator");
    expect(linkTo("Use the operator's password", ways)).toBe("/operator?with=password");
    isAway = false;
    expect((await owner.get("/operator/resources")).status).toBe(200);
  });

  it("is optional: without it there are the accounts, and no /metrics", async () => {
    await operators.list(BOTH, { OPERATOR_PASSWORD: "" });
    const browser = operators.browser();
    const { status, text } = await browser.get("/operator");
    expect([status, text]).toEqual([401, expect.not.stringContaining("password")]);
    for (const path of ["/operator", "/operator?with=password"])
      expect([path, (await browser.get(path, password)).status]).toEqual([path, 401]);
    const program = await fetch(`${operators.url()}/operator`, { headers: { accept: "*/*" } });
    expect([program.status, await program.json()]).toMatchObject([401, { id: "unauthorized" }]);
    await operators.signIn(browser);
    expect((await browser.get("/operator")).status).toBe(200);
    expect((await operators.press(browser, "/operator/refresh-all")).status).toBe(303);
    expect((await browser.get("/metrics")).status).toBe(404);
    isAway = true;
    const away = await browser.get("/operator");
    isAway = false;
    expect([away.status, away.text]).toEqual([503, expect.not.stringContaining("password")]);
    await operators.list(BOTH);
  });
});

describe("without the database", () => {
  it("every page says so, and the way to the check-up", async () => {
    isAway = true;
    const browser = operators.browser(password);
    for (const path of ["", "/resources", `/resources/${uuid}`, "/actions"]) {
      const { status, headers, text } = await browser.get(`/operator${path}`);
      expect([path, status, headers.get("retry-after")]).toEqual([path, 503, "5"]);
      expect(text).toContain("The service cannot work with its database: ");
      expect(text).toContain(`<a href="/operator/check-up"`);
      expect(text).not.toContain("fault of the service");
    }
    const { status, text } = await browser.get("/operator/check-up");
    expect([status, text]).toEqual([200, expect.stringContaining("connect ECONNREFUSED")]);
  });

  it("the check-up opens also when the service was started so, and strangers are refused at once", async () => {
    const { environment } = operators.world;
    const config = teapotConfig({ ...environment, DATABASE_URL: "postgres://u:p@127.0.0.1:1/none" });
    const service = await runWeb(config, { ...teapotParts, logTo: { write: () => undefined } });
    try {
      const get = async (path: string, headers: Record<string, string> = {}) => {
        const answer = await fetch(`${service.url}/operator${path}`, { headers });
        return [answer.status, await answer.text()];
      };
      const since = performance.now();
      expect((await get(""))[0]).toBe(401);
      expect(await get("/check-up", password)).toEqual([
        200,
        expect.stringContaining("connect ECONNREFUSED"),
      ]);
      // What waits for the database, waits for 8 s.
      expect(performance.now() - since).toBeLessThan(7_000);
    } finally {
      await service.stop();
    }
  });
});
