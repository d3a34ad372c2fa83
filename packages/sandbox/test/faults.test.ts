import { setTimeout as sleep } from "node:timers/promises";
import type { FaultAction } from "../wire/fault.ts";
import { aWorld, type TestWorld } from "./world.ts";

let world: TestWorld;
beforeEach(async () => void (world = await aWorld()));
afterEach(() => world.close());

const exchange = () => world.exchange(world.lastCode());
const TOKEN = "POST /oauth/token";

describe("a fault on a call from the service", () => {
  beforeEach(() => world.control.install());

  it("answers with a status instead of doing the work, as often as asked", async () => {
    world.control.fault(TOKEN, { status: 503, headers: { "Retry-After": "1" }, body: { id: "down" } }, 2);
    for (const _time of [1, 2]) {
      const { status, headers, body } = await exchange();
      expect([status, headers.get("retry-after"), body]).toEqual([503, "1", { id: "down" }]);
    }
    expect(await exchange()).toMatchObject({ status: 200 });
  });

  it("delays", async () => {
    world.control.fault("* /oauth/*", { delayMs: 150 });
    const started = performance.now();
    expect(await exchange()).toMatchObject({ status: 200 });
    expect(performance.now() - started).toBeGreaterThan(140);
  });

  it("cuts the connection before the work", async () => {
    world.control.fault(TOKEN, { reset: "before" });
    await expect(exchange()).rejects.toThrow();
    expect(await exchange()).toMatchObject({ status: 200 });
  });

  it("cuts the connection after the work, so that the answer is lost", async () => {
    world.control.fault(TOKEN, { reset: "after" });
    await expect(exchange()).rejects.toThrow();
    expect(await exchange()).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    const [, lost] = world.control.ledger().entries;
    expect(lost).toMatchObject({
      fault: { reset: "after" },
      response: { status: 200, body: { token_type: "Bearer" } },
    });
  });

  it.each([
    ["before", 200],
    ["after", 400],
  ] as const)("never answers, %s the work", async (hang, statusOfNext) => {
    world.control.fault(TOKEN, { hang });
    const body = new URLSearchParams({
      grant_type: "authorization_code",
      code: world.lastCode(),
      client_secret: world.sandbox.settings.clientSecret,
    });
    const caller = new AbortController();
    const hanging = fetch(`${world.sandbox.url}/oauth/token`, {
      method: "POST",
      body,
      signal: caller.signal,
    });
    // The call has come, and its work is done, if it is to be.
    const isSpent = () => world.control.ledger().entries.some(({ path }) => path === "/oauth/token");
    while (world.control.faults().length > 0 || !isSpent()) await sleep(10);
    caller.abort();
    await expect(hanging).rejects.toThrow(/abort/);
    expect((await exchange()).status).toBe(statusOfNext);
  });

  it("truncates the answer after the work", async () => {
    world.control.fault(TOKEN, { truncate: true });
    await expect(exchange()).rejects.toThrow();
    expect(await exchange()).toMatchObject({ status: 400 });
  });

  it("processes a call twice", async () => {
    world.control.fault(TOKEN, { duplicate: true });
    expect(await exchange()).toMatchObject({ status: 400, body: { error: "invalid_grant" } });
    const statuses = world.control
      .ledger()
      .entries.slice(1)
      .map(({ response }) => response?.status);
    expect(statuses).toEqual([200, 400]);
  });

  it("is removed by DELETE /sandbox/faults", async () => {
    world.control.fault(TOKEN, { status: 500 });
    world.control.clearFaults();
    expect(await exchange()).toMatchObject({ status: 200 });
  });
});

describe("a fault on a call to the service", () => {
  const PROVISION = "> POST /resources";
  const install = async () => (await world.control.install()).response;

  it("gives an answer instead of the service", async () => {
    world.control.fault(PROVISION, { status: 502, body: "Bad gateway" });
    const response = await install();
    expect(response).toMatchObject({ status: 502, body: "Bad gateway" });
    // The service is not to blame for it, so there is no complaint.
    expect(response).not.toHaveProperty("complaints");
    expect(world.partner.requests).toHaveLength(0);
  });

  it("gives an answer whose headers may be named in any case", async () => {
    const headers = { "Content-Type": "application/json" };
    world.control.fault(PROVISION, { status: 200, headers, body: '{"id":"p-1","message":"Made up."}' });
    expect(await install()).toMatchObject({ status: 200, body: { id: "p-1" } });
  });

  it("delays the request", async () => {
    world.control.fault(PROVISION, { delayMs: 100 });
    const started = performance.now();
    expect(await install()).toMatchObject({ status: 200 });
    expect(performance.now() - started).toBeGreaterThan(90);
  });

  it.each([
    [{ reset: "before" } as const, 0],
    [{ reset: "after" } as const, 1],
    [{ truncate: true } as const, 1],
    [{ hang: true } as const, 0],
    [{ hang: "after" } as const, 1],
  ])("loses the answer by %j", async (action, received) => {
    if ("hang" in action) world.waitsForService(action.hang === "after" ? 3_000 : 300);
    world.control.fault(PROVISION, action);
    expect(await install()).toMatchObject({ status: null });
    expect(world.partner.requests).toHaveLength(received);
    expect(world.control.ledger().entries.at(-1)).toMatchObject({ response: null, fault: action });
  });

  it("sends the request twice at once", async () => {
    world.control.fault(PROVISION, { duplicate: true });
    expect(await install()).toMatchObject({ status: 200 });
    const [first, second] = world.partner.requests;
    expect(second?.body).toBe(first?.body);
    expect(world.control.ledger().entries).toHaveLength(2);
  });
});

it("an invalid fault is refused", () => {
  expect(() => world.control.fault("nonsense", { status: 500 })).toThrow(/match must look like/);
  expect(() => world.control.fault(TOKEN, {})).toThrow(/action must be/);
  expect(() => world.control.fault(TOKEN, { sleep: 1 } as object)).toThrow(/action must be/);
  expect(() => world.control.fault(TOKEN, { status: 500 }, 0)).toThrow(/times/);
  const never: FaultAction[] = [
    { status: 500, truncate: true },
    { duplicate: true, reset: "before" },
    { drip: 5, hang: true },
  ];
  for (const action of never)
    expect(() => world.control.fault("> POST /resources", action)).toThrow(/cannot both happen/);
  const cut: FaultAction = { drip: 5, reset: "after" };
  expect(() => world.control.fault(TOKEN, cut)).toThrow(/reset and drip cannot both happen/);
  expect(world.control.fault("> POST /resources", cut)).toMatchObject({ action: cut });
});
