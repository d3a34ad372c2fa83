import type { CustomerPage } from "../../src/people/contract.ts";
import { eventually, opened } from "../support/world.ts";
import { aWorldOfCustomers } from "./customers.ts";

const customers = opened(() => aWorldOfCustomers({ environment: { LOG_LEVEL: "trace" } }));

/** A customer signed on to a new resource. */
const aCustomer = async () => signedOn(await customers.life.settled());
async function signedOn(uuid: string) {
  const browser = customers.browser();
  await customers.signOn(browser, customers.signedForm(uuid));
  return { uuid, browser, page: () => browser.get(`/customer/${uuid}`) };
}

describe("GET /customer/:uuid", () => {
  it("shows plan, region, state and app, and who is signed on", async () => {
    const { uuid, page } = await aCustomer();
    const { status, text } = await page();
    expect(status).toBe(200);
    const { app } = customers.control.addon(uuid);
    for (const shown of ["basic: A teapot for one", "region us", "provisioned", `app ${app.name}`])
      expect(text).toContain(shown);
    expect(text).toContain("<strong>owner@example.com</strong>");
  });

  it("shows the progress message of the service", async () => {
    customers.life.vendor.next("finish", async () => ({
      later: "Half of it is fired.",
      againInSeconds: 600,
    }));
    const { page } = await signedOn((await customers.control.install({ plan: "dedicated" })).addon.id);
    await eventually(async () => expect((await page()).text).toContain("under way: Half of it is fired."));
    expect((await page()).text).not.toContain("the change is under way");
  });

  it("says that the plan is being changed until the service has finished", async () => {
    const { uuid, page } = await aCustomer();
    const { vendor } = customers.life;
    vendor.next("changePlan", async () => ({ later: "Kneading the clay." }));
    vendor.next("finish", async () => ({ later: "Half of it is fired.", againInSeconds: 600 }));
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

  it("ends at once with its resource, and nothing of the customer is kept", async () => {
    const { uuid, page } = await aCustomer();
    await customers.control.deprovision(uuid);
    const { status, text } = await page();
    expect(status).toBe(401);
    expect(text).toContain("the add-on was removed");
    await customers.prune();
    const left = await customers.world.rows(`SELECT 1 FROM customer_sessions WHERE uuid = $1`, [uuid]);
    expect(left).toEqual([]);
  });

  it("expires, and expired sessions are deleted", async () => {
    const { uuid, page } = await aCustomer();
    await customers.world.rows(`UPDATE customer_sessions SET expires_at = now() WHERE uuid = $1`, [uuid]);
    await customers.world.rows(`UPDATE used_sign_ons SET expires_at = now()`);
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

describe("signing out", () => {
  it("ends the session on the server, with a page that says how to come back", async () => {
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
});

describe("customerPage of the service", () => {
  const restart = (customerPage: CustomerPage) => customers.world.restart({ parts: { customerPage } });

  it("is rendered as returned, with escaped text", async () => {
    const { page } = await aCustomer();
    await restart(({ plan }) => ({ title: "Kettle", content: `<b>${plan}</b>` }));
    expect((await page()).text).toContain("&lt;b>basic&lt;/b>");
  });

  it.each<[string, CustomerPage, string]>([
    ["it fails", () => Promise.reject(new Error("no kettle's password")), "no kettle"],
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
