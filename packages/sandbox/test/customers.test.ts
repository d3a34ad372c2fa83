import { get } from "node:http";
import { startSandbox } from "../index.ts";
import { aPerson } from "./market.ts";
import { aPartner, success } from "./partner.ts";
import { aWorld, manifest, type TestWorld } from "./world.ts";

type Row = Record<string, unknown>;
interface Call {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: object;
}

const priced = {
  ...manifest,
  config_vars_prefix: "WIDGET",
  plans: [
    { name: "basic", description: "For one", price: { cents: 0, unit: "month" } },
    { name: "premium", price: { cents: 550, unit: "month" } },
    { name: "usage", price: { cents: 100, unit: "month", metered: "1 cent a call" } },
    { name: "beta" },
  ],
};

let world: TestWorld;
beforeEach(async () => {
  world = await aWorld({ addonManifest: priced, customerApi: true });
  world.control.createApp({ name: "shop" });
  await buy({ name: "first" });
});
afterEach(() => world.close());

/** As the newest version of the customers' tool sends its calls: Node's `http`, no `Accept-Encoding`. */
const TOOL = {
  accept: "application/vnd.vendor+json; version=3.sdk",
  authorization: "Bearer anything",
  "accept-expansion": "addon_service,plan",
};

async function send({ method = "GET", path, headers = {}, body }: Call) {
  const response = await fetch(world.sandbox.url + path, {
    method,
    headers: { ...TOOL, ...(body && { "content-type": "application/json" }), ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Row };
}

/** `addons:create` */
function buy({ plan = "widgets", name, as, options = {} }: Record<string, string> & { options?: object }) {
  const body = { attachment: { name: as }, config: options, name, plan: { name: plan } };
  return send({ method: "POST", path: "/apps/shop/addons", body });
}
const resolve = (addon: string, app: string | null = null) =>
  send({ method: "POST", path: "/actions/addons/resolve", body: { addon, app } });
const lastToPartner = () => JSON.parse(world.partner.requests.at(-1)!.body) as Row;

/**
 * Each command of the customers' tool with the calls that it was seen to make (versions 8, 10 and 11), and what it reads of
 * their answers. The add-on `first` is on the app `shop`.
 */
const COMMANDS: [command: string, call: Call, status: number, reads: unknown][] = [
  ["whoami", { path: "/account" }, 200, { email: "owner@example.com" }],
  ["apps", { path: "/users/~/apps" }, 200, [{ name: "shop", owner: { email: "owner@example.com" } }]],
  [
    "apps:info",
    { path: "/apps/shop" },
    200,
    { name: "shop", region: { name: "us" }, create_status: "complete" },
  ],
  [
    "apps:info",
    { path: "/apps/shop/pipeline-couplings" },
    200,
    { stage: "production", pipeline: { name: expect.stringMatching(/^shop/) } },
  ],
  [
    "apps:create NAME",
    { method: "POST", path: "/apps", body: { name: "second", region: "us" } },
    201,
    { name: "second" },
  ],
  ["apps:destroy", { method: "DELETE", path: "/apps/shop" }, 200, { name: "shop" }],
  [
    "addons:services",
    { path: "/addon-services" },
    200,
    [{ name: "widgets", human_name: "widgets", state: "ga" }],
  ],
  ["addons:docs SERVICE", { path: "/addon-services/widgets" }, 200, { name: "widgets" }],
  [
    "addons",
    { path: "/addons" },
    200,
    [
      {
        name: "first",
        state: "provisioned",
        app: { name: "shop" },
        addon_service: { name: "widgets" },
        plan: { name: "widgets:basic", price: { cents: 0, unit: "month", contract: false } },
        billed_price: { cents: 0, contract: false },
      },
    ],
  ],
  ["addons -a APP", { path: "/apps/shop/addons" }, 200, [{ name: "first", plan: { price: { cents: 0 } } }]],
  [
    "addons -a APP",
    { path: "/addon-attachments" },
    200,
    [{ name: "WIDGET", addon: { name: "first" }, app: { name: "shop" } }],
  ],
  [
    "addons:wait",
    { path: "/apps/shop/addons/first" },
    200,
    { state: "provisioned", config_vars: ["WIDGET_URL"] },
  ],
  [
    "addons:open -a APP",
    {
      method: "POST",
      path: "/actions/addon-attachments/resolve",
      body: { addon_attachment: "WIDGET", app: "shop" },
      headers: { "accept-inclusion": "addon:plan,config_vars" },
    },
    200,
    [{ name: "WIDGET", config_vars: ["WIDGET_URL"], addon: { plan: { name: "widgets:basic" } } }],
  ],
  [
    "addons:open",
    {
      method: "POST",
      path: "/actions/addon-attachments/resolve",
      body: { addon_attachment: "first", app: null },
    },
    404,
    { id: "not_found", resource: "add_on attachment" },
  ],
  ["addons:attach", { path: "/addons/first" }, 200, { name: "first" }],
  ["addons:detach", { path: "/apps/shop/addon-attachments/WIDGET" }, 200, { name: "WIDGET" }],
  [
    "addons:info",
    { path: "/addons/first/addon-attachments" },
    200,
    [{ name: "WIDGET", app: { name: "shop" } }],
  ],
  ["config", { path: "/apps/shop/config-vars" }, 200, { WIDGET_URL: "https://w.example.com" }],
  [
    "config:set",
    { method: "PATCH", path: "/apps/shop/config-vars", body: { FOO: "bar" } },
    200,
    { FOO: "bar", WIDGET_URL: "https://w.example.com" },
  ],
  [
    "config:set",
    { path: "/apps/shop/releases", headers: { range: "version ..; order=desc,max=1" } },
    206,
    [{ version: 3, description: "Set the config vars of first", user: { email: "owner@example.com" } }],
  ],
];

it.each(COMMANDS)("%s is answered: %j", async (_command, call, status, reads) => {
  const answer = await send(call);
  expect([answer.status, answer.body]).toMatchObject([status, reads]);
});

it.each([
  ["versions 10 and 11", {}],
  [
    "version 8, which signs in by HTTP Basic and sends a range with everything",
    {
      accept: "application/vnd.vendor+json; version=3.actions",
      authorization: `Basic ${Buffer.from(":anything").toString("base64")}`,
      range: "id ..; max=1000",
      "content-type": "application/json",
    },
  ],
  ["a compressing client", { "accept-encoding": "gzip, br" }],
])("every command is understood from %s", async (_version, headers) => {
  for (const [command, call] of COMMANDS.filter(([, { method = "GET" }]) => method !== "DELETE")) {
    const { status } = await send({ ...call, headers: { ...headers, ...call.headers } });
    expect([command, status < 300 || status === 404]).toEqual([command, true]);
  }
});

it("prices come from the manifest; a plan without one is free, and none is unknown", async () => {
  const { body } = await send({ path: "/addon-services/widgets/plans" });
  const plans = (body as unknown as Row[]).map(({ name, default: isDefault, price }) => [
    name,
    isDefault,
    price,
  ]);
  expect(plans.sort()).toEqual([
    ["widgets:basic", true, { cents: 0, contract: false, unit: "month" }],
    ["widgets:beta", false, { cents: 0, contract: false, unit: "month" }],
    ["widgets:premium", false, { cents: 550, contract: false, unit: "month" }],
    ["widgets:usage", false, { cents: 100, contract: false, unit: "month", metered: true }],
  ]);
  for (const plan of ["beta", "premium"]) {
    const bought = await buy({ plan: `widgets:${plan}` });
    expect(bought.body["billed_price"]).toEqual({
      cents: plan === "beta" ? 0 : 550,
      contract: false,
      unit: "month",
    });
  }
  // Without the header, an add-on only names its plan.
  const short = await send({ path: "/addons/first", headers: { "accept-expansion": "" } });
  expect(Object.keys(short.body["plan"] as Row)).toEqual(["id", "name"]);
});

it("without a manifest every plan is sold, and free", async () => {
  world.control.partner({ addonManifest: null });
  expect(await buy({ plan: "widgets:anything" })).toMatchObject({
    status: 201,
    body: { plan: { name: "widgets:anything", price: { cents: 0 } }, billed_price: { cents: 0 } },
  });
});

it("a customer buys with options and names, changes the plan, renames and destroys", async () => {
  const options = { size: "large", fast: true };
  const bought = await buy({ plan: "widgets:premium", name: "mine", as: "events", options } as never);
  expect(bought).toMatchObject({
    status: 201,
    body: { name: "mine", state: "provisioned", provision_message: "Ready.", config_vars: ["EVENTS_URL"] },
  });
  expect(lastToPartner()).toMatchObject({ plan: "premium", region: "us", options });
  const path = "/apps/shop/addons/mine";
  const changed = await send({ method: "PATCH", path, body: { plan: { name: "widgets:basic" } } });
  expect(changed).toMatchObject({
    status: 200,
    body: { plan: { name: "widgets:basic" }, provision_message: "Changed." },
  });
  expect(await send({ method: "PATCH", path, body: { name: "yours" } })).toMatchObject({
    body: { name: "yours" },
  });
  expect(await send({ path })).toMatchObject({ status: 404, body: { resource: "add_on" } });
  const end = await send({ method: "DELETE", path: "/apps/shop/addons/yours", body: { force: false } });
  expect(end).toMatchObject({ status: 200, body: { state: "deprovisioned" } });
  expect(await resolve("yours")).toMatchObject({ status: 404 });
  expect(await send({ path: "/apps/shop/addons/yours" })).toMatchObject({ status: 404 });
  const vars = await send({ path: "/apps/shop/config-vars" });
  expect(vars.body).toEqual({ WIDGET_URL: "https://w.example.com" });
});

it("an add-on is found by id, name, attachment, service or APP::ATTACHMENT, each as it is meant", async () => {
  const { body } = await buy({ name: "second", as: "EVENTS" });
  const found = async (...wish: Parameters<typeof resolve>) =>
    ((await resolve(...wish)).body as unknown as Row[]).map(({ name }) => name).sort();
  expect(await found("second")).toEqual(["second"]);
  expect(await found(String(body["id"]))).toEqual(["second"]);
  expect(await found("EVENTS", "shop")).toEqual(["second"]);
  expect(await found("shop::EVENTS")).toEqual(["second"]);
  expect(await found("widgets", "shop")).toEqual(["first", "second"]);
  expect(await resolve("EVENTS")).toMatchObject({ status: 404 });
  await buy({ name: "widgets" });
  expect(await found("widgets", "shop")).toEqual(["widgets"]);
  expect(await resolve("first", "nowhere")).toMatchObject({ status: 404, body: { resource: "app" } });
});

it("an add-on that takes time is watched until it is done, or has failed", async () => {
  world.partner.answers(({ body }) => ({
    status: 202,
    body: { id: (JSON.parse(body) as Row)["uuid"], message: "In a minute." },
  }));
  for (const [what, state] of [
    ["provision", "provisioned"],
    ["deprovision", "deprovisioned"],
  ] as const) {
    const bought = await buy({ name: what });
    expect(bought.body).toMatchObject({ state: "provisioning", provision_message: "In a minute." });
    const path = `/apps/shop/addons/${what}`;
    expect((await send({ path })).body["state"]).toBe("provisioning");
    const { body: pair } = await world.exchange(world.lastCode());
    const action = `/addons/${String(bought.body["id"])}/actions/${what}`;
    await world.call(pair.access_token, action, { method: "POST" });
    expect((await send({ path })).body["state"]).toBe(state);
  }
});

it("who waits for an add-on learns that the platform gave it up after 12 hours, also once the service knows", async () => {
  world.partner.answers({ status: 202, body: { id: "1", message: "In a while." } });
  await buy({ name: "never" });
  world.partner.answers({ status: 204 });
  world.control.advanceClock(12 * 3600);
  const path = "/apps/shop/addons/never";
  expect((await send({ path })).body["state"]).toBe("deprovisioned");
  const told = encodeURIComponent("> DELETE /resources/*");
  await send({ path: `/sandbox/ledger?match=${told}&status=204&wait=60` });
  expect((await send({ path })).body["state"]).toBe("deprovisioned");
  expect((await send({ path: "/apps/shop/addons" })).body).toMatchObject([{ name: "first" }]);
});

describe("what a customer is refused", () => {
  it.each<[what: string, call: Call, status: number, message: RegExp]>([
    [
      "an unknown plan",
      { method: "POST", path: "/apps/shop/addons", body: { plan: { name: "widgets:huge" } } },
      422,
      /^Couldn't find either the add-on service or the add-on plan of "widgets:huge"\.$/,
    ],
    [
      "an empty plan",
      { method: "POST", path: "/apps/shop/addons", body: { plan: "widgets:" } },
      422,
      /^Couldn't find either the add-on/,
    ],
    [
      "another service",
      { method: "POST", path: "/apps/shop/addons", body: { plan: { name: "gadgets" } } },
      422,
      /^Couldn't find either the add-on/,
    ],
    ["no plan", { method: "POST", path: "/apps/shop/addons", body: {} }, 422, /^plan must be a text/],
    [
      "options in a list",
      { method: "POST", path: "/apps/shop/addons", body: { plan: "widgets", config: [] } },
      422,
      /^config must be an object/,
    ],
    [
      "a name in use",
      { method: "POST", path: "/apps/shop/addons", body: { plan: "widgets", name: "first" } },
      409,
      /already taken/,
    ],
    [
      "a bad name",
      { method: "POST", path: "/apps/shop/addons", body: { plan: "widgets", name: "a b" } },
      422,
      /letters, digits/,
    ],
    [
      "a bad attachment",
      { method: "POST", path: "/apps/shop/addons", body: { plan: "widgets", attachment: { name: "a b" } } },
      422,
      /^An attachment's name/,
    ],
    [
      "an attachment in use",
      {
        method: "POST",
        path: "/apps/shop/addons",
        body: { plan: "widgets", attachment: { name: "widget" } },
      },
      409,
      /WIDGET/,
    ],
    ["an unknown app", { path: "/apps/nowhere/addons" }, 404, /^Couldn't find that app\.$/],
    ["its config vars", { path: "/apps/nowhere/config-vars" }, 404, /^Couldn't find that app\.$/],
    ["an unknown add-on", { path: "/addons/nothing" }, 404, /^Couldn't find that add-on\.$/],
    [
      "an unknown service",
      { path: "/addon-services/gadgets/plans" },
      404,
      /^Couldn't find that add-on service\.$/,
    ],
    [
      "an unknown attachment",
      { path: "/apps/shop/addon-attachments/NONE" },
      404,
      /^Couldn't find that add-on attachment\.$/,
    ],
    [
      "a change to an unknown plan",
      { method: "PATCH", path: "/apps/shop/addons/first", body: { plan: { name: "widgets:huge" } } },
      422,
      /^Couldn't find either the add-on/,
    ],
    [
      "a config var of the add-on",
      { method: "PATCH", path: "/apps/shop/config-vars", body: { WIDGET_URL: "x" } },
      422,
      /belongs to an add-on/,
    ],
    [
      "an app in an unknown region",
      { method: "POST", path: "/apps", body: { region: "mars" } },
      422,
      /no region mars/,
    ],
    [
      "the add-on's last attachment",
      { method: "DELETE", path: "/addon-attachments/{attachment}" },
      422,
      /Destroy the add-on/,
    ],
    ["what is not played", { path: "/teams" }, 404, /plays no GET \/teams/],
    [
      "another version of the API",
      { path: "/addons", headers: { accept: "application/vnd.vendor+json; version=4" } },
      406,
      /Accept/,
    ],
    [
      "a body that is not JSON",
      {
        method: "POST",
        path: "/apps",
        headers: { "content-encoding": "gzip", "content-type": "text/plain" },
        body: {},
      },
      400,
      /content type/,
    ],
    ["a page beyond reason", { path: "/addons", headers: { range: "id ..; max=100000" } }, 416, /1000/],
  ])("%s", async (_what, call, status, message) => {
    const { body: attachments } = await send({ path: "/addon-attachments" });
    const path = call.path.replace("{attachment}", String((attachments as unknown as Row[])[0]!["id"]));
    const before = world.partner.requests.length;
    expect(await send({ ...call, path })).toMatchObject({
      status,
      body: { id: expect.stringMatching(/^[a-z_]+$/), message: expect.stringMatching(message) },
    });
    expect(world.partner.requests).toHaveLength(before);
  });

  const refusal = { id: "sold_out", message: "Sold out until Friday." };
  it.each([
    ["a refusal, in the service's words", { status: 422, body: refusal }, 422, /^Sold out until Friday\.$/],
    ["a refusal without words", { status: 403, body: {} }, 422, /^widgets has refused this/],
    [
      "a fault",
      { status: 500, body: refusal },
      503,
      /^The service of widgets answered 500\. Try again later\.$/,
    ],
    ["a success that is none", { status: 201, body: {} }, 503, /answered 201, which is no success here/],
    ["silence", { hang: true }, 503, /^The service of widgets did not answer\. Try again later\.$/],
  ])("by the service: %s", async (_what, { hang, ...answer }: Row, status, message) => {
    if (hang) world.waitsForService(50);
    const action = (hang ? { hang: "before" } : answer) as object;
    for (const [match, call] of [
      [
        "> POST /resources",
        { method: "POST", path: "/apps/shop/addons", body: { plan: "widgets", name: "new" } },
      ],
      [
        "> PUT /resources/*",
        { method: "PATCH", path: "/apps/shop/addons/first", body: { plan: "widgets:premium" } },
      ],
    ] as [string, Call][]) {
      world.control.fault(match, action);
      expect(await send(call)).toMatchObject({
        status,
        body: { message: expect.stringMatching(message as RegExp) },
      });
    }
    world.waitsForService(20_000);
    // Nothing is left of what was refused.
    const { body } = await send({ path: "/apps/shop/addons" });
    expect(body).toMatchObject([{ name: "first", plan: { name: "widgets:basic" } }]);
    expect((await send({ path: "/addon-attachments" })).body).toHaveLength(1);
    expect((await buy({})).body["config_vars"]).toEqual(["WIDGET_TEAL_URL"]);
  });

  it("by a service that cannot deprovision: the add-on is being destroyed, and can be destroyed again", async () => {
    const end = { method: "DELETE", path: "/apps/shop/addons/first", body: { force: false } };
    world.partner.answers({ status: 500, body: refusal });
    expect(await send(end)).toMatchObject({ status: 503 });
    expect((await send({ path: "/addons/first" })).body["state"]).toBe("deprovisioning");
    world.partner.answers(success);
    expect(await send(end)).toMatchObject({ status: 200, body: { state: "deprovisioned" } });
  });
});

it("an add-on is attached to a second app, found there, and not destroyed in passing", async () => {
  world.control.createApp({ name: "second" });
  const body = { addon: { name: "first" }, app: { name: "second" }, name: "pot" };
  const made = await send({ method: "POST", path: "/addon-attachments", body });
  expect(made).toMatchObject({ status: 201, body: { name: "POT", app: { name: "second" } } });
  expect((await send({ path: "/apps/second/config-vars" })).body).toEqual({
    POT_URL: "https://w.example.com",
  });
  const end = { method: "DELETE", path: "/apps/shop/addons/first" };
  expect(await send({ ...end, body: { force: false } })).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining("second") },
  });
  expect(
    await send({ method: "DELETE", path: `/addon-attachments/${String(made.body["id"])}` }),
  ).toMatchObject({
    status: 200,
  });
  expect((await send({ path: "/apps/second/config-vars" })).body).toEqual({});
  for (const FOO of "abcdefghi") {
    await send({ method: "PATCH", path: "/apps/second/config-vars", body: { FOO } });
  }
  const range = "version ..; order=desc,max=11";
  const { body: releases } = await send({ path: "/apps/second/releases", headers: { range } });
  expect((releases as unknown as Row[]).map(({ version }) => version)).toEqual([
    12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2,
  ]);
  expect((releases as unknown as Row[]).slice(-2)).toMatchObject([
    { description: "Detach POT" },
    { description: "Attach POT" },
  ]);
  await send({ method: "POST", path: "/addon-attachments", body });
  expect(await send({ ...end, body: { force: true } })).toMatchObject({ status: 200 });
});

it("an add-on that is attached only to another app stays on the list of its own, where it is paid and destroyed", async () => {
  world.control.createApp({ name: "second" });
  world.control.attach("first", { app: "second", name: "POT" });
  const { body } = await send({ path: "/apps/shop/addon-attachments/WIDGET" });
  await send({ method: "DELETE", path: `/addon-attachments/${String(body["id"])}` });
  expect((await send({ path: "/apps/shop/addons" })).body).toMatchObject([
    { name: "first", state: "provisioned", plan: { name: "widgets:basic", price: { cents: 0 } } },
  ]);
  expect(await resolve("first", "shop")).toMatchObject({ status: 200, body: [{ app: { name: "shop" } }] });
  world.control.attach("first", { app: "second", name: "PAN" });
  const end = { method: "DELETE", path: "/apps/shop/addons/first", body: { force: false } };
  expect(await send(end)).toMatchObject({
    status: 422,
    body: { message: expect.stringMatching(/^first is attached to other apps too: second\. /) },
  });
});

it("lists are paged: Next-Range leads to each add-on once", async () => {
  for (const name of ["second", "third"]) await buy({ name });
  const names: unknown[] = [];
  let range = "id ..; max=1";
  for (let page = 0; page < 3; page++) {
    const { status, headers, body } = await send({ path: "/addons", headers: { range } });
    expect(status).toBe(page < 2 ? 206 : 200);
    names.push(...(body as unknown as Row[]).map(({ name }) => name));
    range = headers.get("next-range") ?? "";
  }
  expect([names.sort(), range]).toEqual([["first", "second", "third"], ""]);
});

it("the address of an add-on leads to the signed form, which posts itself, from the app that it was opened on", async () => {
  world.control.createApp({ name: "second" });
  world.control.attach("first", { app: "second", name: "POT" });
  const { body } = await send({
    method: "POST",
    path: "/actions/addon-attachments/resolve",
    body: { addon_attachment: "POT", app: "second" },
  });
  const url = new URL(String((body as unknown as Row[])[0]!["web_url"]));
  expect(url.origin).toBe(world.sandbox.url);
  const { status, html } = await aPerson(world).visit(url.pathname + url.search);
  expect([status, html]).toEqual([200, expect.stringMatching(/<form[^>]* data-at-once="/)]);
  expect(html).toContain('name="context_app" value="second"');
  expect(html).toContain('name="app" value="shop"');
  const plain = await aPerson(world).visit(url.pathname);
  expect(plain.html).not.toContain("data-at-once");
});

describe("who is a customer", () => {
  const addons = { path: "/addons" };

  it("without the setting nobody is: any token is refused, and a user's reaches what it did", async () => {
    world.control.settings({ customerApi: false });
    expect(await send(addons)).toMatchObject({ status: 401, body: { id: "unauthorized" } });
    const { token } = world.control.userToken("owner@example.com");
    const accept = "application/vnd.svc+json; version=3";
    const authorization = `Bearer ${token}`;
    expect(await send({ path: "/addon-services", headers: { accept, authorization } })).toMatchObject({
      status: 404,
    });
    expect(await send({ path: "/addons", headers: { authorization } })).toMatchObject({ status: 406 });
  });

  it("a token that the sandbox issued stays what it is: the service's, or a person's with its scope", async () => {
    const { token } = await world.installed();
    const accept = "application/vnd.svc+json; version=3";
    const services = { path: "/addon-services", headers: { accept, authorization: `Bearer ${token}` } };
    expect(await send(services)).toMatchObject({ status: 403 });
    const reader = `Bearer ${world.control.userToken("owner@example.com", { scope: ["read"] }).token}`;
    expect(await send({ ...addons, headers: { authorization: reader } })).toMatchObject({ status: 200 });
    const body = { plan: { name: "widgets" } };
    expect(
      await send({ method: "POST", path: "/apps/shop/addons", body, headers: { authorization: reader } }),
    ).toMatchObject({ status: 403 });
    const newcomer = `Bearer ${world.control.userToken("newcomer@example.com").token}`;
    expect(await send({ ...addons, headers: { authorization: newcomer } })).toMatchObject({
      status: 200,
      body: [],
    });
    // A service's token from before a reset is no customer.
    expect(await send({ ...addons, headers: { authorization: "Bearer SVCK-old" } })).toMatchObject({
      status: 401,
    });
  });

  it.each([
    ["no token", { authorization: "" }, 401],
    ["an empty password", { authorization: `Basic ${Buffer.from(":").toString("base64")}` }, 401],
    ["a page of another site", { origin: "https://evil.example" }, 403],
    ["a page of another site, told by the browser", { "sec-fetch-site": "cross-site" }, 403],
  ])("%s is refused", async (_what, headers, status) => {
    expect(await send({ ...addons, headers })).toMatchObject({ status });
  });

  it("a name that somebody let lead to this machine is refused, as it is for the pages", async () => {
    const { hostname, port } = new URL(world.sandbox.url);
    const status = await new Promise((resolve, reject) => {
      const headers = { ...TOOL, host: `evil.example:${port}` };
      get({ hostname, port, path: "/addons", headers }, ({ statusCode }) => resolve(statusCode)).on(
        "error",
        reject,
      );
    });
    expect(status).toBe(403);
  });

  it("a sandbox that demands its token takes no other", async () => {
    const partner = await aPartner();
    const token = "the-token-of-this-sandbox";
    const other = await startSandbox({ partnerUrl: partner.url, host: "0.0.0.0", token, customerApi: true });
    const statuses = await Promise.all(
      ["anything", token].map(async (each) => {
        const headers = { ...TOOL, authorization: `Bearer ${each}` };
        return (await fetch(`${other.url}/addons`, { headers })).status;
      }),
    );
    await other.close();
    await partner.close();
    expect(statuses).toEqual([401, 200]);
  });
});
