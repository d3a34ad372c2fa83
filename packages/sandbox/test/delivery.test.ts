import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startSandbox } from "../index.ts";
import { success } from "./partner.ts";
import { aWorld, client, holdDelays, manifest, stopTime, type TestWorld } from "./world.ts";

const priced = (price: object) => ({ addonManifest: { id: "w", plans: [{ name: "a", price }] } });

let world: TestWorld;
beforeEach(async () => void (world = await aWorld()));
afterEach(() => world.close());

const PROVISION = "> POST /resources";
const HOUR = 3600;
const calls = () => world.partner.requests.map(({ method }) => method);
const stateOf = (id: string) => world.control.addon(id);
async function control(method: string, path: string, json?: unknown) {
  const init = json === undefined ? {} : { body: JSON.stringify(json) };
  const response = await fetch(`${world.sandbox.url}/sandbox${path}`, { method, ...init });
  return { status: response.status, body: (await response.json()) as { message: string } };
}

/** A provision under way: delayed by a fault until `arrive` is called, and already recorded at the platform. */
function provisionUnderWay() {
  const arrive = holdDelays();
  world.control.fault(PROVISION, { delayMs: 50 });
  const delivery = world.control.install();
  return { id: world.control.state().addons.at(-1)!.id, delivery, arrive };
}

describe("delivery out of order", () => {
  it("a provision after its deprovision does not restore the resource", async () => {
    const { id, delivery, arrive } = provisionUnderWay();
    world.partner.answers((request) =>
      request.method === "DELETE"
        ? { status: 404, body: { id: "not_found", message: "Never seen." } }
        : success(request),
    );
    expect((await world.control.deprovision(id)).addon.state).toBe("deprovisioned");
    arrive();
    const { addon, response } = await delivery;
    expect(calls()).toEqual(["DELETE", "POST"]);
    expect([response.status, addon.state]).toEqual([200, "deprovisioned"]);
    expect(response.complaints?.join()).toMatch(/should be 410/);
    expect(await world.exchange(world.lastCode())).toMatchObject({ status: 400 });
  });

  it("a deprovision that is answered 404 by the service that has the resource is complained of", async () => {
    const { id } = (await world.control.install()).addon;
    world.partner.answers({ status: 404, body: { id: "not_found", message: "Never seen." } });
    const { addon, response } = await world.control.deprovision(id);
    expect(addon.state).toBe("deprovisioned");
    expect(response.complaints?.join()).toMatch(/should not be 404/);
  });

  it("of two plan changes in reverse order the last one answered counts", async () => {
    const { addon } = await world.control.install();
    const arrive = holdDelays();
    world.control.fault("> PUT /resources/*", { delayMs: 50 });
    const early = world.control.changePlan(addon.id, "premium");
    await world.control.changePlan(addon.id, "basic");
    arrive();
    await early;
    const plans = world.partner.requests.slice(1).map(({ body }) => body);
    expect(plans).toEqual(['{"plan":"basic"}', '{"plan":"premium"}']);
    expect(stateOf(addon.id).plan.name).toBe("widgets:premium");
  });
});

describe("delivery at least once", () => {
  it("repeats a request without an answer as often as the setting says", async () => {
    world.control.settings({ redeliveries: 2 });
    world.control.fault(PROVISION, { reset: "after" }, 2);
    const { addon, response } = await world.control.install();
    expect([response.status, addon.state]).toEqual([200, "provisioned"]);
    const bodies = world.partner.requests.map(({ body }) => body);
    expect([bodies.length, new Set(bodies).size]).toEqual([3, 1]);
    expect(await world.exchange(world.lastCode())).toMatchObject({ status: 200 });
  });

  it("does not repeat a refused request", async () => {
    world.control.settings({ redeliveries: 3 });
    world.partner.answers({ status: 503, body: { id: "busy", message: "Busy." } });
    const { addon } = await world.control.install();
    expect([calls(), addon.state]).toEqual([["POST"], "deprovisioned"]);
    expect(await world.exchange(world.lastCode())).toMatchObject({ status: 400 });
  });
});

describe("the answer to a provision request", () => {
  it.each([201, 204, 302, 400, 404, 500])(
    "with status %i is a failure: the grant becomes invalid and the add-on is removed",
    async (status) => {
      world.partner.answers({ status, body: status === 204 ? undefined : { id: "p-1", message: "Ready." } });
      const { addon } = await world.control.install();
      expect(addon.state).toBe("deprovisioned");
      expect(stateOf(addon.id).grant).toMatchObject({ state: "invalid" });
      expect(await world.exchange(world.lastCode())).toMatchObject({
        status: 400,
        body: { error: "invalid_grant" },
      });
    },
  );

  it("is missing if the service changes the protocol instead", async () => {
    world.partner.answers({ status: 101, headers: { Connection: "Upgrade", Upgrade: "websocket" } });
    const { addon, response } = await world.control.install();
    expect([addon.state, response.status]).toEqual(["deprovisioned", null]);
  });

  it("that arrives too late is a failure", async () => {
    let answer = () => {};
    const late = new Promise<void>((resolve) => (answer = resolve));
    world.partner.answers((request) => late.then(() => success(request)));
    world.waitsForService(400);
    const { addon } = await world.control.install();
    answer();
    await sleep(50);
    expect(stateOf(addon.id)).toMatchObject({ state: "deprovisioned", grant: { state: "issued" } });
    expect(await world.exchange(world.lastCode())).toMatchObject({ status: 400 });
  });
});

describe("sending byte by byte", () => {
  it("transmits an answer completely", async () => {
    await world.control.install();
    world.control.fault("POST /oauth/token", { drip: 1 });
    const started = performance.now();
    const { status, body } = await world.exchange(world.lastCode());
    expect([status, body.token_type]).toEqual([200, "Bearer"]);
    expect(performance.now() - started).toBeGreaterThan(100);
  });

  it("transmits a request completely, and does not blame the service for the time", async () => {
    world.control.fault(PROVISION, { drip: 10 });
    const { addon, response } = await world.control.install();
    expect([response.status, response.complaints]).toEqual([200, undefined]);
    expect(response.ms).toBeGreaterThan(3000);
    expect(JSON.parse(world.partner.requests[0]!.body)).toMatchObject({ uuid: addon.id });
  });

  it("makes a request fail that takes longer than the platform waits", async () => {
    world.waitsForService(400);
    world.control.fault(PROVISION, { drip: 50 });
    const { response } = await world.control.install();
    expect(response).toMatchObject({ status: null, error: "The service did not answer within 0.4 s." });
    expect(world.partner.requests).toHaveLength(0);
  });
});

it("a truncated answer is shorter than its Content-Length", async () => {
  await world.control.install();
  world.control.fault("GET /api/v4/current-status", { truncate: true });
  const text = await rawGet("/api/v4/current-status");
  const [head = "", body = ""] = text.split("\r\n\r\n");
  const promised = Number(/content-length: (\d+)/i.exec(head)?.[1]);
  expect(body.length).toBe(Math.floor(promised / 2));
});

describe("advancing the clock", () => {
  it("ends access tokens after 8 hours, not refresh tokens", async () => {
    stopTime();
    const { token, refreshToken } = await world.installed();
    world.control.advanceClock(8 * HOUR - 60);
    expect(await world.call(token, "/addons")).toMatchObject({ status: 200 });
    world.control.advanceClock(60);
    expect(await world.call(token, "/addons")).toMatchObject({ status: 401 });
    world.control.advanceClock(365 * 24 * HOUR);
    expect((await world.refresh(refreshToken)).status).toBe(201);
  });

  it("ends a provision that was not reported as done within 12 hours, and tells the service", async () => {
    world.partner.answers(({ method }) =>
      method === "POST" ? { status: 202, body: { id: "p-1", message: "Soon." } } : { status: 204 },
    );
    stopTime();
    const { addon, token } = await world.installed();
    world.control.fault("> DELETE /resources/*", { reset: "before" });
    world.control.advanceClock(12 * HOUR - 1);
    expect(stateOf(addon.id).state).toBe("provisioning");
    await control("POST", "/clock", { advance: 1 });
    expect(stateOf(addon.id)).toMatchObject({
      state: "deprovisioned",
      tokens: [{ state: "revoked" }],
      refresh_token: { state: "revoked" },
    });
    expect(await world.call(token, "/addons")).toMatchObject({ status: 401 });
    // The first one is lost: it is sent again at the next look.
    const deprovisions = () => world.control.ledger().entries.filter(({ method }) => method === "DELETE");
    while (deprovisions().length === 0) await sleep(10);
    expect(calls()).toEqual(["POST"]);
    world.control.advanceClock(1);
    while (!calls().includes("DELETE")) await sleep(10);
    world.control.advanceClock(HOUR);
    await sleep(50);
    expect(calls()).toEqual(["POST", "DELETE"]);
  });
});

describe("the control API refuses", () => {
  it.each<[string, string, string, unknown]>([
    ["a fault of no status", "POST", "/faults", { match: "POST /a", action: { status: 99 } }],
    ["a status as text", "POST", "/faults", { match: "POST /a", action: { status: "500" } }],
    [
      "headers that are no strings",
      "POST",
      "/faults",
      { match: "POST /a", action: { status: 500, headers: { a: 1 } } },
    ],
    ["a delay as text", "POST", "/faults", { match: "POST /a", action: { delayMs: "100" } }],
    ["a negative delay", "POST", "/faults", { match: "POST /a", action: { delayMs: -1 } }],
    ["a drip of nothing", "POST", "/faults", { match: "POST /a", action: { drip: 0 } }],
    ["another way to hang", "POST", "/faults", { match: "POST /a", action: { hang: "sometimes" } }],
    ["a truncation that is none", "POST", "/faults", { match: "POST /a", action: { truncate: false } }],
    ["two endings", "POST", "/faults", { match: "POST /a", action: { status: 500, reset: "after" } }],
    ["no action", "POST", "/faults", { match: "POST /a" }],
    ["a slip of the pen", "POST", "/faults", { match: "POST /a", action: { hang: true }, time: 2 }],
    ["options that are a list", "POST", "/apps/shop/addons", { options: [] }],
    ["a bad attachment name", "POST", "/apps/shop/addons", { as: "lower case" }],
    ["an unknown wish", "POST", "/apps/shop/addons", { size: "big" }],
    ["a region that is not on offer", "POST", "/apps/shop/addons", { region: "mars" }],
    ["that region of long ago", "POST", "/apps/shop/addons", { region: "mars", silent: true }],
    ["redeliveries as text", "POST", "/settings", { redeliveries: "2" }],
    [
      "a default plan that is none",
      "PUT",
      "/partner",
      { addonManifest: { ...manifest, default_plan: "huge" } },
    ],
    [
      "an ephemeral plan that is none",
      "PUT",
      "/partner",
      { addonManifest: { ...manifest, ephemeral_plan: "huge" } },
    ],
    [
      "a plan that is there twice",
      "PUT",
      "/partner",
      { addonManifest: { id: "w", plans: [{ name: "a" }, { name: "a" }] } },
    ],
    [
      "a price in words",
      "PUT",
      "/partner",
      { addonManifest: { id: "w", plans: [{ name: "a", price: "free" }] } },
    ],
    ["a price of no number", "PUT", "/partner", priced({ cents: null, unit: "hour" })],
    ["a price of half a cent", "PUT", "/partner", priced({ cents: 0.5, unit: "hour" })],
    ["a price without its time", "PUT", "/partner", priced({ cents: 5 })],
    ["a meter that is no text", "PUT", "/partner", priced({ cents: 5, unit: "hour", metered: 1 })],
    ["options that are a list", "PUT", "/partner", { addonManifest: { ...manifest, options: [] } }],
    [
      "options without kinds",
      "PUT",
      "/partner",
      { addonManifest: { ...manifest, options: { properties: { a: 1 } } } },
    ],
    ["a manifest that is a list", "PUT", "/partner", { addonManifest: [] }],
  ])("%s", async (_what, method, path, body) => {
    world.control.createApp({ name: "shop" });
    expect(await control(method, path, body)).toMatchObject({
      status: 422,
      body: { id: "invalid_params", message: expect.any(String) as string },
    });
    expect(world.control.state()).toMatchObject({ apps: [{ name: "shop" }], addons: [] });
    expect(world.control.faults()).toEqual([]);
    expect(world.partner.requests).toHaveLength(0);
  });

  it("an attachment that is not possible, and creates no add-on then", async () => {
    const app = world.control.createApp().id;
    await world.control.install({ app, as: "MAIN" });
    await expect(world.control.install({ app, as: "MAIN" })).rejects.toThrow(/already has an attachment/);
    expect(world.control.state().addons).toHaveLength(1);
  });
});

it("the partner's manifest can be changed at run time", async () => {
  const plans = [{ name: "small" }, { name: "large" }];
  await control("PUT", "/partner", { addonManifest: { id: "widgets", plans, default_plan: "large" } });
  expect((await world.control.install()).addon.plan.name).toBe("widgets:large");
});

it("faults, settings, clock and partner survive a restart; values given at the start override them", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandbox-"));
  const given = {
    statePath: join(folder, "state.json"),
    partnerUrl: "http://localhost:9",
    addonId: "widgets",
  };
  const before = await startSandbox(given);
  before.control.partner({ partnerUrl: world.partner.url, addonManifest: manifest });
  before.control.settings({ redeliveries: 2 });
  before.control.fault(PROVISION, { reset: "after" }, 2);
  const { addonPassword } = before.settings;
  const { addon, token } = await client(before).installed();
  before.control.advanceClock(HOUR);
  await before.close();

  const after = await startSandbox(given);
  expect(after.settings).toMatchObject({
    partnerUrl: world.partner.url,
    addonPassword,
    addonManifest: manifest,
  });
  expect(after.settings.redeliveries).toBe(2);
  expect(Date.parse(after.control.state().now)).toBeGreaterThan(Date.now() + HOUR * 900);
  expect(await client(after).call(token, `/addons/${addon.id}`)).toMatchObject({ status: 200 });
  expect(after.control.faults()).toEqual([]);
  after.control.fault("> DELETE /*", { hang: true });
  await after.close();

  const last = await startSandbox({ ...given, partnerUrl: "http://localhost:10" });
  expect(last.settings.partnerUrl).toBe("http://localhost:10");
  expect(last.control.faults()).toEqual([{ match: "> DELETE /*", times: 1, action: { hang: true } }]);
  await last.close();
  rmSync(folder, { recursive: true });
});

/** All bytes of the connection until it ends. */
function rawGet(path: string): Promise<string> {
  const { hostname, port } = new URL(world.sandbox.url);
  return new Promise((resolve) => {
    let text = "";
    const socket = connect(Number(port), hostname, () => {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`);
    });
    socket.on("data", (chunk) => (text += chunk.toString()));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(text));
  });
}
