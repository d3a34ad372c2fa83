import { once } from "node:events";
import http from "node:http";
import type { Database } from "../../src/database/database.ts";
import type { CustomerPage } from "../../src/people/contract.ts";
import { readSignedForm } from "../../src/people/sign-on.ts";
import { Secret } from "../../src/secret.ts";
import { eventually, opened } from "../support/world.ts";
import { aWorldOfCustomers, type Form, SALT, signed, without } from "./customers.ts";

let uuid: string;
const customers = opened(() => aWorldOfCustomers({ environment: { LOG_LEVEL: "trace" } }));
beforeAll(async () => {
  uuid = await customers.life.settled();
});

const send = (form: Form | string) => customers.signOn(customers.browser(), form);
const fresh = (user?: string) => customers.signedForm(uuid, user);
/** Form with an unused time: a form of the same second would be refused as used, whatever else is wrong with it. */
const unused = () => customers.signedAt(uuid, 0);

describe("POST /sso/login", () => {
  it("redirects to the resource's page, with a cookie that scripts and other pages cannot read", async () => {
    const browser = customers.browser();
    const answer = await customers.signOn(browser, fresh());
    expect(answer).toMatchObject({ status: 303, location: `/customer/${uuid}`, text: "" });
    const [name, { attributes }] = [...browser.cookies][0]!;
    expect(name).toBe(`kit_customer_${uuid}`);
    expect(attributes).toContain(`Path=/customer/${uuid}; HttpOnly; SameSite=Lax`);
    expect((await browser.get(answer.location!)).status).toBe(200);
  });

  it("asks a client that announces its body for it", async () => {
    const body = new URLSearchParams(unused()).toString();
    const headers = {
      ...{ "content-type": "application/x-www-form-urlencoded", "content-length": body.length },
      ...{ expect: "100-continue", connection: "close" },
    };
    const request = http.request(`${customers.url()}/sso/login`, { method: "POST", headers });
    request.flushHeaders();
    await once(request, "continue");
    request.end(body);
    const [answer] = (await once(request, "response")) as [http.IncomingMessage];
    expect(answer.statusCode).toBe(303);
    answer.resume();
  });

  it("accepts the user-scoped token alone, and then knows the customer", async () => {
    const browser = customers.browser();
    const { location } = await customers.signOn(browser, without(fresh("ann@example.com"), "resource_token"));
    expect((await browser.get(location!)).text).toContain("<strong><bdi>ann@example.com</bdi></strong>");
  });

  it("accepts a form that is up to five minutes old or a minute ahead", async () => {
    for (const seconds of [-270, 50])
      expect((await send(customers.signedAt(uuid, seconds))).status).toBe(303);
  });

  it("accepts the example of the platform's documentation", () => {
    const form = new URLSearchParams({
      resource_id: "01234567-89ab-cdef-0123-456789abcdef",
      timestamp: "1267597772",
      resource_token: "7659cc00fc08ff8b7bb76cd8c9762bcf528b4173",
      user_scoped_resource_token: "c65f5adc40b9b20404090f99908f11f57be27fb87fea5c53936a2c681f9662ef",
      user_id: "89abcdef-0123-4567-89ab-cdef01234567",
      email: "user@example.com",
    });
    expect(readSignedForm(form, new Secret(SALT), true)).toMatchObject({ timestamp: 1267597772 });
  });
});

it("a database that fails during a sign-on gets an answer that says so, and the form opens nothing twice", async () => {
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    query: (statement, ...values) =>
      statement.name === "open_customer_session"
        ? Promise.reject(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }))
        : database.query(statement, ...values),
  });
  await customers.world.restart({ parts: { wrapDatabase } });
  const { status, text, headers } = await send(unused());
  expect([status, headers.get("retry-after")]).toEqual([503, "5"]);
  expect(text).toContain("Not available for the moment");
  expect(customers.world.logged()).toContain("ECONNRESET");
  await customers.world.restart();
});

it("a sign-on that the database's wrong clock refuses blames the service, and the log says by how much the clocks differ", async () => {
  // As the database's clock, ten minutes ahead, would see it.
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    query: async (statement, ...values) => {
      const answer = (await database.query(statement, ...values)) as { nowMs?: number }[];
      return answer.map((row) => (row.nowMs ? { ...row, nowMs: row.nowMs + 600_000 } : row)) as never;
    },
  });
  await customers.world.restart({ parts: { wrapDatabase } });
  const { status, text } = await send(customers.signedAt(uuid, -600));
  expect(status).toBe(403);
  expect(text).toContain("That is a fault of the service, not yours.");
  const [line] = customers.world.lines('"level":"warn"', "went wrong: clocks_differ").slice(-1);
  expect(line).toMatch(/By the database's clock, .* clock is (600|601|599) s ahead of /);
  // A wrong clock excuses no other fault.
  const wrong = signed(customers.signedAt(uuid, -600), "another-salt-than-ours-for-these-tests");
  expect((await send(wrong)).text).toContain("This way in is not valid");
  await customers.world.restart();
});

const SOMEBODY_ELSE = "01234567-89ab-cdef-0123-456789abcdef";
const refusals: [string, () => Form | string][] = [
  ["signed with another salt", () => signed(unused(), "another-salt-than-ours-for-these-tests")],
  ["of more than five minutes ago", () => customers.signedAt(uuid, -310)],
  ["of more than a minute ahead", () => customers.signedAt(uuid, 70)],
  ["of another time than was signed", () => ({ ...unused(), timestamp: String(Math.floor(Date.now() / 1_000) + 5) })],
  ["for another resource than was signed", () => ({ ...unused(), resource_id: SOMEBODY_ELSE })],
  ["for a resource that never was", () => signed({ ...unused(), resource_id: SOMEBODY_ELSE })],
  ["for another user than was signed", () => ({ ...unused(), email: "eve@example.com" })],
  ["whose user swallows the e-mail's beginning", () => {
    const form = signed({ ...unused(), user_id: "a", email: "b:c@example.com" });
    return { ...form, user_id: "a:b", email: "c@example.com" };
  }],
  ["with the older token in the place of the user's", () => {
    const { resource_token, ...form } = unused();
    return { ...form, user_scoped_resource_token: resource_token! };
  }],
  ["with the user's token in the place of the older", () => {
    const { user_scoped_resource_token, ...form } = unused();
    return { ...form, resource_token: user_scoped_resource_token! };
  }],
  ["with one right token and one wrong", () => ({ ...unused(), resource_token: "0".repeat(40) })],
  ["without any token", () => without(unused(), "resource_token", "user_scoped_resource_token")],
  ["without a time", () => without(unused(), "timestamp")],
  ["with a time that is no number", () => signed({ ...unused(), timestamp: "1e9" })],
  ["of a user whose e-mail no database takes", () => signed({ ...unused(), email: "a\u0000b@example.com" })],
  ["of a user without an e-mail", () => without(unused(), "email")],
  ["that names its resource twice", () => `${new URLSearchParams(unused()).toString()}&resource_id=${uuid}`],
  ["that is JSON", () => JSON.stringify(unused())],
  ["that is far too long", () => ({ ...unused(), app: "a".repeat(40_000) })],
]; // prettier-ignore

describe("a sign-on is refused", () => {
  it.each(refusals)("when it is %s, without saying what was wrong", async (_, form) => {
    const sessions = (await customers.sessions()).length;
    const browser = customers.browser();
    const { status, text, headers } = await customers.signOn(browser, form());
    expect(status).toBe(403);
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(text).toContain("This way in is not valid, or not any more.");
    expect(text.replace(/\d/g, "")).toBe((await send("x=1")).text.replace(/\d/g, ""));
    expect(browser.cookies.size).toBe(0);
    expect(await customers.sessions()).toHaveLength(sessions);
  });

  it("when the form was used before, also in another process or at the same moment", async () => {
    const form = customers.signedAt(uuid, -20);
    const statuses = await Promise.all(Array.from({ length: 4 }, async () => (await send(form)).status));
    expect(statuses.sort()).toEqual([303, 403, 403, 403]);
    await customers.world.restart();
    expect((await send(form)).status).toBe(403);
  });

  it("only for a used form: two customers may sign on in the same second", async () => {
    const timestamp = String(Math.floor(Date.now() / 1_000) - 40);
    const forms = ["ann@example.com", "bob@example.com"].map((user) => signed({ ...fresh(user), timestamp }));
    expect([(await send(forms[0]!)).status, (await send(forms[1]!)).status]).toEqual([303, 303]);
  });

  it("with the reason in the operator's log, in one line: anybody can send many", async () => {
    await send(customers.signedAt(uuid, -400));
    await send(signed(fresh(), "another-salt-than-ours-for-these-tests"));
    const [stale, wrong] = customers.world.lines('"level":"warn"', "went wrong: sign_on_refused").slice(-2);
    expect(stale).toContain("signed more than 5 minutes ago");
    expect(wrong).toContain("does not fit SSO_SALT");
    expect(wrong!.length).toBeLessThan(400);
  });
});

// The page of a resource, for the customer who is signed on to it.

/** A customer signed on to a new resource. */
const aCustomer = async () => signedOn(await customers.life.settled());
async function signedOn(uuid: string) {
  const browser = customers.browser();
  await customers.signOn(browser, customers.signedForm(uuid));
  return { uuid, browser, page: () => browser.get(`/customer/${uuid}`) };
}

const halfDone = async () => ({ later: "Half of it is fired.", againInSeconds: 600 });

describe("GET /customer/:uuid", () => {
  it("shows plan, region, state and app, and who is signed on", async () => {
    const { uuid, page } = await aCustomer();
    const { status, text } = await page();
    expect(status).toBe(200);
    const { app } = customers.control.addon(uuid);
    for (const shown of ["basic: A teapot for one", "region us", "provisioned", `app ${app.name}`])
      expect(text).toContain(shown);
    expect(text).toContain("<strong><bdi>owner@example.com</bdi></strong>");
  });

  it("shows the progress message of the service", async () => {
    customers.life.vendor.next("finish", halfDone);
    const { page } = await signedOn((await customers.control.install({ plan: "dedicated" })).addon.id);
    await eventually(async () => expect((await page()).text).toContain("under way: Half of it is fired."));
    expect((await page()).text).not.toContain("the change is under way");
  });

  it("says that the plan is being changed until the service has finished", async () => {
    const { uuid, page } = await aCustomer();
    const { vendor } = customers.life;
    vendor.next("changePlan", async () => ({ later: "Kneading the clay." }));
    vendor.next("finish", halfDone);
    await customers.control.changePlan(uuid, "premium");
    await eventually(async () => expect((await page()).text).toContain("Half of it is fired."));
    const { text } = await page();
    expect(text).toMatch(/premium: .* \(the change is under way\)/);
    await customers.life.hurry(uuid);
    await eventually(async () => expect((await page()).text).toContain("under way: nothing"));
    expect((await page()).text).not.toContain("the change is under way");
  });

  it("opens only for the resource of its cookie", async () => {
    const [one, other] = [await aCustomer(), await aCustomer()];
    const { value } = [...one.browser.cookies.values()][0]!;
    for (const name of [...one.browser.cookies.keys(), ...other.browser.cookies.keys()]) {
      const stranger = customers.browser();
      stranger.cookies.set(name, { value, attributes: "Path=/" });
      expect((await stranger.get(`/customer/${other.uuid}`)).status).toBe(401);
    }
  });

  it("ends at once with its resource, as sign-on does, and nothing of the customer is kept", async () => {
    const { uuid, page } = await aCustomer();
    const form = customers.signedAt(uuid, -10);
    await customers.control.deprovision(uuid);
    expect((await send(form)).status).toBe(403);
    const { status, text } = await page();
    expect(status).toBe(401);
    expect(text).toContain("the add-on was removed");
    await customers.prune();
    const left = await customers.world.rows(`SELECT 1 FROM customer_sessions WHERE uuid = $1`, [uuid]);
    expect(left).toEqual([]);
  });

  it("expires, and expired sessions are deleted", async () => {
    const { uuid, page } = await aCustomer();
    await customers.world.forged.customerSessionsExpired(uuid);
    expect((await page()).status).toBe(401);
    const other = await aCustomer();
    await customers.prune();
    expect(await customers.used()).toHaveLength(1);
    expect((await other.page()).status).toBe(200);
  });

  it.each(["", "teapot", "01234567-89ab-cdef-0123-456789abcdef/", "01234567-89AB-CDEF-0123-456789ABCDEF"])(
    "is refused without a session: /customer/%s",
    async (path) => {
      const { status } = await customers.browser().get(`/customer/${path}`);
      expect(status).toBe(path === "" ? 404 : 401);
    },
  );
});

it("signing out ends the session on the server, with a page that says how to come back", async () => {
  const { uuid, browser, page } = await aCustomer();
  const before = new Map(browser.cookies);
  const foreign = await browser.post(`/customer/${uuid}/sign-out`, { origin: "https://evil.example" });
  expect([foreign.status, (await page()).status]).toEqual([403, 200]);
  const out = await browser.post(`/customer/${uuid}/sign-out`, { origin: customers.url() });
  expect(out).toMatchObject({ status: 303, location: `/customer/${uuid}` });
  expect((await browser.get(out.location!)).text).toContain("You have signed out");
  expect(browser.cookies.size).toBe(0);
  for (const [name, cookie] of before) browser.cookies.set(name, cookie);
  expect((await page()).status).toBe(401);
});

describe("customerPage of the service", () => {
  const restart = (customerPage: CustomerPage) => customers.world.restart({ parts: { customerPage } });
  afterAll(() => customers.world.restart());

  it.each<[string, CustomerPage, string]>([
    ["it fails", () => Promise.reject(new Error("no kettle's password")), "no kettle"],
    [
      "its backend is down",
      () => Promise.reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })),
      "customerPage() failed",
    ],
    [
      "its own database is down",
      () => Promise.reject(new Error("Connection terminated unexpectedly")),
      "Connection terminated unexpectedly",
    ],
    ["it hangs", () => new Promise(() => undefined), "customerPage() takes too long"],
  ])("is logged with its resource as a fault of the service when %s", async (_, customerPage, said) => {
    const { uuid, page } = await aCustomer();
    const failed = () => customers.world.lines('"A page failed"', `"uuid":"${uuid}"`);
    await restart(customerPage);
    const { status, text } = await page();
    expect([status, text]).toEqual([500, expect.stringContaining("This is a fault of the service")]);
    expect(text).not.toContain("password");
    expect(failed()).toEqual([expect.stringContaining(said)]);
  });
});

it("no secret of these tests is in the log, on a page or in the database", async () => {
  const { uuid, browser } = await aCustomer();
  const form = customers.signedAt(uuid, -100);
  const answers = [await customers.signOn(browser, form), await customers.signOn(browser, form)];
  answers.push(await customers.signOn(browser, { ...form, email: "eve@example.com" }));
  answers.push(await browser.get(`/customer/${uuid}`));
  const shown = answers.map(({ text, location }) => `${text}${location}`).join("\n");
  const rows = [...(await customers.used()), ...(await customers.sessions())].flatMap(Object.values);
  const stored = rows.map((value) =>
    value instanceof Buffer ? value.toString("latin1") + value.toString("hex") : String(value),
  );
  const cookies = [...browser.cookies.values()].map(({ value }) => value);
  const secrets = [form["resource_token"]!, form["user_scoped_resource_token"]!, ...cookies];
  const { SSO_SALT: salt } = customers.world.environment;
  for (const secret of [...secrets, salt!])
    for (const place of [customers.world.logged(), shown, stored.join("\n")])
      expect(place).not.toContain(secret);
});

describe("the settings of sign-on", () => {
  it("require the user-scoped token, unless they allow the older one", async () => {
    const older = () => without(customers.signedAt(uuid, -60), "user_scoped_resource_token");
    const refused = older();
    expect((await send(refused)).status).toBe(403);
    await customers.world.restart({ environment: { SSO_REQUIRE_USER: "off" } });
    const browser = customers.browser();
    const { status, location } = await customers.signOn(browser, { ...refused, email: "eve@example.com" });
    expect(status).toBe(303);
    expect((await browser.get(location!)).text).not.toContain("eve@example.com");
  });

  it.each(["on", "off"])(
    "let one form open one session, whichever of its tokens comes first: %s",
    async (required) => {
      await customers.world.restart({ environment: { SSO_REQUIRE_USER: required } });
      const parts = (form: Form) => [
        ...[form, without(form, "user_scoped_resource_token"), without(form, "resource_token")],
      ];
      for (const order of ["102", "210"]) {
        const form = parts(customers.signedAt(uuid, -90));
        const statuses = [];
        for (const each of order) statuses.push((await send(form[Number(each)]!)).status);
        expect([order, statuses.sort()]).toEqual([order, [303, 403, 403]]);
      }
      const both = parts(customers.signedAt(uuid, -90));
      const statuses = await Promise.all([...both, ...both].map(async (form) => (await send(form)).status));
      expect(statuses.filter((status) => status === 303)).toHaveLength(1);
    },
  );

  it("turn it off when there is no salt", async () => {
    await customers.world.restart({ environment: { SSO_SALT: "" } });
    const browser = customers.browser();
    for (const answer of [await customers.signOn(browser, fresh()), await browser.get(`/customer/${uuid}`)]) {
      expect(answer.status).toBe(404);
      expect(JSON.parse(answer.text)).toMatchObject({ id: "not_found" });
    }
  });
});
