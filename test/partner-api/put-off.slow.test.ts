import { setTimeout as sleep } from "node:timers/promises";
import type { FaultAction } from "../../packages/sandbox/index.ts";
import type { State } from "../../src/credentials/states.ts";
import { Refusal } from "../../src/errors.ts";
import type { NotYet } from "../../src/resources/contract.ts";
import { HOLD_EVERY_MS } from "../../src/work/lease.ts";
import { aGate } from "../support/a-vendor.ts";
import { kitJson } from "../support/kit.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { teapots } from "../support/teapots/index.ts";
import { eventually, opened, QUICK } from "../support/world.ts";

const life = opened(() => aLifecycle());
afterEach(() => life.vendor.asUsual());

const done = (uuid: string) =>
  eventually(async () => {
    expect(await life.steps(uuid)).toEqual([]);
    expect(life.control.addon(uuid).state).toBe("provisioned");
  });

describe("a provision that is answered with later", () => {
  it("is answered 202 without config, then exchanged, finished, configured and reported as done, in this order", async () => {
    const since = life.position();
    const { addon, response } = await life.control.install({ plan: "dedicated" });
    expect(response).toMatchObject({ status: 202, body: { id: addon.id, message: expect.any(String) } });
    expect(response.body).not.toHaveProperty("config");
    expect(addon.state).toBe("provisioning");
    await done(addon.id);

    const order = life
      .entries(since)
      .filter(({ method }) => method !== "GET")
      .map(({ direction, method, path, response: answer }) =>
        [direction, method, path.replace(addon.id, ":id"), answer?.status].join(" "),
      );
    expect(order).toEqual([
      "out POST /resources 202",
      "in POST /oauth/token 200",
      "in PATCH /addons/:id/config 200",
      "in POST /addons/:id/actions/provision 200",
    ]);
    const { config } = life.patchesOf(addon.id)[0]!;
    expect(config.map(({ name }) => name).sort()).toEqual(["TEAPOT_TOKEN", "TEAPOT_URL"]);
    expect(life.vendor.callsOf(addon.id, "provision")).toEqual([]);
    expect(life.vendor.callsOf(addon.id, "finish")).toHaveLength(1);
    expect(await life.resource(addon.id)).toMatchObject({ state: "provisioned", answer_status: 202 });
    expect(life.entries(since).flatMap(({ complaints }) => complaints ?? [])).toEqual([]);
  });

  it("repeats configuring and reporting that fail, done or not, but no vendor's function", async () => {
    const { control } = life;
    control.fault("PATCH /addons/*/config", { status: 503 });
    control.fault("PATCH /addons/*/config", { reset: "after" });
    control.fault("POST /addons/*/actions/provision", { reset: "after" });
    const { addon } = await control.install({ plan: "dedicated" });
    await done(addon.id);
    expect(control.faults()).toEqual([]);
    expect(life.vendor.callsOf(addon.id, "finish")).toHaveLength(1);
    expect(await life.resource(addon.id)).toMatchObject({ state: "provisioned" });
  });

  it("repeats configuring no sooner than the platform's Retry-After asks", async () => {
    const headers = { "retry-after": "600" };
    life.control.fault("PATCH /addons/*/config", { status: 429, headers, body: { id: "rate_limit" } });
    const { addon } = await life.control.install({ plan: "dedicated" });
    const waiting = `SELECT kind FROM steps WHERE uuid = $1 AND due_at > now() + interval '500 seconds'`;
    await eventually(async () =>
      expect(await life.world.rows(waiting, [addon.id])).toEqual([{ kind: "announce" }]),
    );
    await life.control.deprovision(addon.id);
  });

  it("that the service refuses in the end is withdrawn at the platform, and stays refused", async () => {
    life.vendor.next("finish", () => Promise.reject(new Refusal("The clay has cracked.")));
    const { addon } = await life.control.install({ plan: "dedicated" });
    await eventually(() => life.vendor.callsOf(addon.id, "deprovision").length === 1);
    expect(life.actionsOf(addon.id)).toEqual(["deprovision 200"]);
    expect(life.patchesOf(addon.id)).toEqual([]);
    expect(await life.resource(addon.id)).toMatchObject({ state: "failed", answer_status: 422 });
    expect(await life.credential(addon.id)).toMatchObject({ state: "erased" });
    expect((await life.platform.provision(life.requestFor(addon.id))).status).toBe(422);
  });
});

const FORBIDDEN = { status: 403, body: { id: "forbidden", message: "The team has closed its apps." } };

const HOURS_12 = 12 * 3_600;

/** The state after a process died between the platform's confirmation and storing it. */
async function forgotten(): Promise<string> {
  const uuid = await life.settled("dedicated");
  await life.world.forged.aStepIsLeft({ uuid, kind: "announce", inSeconds: 3_600, sinceSeconds: HOURS_12 });
  await life.world.forged.resourceIs(uuid, "provisioning");
  return uuid;
}

it.each<[string, string, FaultAction, number]>([
  ["where the platform has it as provisioned", "DELETE /nothing", { status: 503 }, 0],
  ["once the platform says its state again", "GET /addons/*", { status: 503 }, 4],
  ["when the platform forbids access to its app", "POST /addons/*/actions/deprovision", FORBIDDEN, 1],
])("a provision not known to be done after 11 hours is kept %s", async (_case, match, fault, times) => {
  const uuid = await forgotten();
  if (times > 0) life.control.fault(match, fault, times);
  await done(uuid);
  expect(life.control.faults()).toEqual([]);
  expect(life.actionsOf(uuid).at(-1)).toMatch(/^deprovision 4/);
  expect(await life.resource(uuid)).toMatchObject({ state: "provisioned" });
  expect(await life.credential(uuid)).toMatchObject({ state: "active" });
  expect(life.vendor.callsOf(uuid, "deprovision")).toEqual([]);
});

it.each<[State, string, number]>([
  ["active", "provisioned", 0],
  ["needs_reauth", "failed", 1],
])(
  "a provision that is given up waits while its tokens are quarantined; %s: %s",
  async (later, end, calls) => {
    const uuid = await life.settled("dedicated");
    await life.world.forged.tokensExpired(uuid);
    await life.world.forged.tokensAre("quarantined", uuid);
    await life.world.forged.resourceIs(uuid, "provisioning");
    await life.world.forged.aStepIsLeft({ uuid, kind: "report_failure" });
    const waiting = `SELECT kind FROM steps WHERE uuid = $1 AND last_error LIKE '%is quarantined%'`;
    await eventually(async () => expect(await life.world.rows(waiting, [uuid])).toHaveLength(1));
    expect(await life.resource(uuid)).toMatchObject({ state: "provisioning" });
    await life.world.forged.tokensAre(later, uuid);
    await life.resourceBecomes(uuid, { state: end });
    await eventually(() => expect(life.vendor.callsOf(uuid, "deprovision")).toHaveLength(calls));
  },
);

const isLate = (uuid: string) => life.world.forged.stepsAreFrom(uuid, HOURS_12);
const isLost = (uuid: string) => life.world.forged.grantWasLost(uuid);
it.each([
  ["after 11 hours", isLate, "report_failure", "failed", ["deprovision 200"]],
  ["with a lost grant", isLost, "clean_up", "failed", []],
  ["after 11 hours, and then deprovisioned,", isLate, "report_failure", "deprovisioned", []],
])(
  "a provision that is given up %s while finish still runs waits with deprovision until that must have noticed",
  async (_when, giveUp, next, state, told) => {
    const gate = aGate();
    life.vendor.nextAfter("finish", gate.opened);
    const { addon } = await life.control.install({ plan: "dedicated" });
    await eventually(() => life.vendor.callsOf(addon.id, "finish").length === 1);
    // Whether its app was found by then or not, only the running step is left.
    await eventually(async () => expect(await life.steps(addon.id)).toEqual(["finish"]));
    await giveUp(addon.id);
    await eventually(async () => expect(await life.steps(addon.id)).toEqual([next]));
    if (state === "deprovisioned") await life.control.deprovision(addon.id);
    const held = `SELECT kind FROM steps WHERE uuid = $1 AND leased_until > now() + interval '5 seconds'`;
    expect(await life.world.rows(held, [addon.id])).toHaveLength(1);
    expect(life.vendor.callsOf(addon.id, "deprovision")).toEqual([]);
    gate.open();
    // Repeated if it came too early, because the remaining steps change meanwhile.
    await eventually(async () => {
      if (life.vendor.callsOf(addon.id, "deprovision").length === 0) await life.hurry(addon.id);
      return life.vendor.callsOf(addon.id, "deprovision").length > 0;
    });
    await life.resourceBecomes(addon.id, { state });
    // What was hurried while it ran is told again, and refused.
    expect(life.actionsOf(addon.id).filter((action) => action.endsWith(" 200"))).toEqual(told);
    expect(life.world.lines('"alarm":"provision_failed"', addon.id)).toHaveLength(giveUp === isLate ? 1 : 0);
  },
);

it("a provision whose function throws an object that has no text: 202, then retried under the same key, configured and reported", async () => {
  life.vendor.next("provision", () => Promise.reject(Object.create(null) as Error));
  // A provision that is made again, and done before its answer is stored, is answered 200.
  const answered = aGate();
  life.vendor.nextAfter("provision", answered.opened);
  const { addon, response } = await life.control.install();
  answered.open();
  expect(response.status).toBe(202);
  expect(response.body).toEqual({ id: addon.id, message: expect.any(String) });
  await done(addon.id);
  const [first, second, ...more] = life.vendor.callsOf(addon.id, "provision");
  expect(second).toEqual(first);
  expect(more).toEqual([]);
  expect(Object.keys(life.patchesOf(addon.id)[0]!.config)).toHaveLength(2);
  expect(life.actionsOf(addon.id)).toEqual(["provision 200"]);
});

it.each([10n, 7, {}, Symbol("done")])(
  "a provision is made at once, although its message is %p",
  async (message) => {
    life.vendor.next("provision", async (resource) => ({
      ...(await teapots.provision(resource)),
      message: message as string,
    }));
    const { addon, response } = await life.control.install();
    expect([response.status, response.body]).toEqual([
      200,
      expect.not.objectContaining({ message: expect.anything() }),
    ]);
    expect(life.vendor.callsOf(addon.id, "provision")).toHaveLength(1);
    expect(life.world.lines(addon.id, `message of type ${typeof message}`)).toHaveLength(1);
  },
);

it("a provision whose later is no text goes on, and the customer reads a sentence of the kit's", async () => {
  life.vendor.next("provision", async () => ({
    later: { soon: true } as never,
    againInSeconds: 5n as never,
  }));
  const { addon, response } = await life.control.install();
  expect(response).toMatchObject({ status: 202, body: { message: "The work continues." } });
  expect(life.world.lines(addon.id, "later of type object")).toHaveLength(1);
});

it("a provision that is not answered yet is not taken from its function, however late the answer is", async () => {
  await life.world.restart({ parts: { pace: { ...QUICK, vendorMs: 15_000 } } });
  const signals: AbortSignal[] = [];
  life.vendor.next("provision", async (resource) => {
    signals.push(resource.signal);
    // Longer than until the first extension of a lease.
    await sleep(HOLD_EVERY_MS + 400);
    return teapots.provision(resource);
  });
  const { addon, response } = await life.control.install({ plan: "basic" });
  expect([response.status, signals.map(({ aborted }) => aborted)]).toEqual([200, [false]]);
  expect(life.vendor.callsOf(addon.id, "provision")).toHaveLength(1);
  await life.world.restart();
});

it("a long call of a vendor's function gets the signal when its process stops, and the next process repeats it", async () => {
  let signal: AbortSignal | null = null;
  life.vendor.next("finish", (resource) => {
    signal = resource.signal;
    return new Promise(() => undefined);
  });
  const { addon } = await life.control.install({ plan: "dedicated" });
  await eventually(() => signal !== null);
  await life.world.restart();
  expect(signal!.aborted).toBe(true);
  expect(life.world.logged()).not.toContain(`"alarm":"stop_incomplete"`);
  await done(addon.id);
  expect(life.vendor.callsOf(addon.id, "finish")).toHaveLength(2);
});

describe("what answers later is called again until it is done:", () => {
  // The pauses of the service itself: rows are made older instead of waiting for them.
  beforeAll(() => life.world.restart({ parts: { pace: { ...QUICK, pauses: 1 } } }));

  const firing: NotYet = { later: "The kiln is at 900 degrees.", againInSeconds: 1 };
  const says = (what: "finish" | "deprovision", answer: NotYet, times = 1) => {
    for (let i = 0; i < times; i++) life.vendor.next(what, async () => answer);
  };
  const calls = (uuid: string, what: "finish" | "deprovision") => life.vendor.callsOf(uuid, what);
  async function step(uuid: string) {
    const [found] = await life.world.rows<{ seconds: number }>(
      `SELECT kind, attempts, last_error, extract(epoch FROM due_at - now())::float8 AS seconds
       FROM steps WHERE uuid = $1 AND kind IN ('finish', 'clean_up') AND leased_until IS NULL AND due_at IS NOT NULL`,
      [uuid],
    );
    return found;
  }
  /** Waits until it was called, and is to be called again in minutes. */
  const putOff = (uuid: string) =>
    eventually(async () => expect((await step(uuid))?.seconds).toBeGreaterThan(500));
  /** Makes it due now, and waits until it was called again and put off. */
  async function again(uuid: string): Promise<void> {
    const before = calls(uuid, "finish").length;
    await life.hurry(uuid);
    await eventually(() => calls(uuid, "finish").length > before);
    await putOff(uuid);
  }
  /** Changes the step's number of attempts and its age. */
  async function asIf(uuid: string, attempts: number, hours = 0) {
    await life.world.forged.stepsWereTried(uuid, attempts);
    await life.world.forged.stepsAreFrom(uuid, hours * 3_600);
  }
  const stuck = (uuid: string) => life.world.lines('"alarm":"step_stuck"', uuid);

  it("finish, for a provision, under the same key", async () => {
    says("finish", firing, 2);
    const { addon } = await life.control.install({ plan: "dedicated" });
    await life.nothingLeft(addon.id);
    const [first, ...more] = calls(addon.id, "finish");
    expect(more).toEqual([first, first]);
    expect(await life.resource(addon.id)).toMatchObject({ state: "provisioned" });
    expect(life.patchesOf(addon.id)).toHaveLength(1);
    expect(life.actionsOf(addon.id)).toEqual(["provision 200"]);
  });

  const doctor = async () => {
    const { data } = await kitJson<{ checks: { id: string }[] }>(life.world.environment, ["doctor"]);
    return data.checks.find(({ id }) => id === "steps");
  };

  it("finish, for a plan change, which is applied then; after 11 hours there is one alarm", async () => {
    const uuid = await life.settled("basic");
    life.vendor.next("changePlan", async () => ({ later: "Firing a larger one." }));
    says("finish", { ...firing, againInSeconds: 600 }, 3);
    expect((await life.control.changePlan(uuid, "premium")).response.status).toBe(202);
    await putOff(uuid);
    // The time that it waited in the queue does not count.
    await asIf(uuid, 0, 12);
    await again(uuid);
    expect(stuck(uuid)).toEqual([]);
    expect(await doctor()).toMatchObject({ ok: true, fix: null });

    await life.world.forged.stepsWaitSince(uuid, HOURS_12);
    await again(uuid);
    await eventually(() => expect(stuck(uuid)).toHaveLength(1));
    expect(await doctor()).toMatchObject({
      ok: false,
      message: expect.stringContaining("still went on after 11 hours"),
      whom: { uuids: [uuid] },
    });

    says("finish", { ...firing, againInSeconds: 600 });
    await again(uuid);
    expect(stuck(uuid)).toHaveLength(1);
    await life.hurry(uuid);
    await life.nothingLeft(uuid);
    expect(await life.resource(uuid)).toMatchObject({ plan: "premium", state: "provisioned" });
    expect(life.patchesOf(uuid).at(-1)!.config[0]!.value).toContain("premium");
  });

  it("deprovision, under the same key", async () => {
    const uuid = await life.settled("basic");
    says("deprovision", firing, 2);
    await life.control.deprovision(uuid);
    await eventually(async () =>
      expect(await step(uuid)).toMatchObject({ kind: "clean_up", last_error: null }),
    );
    await life.nothingLeft(uuid);
    const [first, ...more] = calls(uuid, "deprovision");
    expect(more).toEqual([first, first]);
  });

  it("deprovision that fails too: the twelfth time raises an alarm", async () => {
    const uuid = await life.settled("basic");
    const failsToEnd = () =>
      life.vendor.next("deprovision", () => Promise.reject(new Error("The kiln is bricked up.")));
    says("deprovision", { ...firing, againInSeconds: 600 });
    await life.control.deprovision(uuid);
    await putOff(uuid);
    const alarm = expect.stringContaining('"kind":"clean_up"');
    for (const [attempts, alarms] of [
      [12, 1],
      [13, 1],
      [24, 2],
    ] as const) {
      await asIf(uuid, attempts - 1);
      failsToEnd();
      await life.hurry(uuid);
      const last_error = "The kiln is bricked up.";
      await eventually(async () => expect(await step(uuid)).toMatchObject({ attempts, last_error }));
      await eventually(() => expect(stuck(uuid)).toEqual(Array(alarms).fill(alarm)));
    }
    await life.hurry(uuid);
    await life.nothingLeft(uuid);
    expect(calls(uuid, "deprovision")).toHaveLength(5);
  });
});
