import { h } from "preact";
import { Refusal } from "../../src/errors.ts";
import type { Extensions } from "../../src/extend/contract.ts";
import { beginCustomerAction } from "../../src/extend/store.ts";
import { tokenFor } from "../../src/pages/forms.ts";
import type { CustomerAction, CustomerPage } from "../../src/people/contract.ts";
import { aGate } from "../support/a-vendor.ts";
import { eventually, opened } from "../support/world.ts";
import { hiddenIn, type Shown } from "./browser.ts";
import { aWorldOfCustomers } from "./customers.ts";

// What a vendor lets customers do on their page.

/** What ran, and what the next run does. */
const ran: string[] = [];
const next: CustomerAction["run"][] = [];
const run: CustomerAction["run"] = async (resource, form, person, signal) => {
  ran.push(`${resource.uuid} to ${form.get("to")} by ${person.role}`);
  return (await next.shift()?.(resource, form, person, signal)) ?? `Moved to ${form.get("to")}.`;
};
const actions: Extensions["actions"] = {
  move: { run },
  slow: { run, mostSeconds: 0.2 },
  // Its functions are those of its class.
  report: new (class implements CustomerAction {
    readonly all = true;
    run = run;
    may() {
      return this.all;
    }
  })(),
};
/** The actions that the page has forms for. */
let offered = ["move", "slow"];
const customerPage: CustomerPage = (resource, { person, form }) => {
  const Forms = () => h("div", null, ...offered.map((name) => form(name, h("button", null, name))));
  return { title: resource.uuid, content: h("main", null, `role ${person.role}`, h(Forms, null)) };
};

const customers = opened(() => aWorldOfCustomers({ parts: { customerPage } }));
/** Installed at once, which is much faster than one after the other. */
let uuids: string[];
beforeAll(async () => {
  Object.assign(customers.life.vendor, { actions });
  uuids = await customers.world.installed(40);
});
beforeEach(() => {
  ran.length = 0;
  next.length = 0;
  offered = ["move", "slow"];
  customers.control.clearFaults();
});

async function aCustomer({ user = "owner@example.com", uuid = "", team = false } = {}) {
  if (uuid === "" && team) {
    const app = customers.control.createApp({ team: "potters" }).name;
    uuid = (await customers.control.install({ app, plan: "basic" })).addon.id;
    await customers.world.quiet([uuid]);
  }
  uuid ||= uuids.pop()!;
  const browser = customers.browser();
  await customers.signOn(browser, customers.signedForm(uuid, user));
  return { uuid, browser, page: (query = "") => browser.get(`/customer/${uuid}${query}`) };
}
type Customer = Awaited<ReturnType<typeof aCustomer>>;

/** The tokens of a page's forms, in its order. */
const tokensOn = ({ text }: Shown) => hiddenIn(text).map(([, token]) => token);
const tokenOf = async (customer: Customer) => tokensOn(await customer.page())[0]!;
const sameSite: Record<string, string> = { "sec-fetch-site": "same-origin" };
const send = (
  { uuid, browser }: Customer,
  token: string,
  { name = "move", to = "eu", headers = sameSite } = {},
) =>
  browser.post(`/customer/${uuid}/actions/${name}`, headers, new URLSearchParams({ "kit-token": token, to }));
/** Presses a button, and follows to the page. */
async function pressed(customer: Customer, sent: { to?: string } = {}) {
  const { status, location } = await send(customer, await tokenOf(customer), sent);
  expect(status).toBe(303);
  return customer.browser.get(location!);
}
async function story(uuid: string) {
  const events = await customers.world.rows<{ detail: { form: string } }>(
    `SELECT detail FROM events WHERE uuid = $1 AND type = 'customer_action' ORDER BY id`,
    [uuid],
  );
  return events.map(({ detail }) => detail);
}

describe("an action of the customer's page", () => {
  it("is done, its sentence is shown after a redirect, and stands in the story and the log", async () => {
    const customer = await aCustomer();
    const { text } = await pressed(customer, { to: "Åbo & <b>" });
    expect(ran).toEqual([`${customer.uuid} to Åbo & <b> by owner`]);
    expect(text).toContain(`<div class="told good" role="status">Moved to Åbo &amp; &lt;b>.</div>`);
    const user = customers.signedForm(customer.uuid)["user_id"];
    expect(await story(customer.uuid)).toMatchObject([
      { action: "move", state: "done", said: "Moved to Åbo & <b>.", user },
    ]);
    expect(customers.world.logged()).toMatch(
      new RegExp(`"uuid":"${customer.uuid}","customerAction":"move","requestId":"[^"]+","user":"${user}"`),
    );
  });

  it("that is sent twice is done once, and both show what came of it", async () => {
    const customer = await aCustomer();
    const token = await tokenOf(customer);
    const gate = aGate();
    next.push(() => gate.opened.then(() => "Moved, slowly."));
    const first = send(customer, token);
    await eventually(() => ran.length === 1);
    const second = await send(customer, token);
    const waiting = await customer.browser.get(second.location!);
    expect(waiting.headers.get("refresh")).toBe("2");
    expect(waiting.text).toContain("being done");
    gate.open();
    expect((await first).location).toBe(second.location);
    expect((await customer.browser.get(second.location!)).text).toContain("Moved, slowly.");
    expect(ran).toHaveLength(1);
  });

  it("ends with its resource, whose clean-up waits until it has", async () => {
    const customer = await aCustomer();
    const order: string[] = [];
    next.push((_resource, _form, _person, signal) => {
      order.push("begun");
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error(`cut ${order.push("cut")}`)));
      });
    });
    customers.life.vendor.next("deprovision", async () => void order.push("clean-up"));
    Object.assign(actions!["move"]!, { mostSeconds: 20 });
    const sent = send(customer, await tokenOf(customer));
    await eventually(() => order.length === 1);
    delete actions!["move"]!.mostSeconds;
    await customers.control.deprovision(customer.uuid);
    await sent;
    await eventually(() => expect(order).toEqual(["begun", "cut", "clean-up"]));
  });

  it.each<[string, CustomerAction["run"], string, string | null]>([
    ["refuses", () => Promise.reject(new Refusal("Not on a Sunday.")), "Not on a Sunday.", null],
    ["throws", () => Promise.reject(new Error("kettle broken")), "This could not be done", "kettle broken"],
    ["hangs", () => new Promise(() => undefined), "This could not be done, or not in time", "0.2 s"],
    ["says what no database holds", async () => "a\0b", "ab", null],
    ["is cut within a character", async () => `${"x".repeat(499)}🦊`, `${"x".repeat(499)}\ufffd`, null],
  ])("that %s is told on the page, without what is inside", async (_what, work, words, logged) => {
    const customer = await aCustomer();
    const [, token] = tokensOn(await customer.page());
    next.push(work);
    const { location } = await send(customer, token!, { name: "slow" });
    const { text } = await customer.browser.get(location!);
    expect(text).toContain(words);
    if (logged === null) return;
    expect(text).not.toContain(logged);
    expect(customers.world.lines('"error"', logged)).not.toEqual([]);
  });

  it("that quotes a config var is shown and logged without it", async () => {
    const customer = await aCustomer();
    const { TEAPOT_TOKEN: secret } = customers.life.varsAt(customer.uuid);
    next.push(() => Promise.reject(new Refusal(`${secret} is wrong.`)));
    next.push(() => Promise.reject(new Error(`cannot open ${secret}`)));
    next.push(async () => `Opened ${secret}.`);
    const told = ["is wrong.", "This could not be done", "Opened [secret]."];
    for (const words of told) expect((await pressed(customer)).text).toContain(words);
    expect(customers.world.logged()).toContain("cannot open");
    for (const place of [customers.world.logged(), JSON.stringify(await story(customer.uuid))])
      expect(place).not.toContain(secret);
  });

  it("whose process died is said to be not known", async () => {
    const customer = await aCustomer();
    await pressed(customer);
    await customers.world.forged.customerActionWasCutOff(customer.uuid);
    const [{ form }] = (await story(customer.uuid)) as [{ form: string }];
    expect((await customer.page(`?sent=${form}`)).text).toContain("Whether this was done is not known");
    expect((await customer.page("?sent=%00")).status).toBe(200);
  });

  it("is one of those of its resource that begin at the same moment; an ended resource has none", async () => {
    const { uuid } = await aCustomer();
    const { db } = customers.world;
    const begin = (form: string) =>
      beginCustomerAction(db, uuid, { form: `${form} of ${uuid}`, action: "move", user: null });
    const begun = await Promise.all(["a", "b", "c", "d"].map(begin));
    expect(begun.filter((id) => id !== null)).toHaveLength(1);
    await customers.world.forged.nothingIsLeftOf("events");
    await customers.world.forged.resourceIs(uuid, "deprovisioned");
    expect(await begin("e")).toBeNull();
  });

  it("waits for another of the resource", async () => {
    const customer = await aCustomer();
    const [one, other] = [await tokenOf(customer), await tokenOf(customer)];
    const gate = aGate();
    next.push(() => gate.opened.then(() => "Moved."));
    const first = send(customer, one);
    await eventually(() => ran.length === 1);
    const { status, text } = await send(customer, other);
    expect([status, text]).toEqual([429, expect.stringContaining("Wait a minute")]);
    gate.open();
    expect([(await first).status, (await send(customer, other)).status, ran.length]).toEqual([303, 303, 2]);
  });
});

describe("nothing is done by", () => {
  const cases: [string, (customer: Customer) => Promise<Shown>][] = [
    ["a form without a token", (customer) => send(customer, "")],
    ["a token of a page that was open for too long", async (customer) => {
      const [cookie] = customer.browser.cookies.values();
      const purpose = { of: "customer", path: `${customer.uuid}/move`, holder: cookie!.value } as const;
      const anHourAgo = Math.floor(Date.now() / 1_000) - 3_601;
      return send(customer, tokenFor(customers.world.service.services, purpose, anHourAgo));
    }],
    ["another person's token", async (customer) =>
      send(customer, await tokenOf(await aCustomer({ uuid: customer.uuid, user: "other@example.com" })))],
    ["a token of another resource", async (customer) => send(customer, await tokenOf(await aCustomer()))],
    ["a form of another site", async (customer) =>
      send(customer, await tokenOf(customer), { headers: { origin: "https://evil.example" } })],
    ["an action that is not there", async (customer) =>
      send(customer, await tokenOf(customer), { name: "toString" })],
  ]; // prettier-ignore
  it.each(cases)("%s", async (_what, sent) => {
    const customer = await aCustomer();
    const { status, text } = await sent(customer);
    expect([status, text]).toEqual([403, expect.stringContaining("Load the page again")]);
    expect([ran, await story(customer.uuid)]).toEqual([[], []]);
    expect((await send(customer, await tokenOf(customer))).status).toBe(303);
  });

  it("somebody who has signed out, whose form is not read", async () => {
    const customer = await aCustomer();
    const token = (await tokenOf(customer)) + "a".repeat(40_000);
    await customers.world.forged.nothingIsLeftOf("customer_sessions");
    const { status, text } = await send(customer, token);
    expect([status, text]).toEqual([401, expect.stringContaining("You have signed out")]);
    expect(ran).toEqual([]);
  });
});

describe("the role of a person at the app", () => {
  it.each([
    ["OWNER@example.com", false, "owner", 3],
    ["colleague@example.com", false, "collaborator", 3],
    ["colleague@example.com", true, "member", 1],
    ["newcomer@example.com", false, "null", 1],
  ])("of %s (team: %s) is %s, with %i forms", async (user, team, role, forms) => {
    const customer = await aCustomer({ user, team });
    offered = ["move", "slow", "report"];
    const page = await customer.page();
    expect(page.text).toContain(`role ${role}`);
    expect(tokensOn(page)).toHaveLength(forms);
  });

  it.each([
    ["view", 0],
    ["view,deploy", 2],
  ])("with the permissions %p has %i forms", async (names, forms) => {
    const customer = await aCustomer();
    const permissions = names.split(",").map((name) => ({ name }));
    const body = [{ id: "1", user: { email: "owner@example.com" }, role: "collaborator", permissions }];
    customers.control.fault("GET /apps/*/collaborators", { status: 200, body });
    const page = await customer.page();
    expect(tokensOn(page)).toHaveLength(forms);
  });

  it("that allows less meanwhile refuses the form of a page that is still open, unless the action is for all", async () => {
    const customer = await aCustomer({ team: true });
    const token = await tokenOf(customer);
    const body = [{ id: "1", user: { email: "owner@example.com" }, role: "member" }];
    await customers.world.restart();
    customers.control.fault("GET /apps/*/collaborators", { status: 200, body }, 100);
    const refused = await send(customer, token);
    const words = expect.stringContaining("your role at the app allows this");
    expect([refused.status, refused.text, ran]).toEqual([403, words, []]);
    actions!["move"]!.may = () => true;
    const { status } = await send(customer, token);
    delete actions!["move"]!.may;
    expect([status, ran]).toEqual([303, [`${customer.uuid} to eu by member`]]);
  });

  it.each([
    ["fails", { status: 503 }],
    ["takes long", { delayMs: 2_500 }],
    ["answers nonsense", { status: 200, body: [{ id: "1" }, { id: "2", user: null }] }],
  ])("is not known while the platform %s: the page comes without forms", async (_what, fault) => {
    const customer = await aCustomer();
    customers.control.fault("GET /apps/*/collaborators", fault, 100);
    const page = await customer.page();
    expect([page.status, page.text]).toEqual([200, expect.stringContaining("role null")]);
    expect(tokensOn(page)).toEqual([]);
  });
});

describe("a fault of the service costs its own place alone:", () => {
  afterEach(() => customers.world.restart());

  it("a form for an action that is not there is left out, and logged by its name", async () => {
    offered = ["move", "mvoe"];
    const customer = await aCustomer();
    const page = await customer.page();
    expect([page.status, tokensOn(page).length]).toEqual([200, 1]);
    expect(customers.world.lines(`a form for \\"mvoe\\"`, customer.uuid)).not.toEqual([]);
    expect((await pressed(customer)).text).toContain("Moved to eu.");
  });

  it("an action whose may() throws has no form, and is refused", async () => {
    const customer = await aCustomer();
    const token = await tokenOf(customer);
    actions!["move"]!.may = () => {
      throw new Error("the list of owners is lost");
    };
    const page = await customer.page();
    const { status } = await send(customer, token);
    delete actions!["move"]!.may;
    expect([page.status, tokensOn(page).length, status, ran]).toEqual([200, 1, 403, []]);
    expect(customers.world.lines('"customerAction":"move"', "the list of owners is lost")).not.toEqual([]);
  });

  const throws = () => {
    throw new Error("no kettle's password");
  };
  it.each<[string, CustomerPage, string]>([
    ["throws", throws, "kettle"],
    ["throws when it is rendered", () => ({ title: "x", content: h(throws, null) }), "kettle"],
    ["returns nothing", () => undefined as never, "content"],
    ["has a status that is none", () => ({ title: "x", content: "y", status: 7 }), "status"],
    ["has a title that is no text", () => ({ title: Symbol("x") as never, content: "y" }), "Symbol"],
  ])(
    "a page that %s gives way to plan and state, with what an action said and the way out",
    async (_what, page, logged) => {
      const customer = await aCustomer();
      const { location } = await send(customer, await tokenOf(customer));
      await customers.world.restart({ parts: { customerPage: page } });
      const { status, text } = await customer.browser.get(location!);
      expect(status).toBe(500);
      for (const words of [
        "Moved to eu.",
        "This is a fault of the service",
        "<dd>basic</dd>",
        "Ready",
        "owner@example.com",
        "Sign out",
      ])
        expect(text).toContain(words);
      expect(text).not.toContain("password");
      expect(customers.world.lines('"A page failed"', customer.uuid, logged)).not.toEqual([]);
    },
  );
});
