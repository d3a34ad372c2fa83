import { randomUUID } from "node:crypto";
import { jest } from "@jest/globals";
import type { Context } from "../../src/context.ts";
import type { State } from "../../src/credentials/states.ts";
import { retryWhileUnreachable } from "../../src/database/retry.ts";
import { positional } from "../../src/database/statement.ts";
import type { Extensions } from "../../src/extend/contract.ts";
import { ROTATION_STEPS } from "../../src/extend/rotation.ts";
import { SUSPENSION_STEPS } from "../../src/extend/suspension.ts";
import { wakeBy } from "../../src/jobs/run.ts";
import { PACE } from "../../src/pace.ts";
import { laterAnswer } from "../../src/resources/answers.ts";
import type { VendorResource } from "../../src/resources/contract.ts";
import { endResource, failStranded } from "../../src/resources/end-store.ts";
import { findLateSteps } from "../../src/resources/late-steps.ts";
import { LANES, resourceRunner } from "../../src/resources/steps.ts";
import { answerFirst, lockedResource } from "../../src/resources/store.ts";
import { Secret } from "../../src/secret.ts";
import { createVault, type Vault } from "../../src/vault/vault.ts";
import { claimSteps, holdStep, nextStepInSeconds, putOffStep } from "../../src/work/queue.ts";
import { FIRST_LEASE } from "../../src/work/step.ts";
import { createWorkerPool } from "../../src/work/worker-pool.ts";
import { aGate, type Vendor } from "../support/a-vendor.ts";
import { forged } from "../support/forged.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { anOpenDatabase } from "../support/open-database.ts";
import { offer } from "../support/teapots/plans.ts";
import { eventually } from "../support/world.ts";

// Which steps run when, and for how long. The vendor's functions may take minutes; steps that only call the platform
// are short, and use places of their own.

/** More than the 16 places for the vendor's functions, and the quarter of them that is filled together. */
const MANY = 20;
const STEPS_OF_EXTENSIONS = { ...ROTATION_STEPS, ...SUSPENSION_STEPS };
/** Far less than the time until the next sweep, and than a lease. */
const SOON_MS = 20_000;

let life: LifecycleWorld;
let settled: string;
let finishing: string[];
/** A gate for each call of `finish`, in the order of the calls. */
const gates: ReturnType<typeof aGate>[] = [];
const called: string[] = [];
/** What exchanges of grants wait for. */
let held: Promise<void> | null = null;

beforeAll(async () => {
  // No sweep runs: what is due must be found when it falls due.
  life = await aLifecycle({
    environment: { SWEEP_CRON: "0 0 1 1 *" },
    parts: {
      wrapTokenEndpoint: ({ exchange, refresh }) => ({
        refresh,
        async exchange(...given) {
          await held;
          return exchange(...given);
        },
      }),
    },
  });
  settled = await life.settled("basic");
  for (let i = 0; i < MANY; i++) {
    const gate = aGate();
    gates.push(gate);
    life.vendor.next("finish", async ({ uuid }) => {
      called.push(uuid);
      await gate.opened;
      return { config: { TEAPOT_URL: `https://fired.example/${uuid}`, TEAPOT_TOKEN: "fired" } };
    });
  }
  const installed = await Promise.all(
    Array.from({ length: MANY }, () => life.control.install({ plan: "dedicated" })),
  );
  finishing = installed.map(({ addon }) => addon.id);
  await eventually(() => expect(called.length).toBe(16));
});
afterAll(async () => {
  gates.forEach((gate) => gate.open());
  await life.world.close();
});

it("while slow vendor's functions use all their places, apps of other resources are still discovered", async () => {
  const { addon } = await life.control.install({ plan: "basic" });
  await eventually(async () => expect(await life.events(addon.id)).toContain("apps_found"), SOON_MS);
  for (const uuid of finishing)
    await eventually(async () => expect(await life.events(uuid)).toContain("apps_found"), SOON_MS);
});

it("a rotation that waited behind a plan change starts at once", async () => {
  const vendor: Vendor & Extensions = life.vendor;
  let rotated = "";
  const rotate = async ({ uuid }: VendorResource) => (
    (rotated = uuid),
    { config: { TEAPOT_TOKEN: "new" }, retires: null }
  );
  vendor.rotation = { rotate, retire: async () => undefined };
  const gate = aGate();
  life.vendor.next(
    "changePlan",
    async () => (await gate.opened, { config: { TEAPOT_TOKEN: "of the plan" } }),
  );
  const changed = life.control.changePlan(settled, "premium");
  await eventually(async () => expect(await life.steps(settled)).toEqual(["change_plan"]));
  await life.world.forged.aStepIsLeft({ uuid: settled, kind: "rotate" });
  gate.open();
  await changed;
  await eventually(() => expect(rotated).toBe(settled), SOON_MS);
});

it("a step that follows a finished one starts at once, and waiting ones use the places that become free", async () => {
  expect(called.length).toBeLessThanOrEqual(16);
  gates[0]!.open();
  const first = called[0]!;
  await eventually(async () => expect(await life.steps(first)).toEqual([]), SOON_MS);
  expect(await life.resource(first)).toMatchObject({ state: "provisioned" });
  gates.forEach((gate) => gate.open());
  await eventually(() => expect(called).toHaveLength(MANY), SOON_MS);
  await life.world.quiet(finishing);
});

it("a plan change that waited behind a provision that a job answered starts at once", async () => {
  const uuid = await life.settled();
  await life.world.forged.provisionIsUnfinished(uuid);
  const gate = aGate();
  life.vendor.next("provision", async () => (await gate.opened, { config: {} }));
  // The plan change is due once the provision stands before it.
  await life.world.forged.aStepIsLeft({ uuid, kind: "provision", inSeconds: -60, lease: FIRST_LEASE });
  const detail = { plan: "premium", isAccepted: true };
  await life.world.forged.aStepIsLeft({ uuid, kind: "change_plan", inSeconds: -60, detail });
  life.world.service.services.jobs.wake("run-vendor-steps");
  await eventually(() => expect(life.vendor.callsOf(uuid, "provision")).toHaveLength(2));
  // Until the job no longer looks, for it found the change held up.
  const idle = `SELECT FROM heartbeats WHERE name = 'run-vendor-steps' AND at < now() - interval '0.5 seconds'`;
  await eventually(async () => expect(await life.world.rows(idle)).toHaveLength(1));
  gate.open();
  await life.resourceBecomes(uuid, { plan: "premium" });
});

it("while many grants are exchanged no step is begun, and then those that fell due are", async () => {
  const uuid = await life.settled();
  const gate = aGate();
  held = gate.opened;
  // So many wait that more than a few are exchanged at once; these are never due.
  await life.world.forged.manyGrantsAreStored(2_000);
  const installs = Array.from({ length: 20 }, () => life.control.install({ plan: "basic" }));
  const others = (await Promise.all(installs)).map(({ addon }) => addon.id);
  const { exchanges, work } = life.world.service.services;
  await eventually(() => exchanges.underWay() === others.length);
  await life.control.deprovision(uuid);
  expect(await work.runDue("vendor", AbortSignal.timeout(300))).toBe(0);
  expect(life.vendor.callsOf(uuid, "deprovision")).toEqual([]);
  gate.open();
  await life.world.quiet(others);
  await life.world.forged.storedGrantsAreGone();
  await eventually(() => life.vendor.callsOf(uuid, "deprovision").length === 1);
});

it("a call of a function that passes its limit is cut off, and made again as one that failed", async () => {
  const limits = { provision: 1, changePlan: 1, finish: 1, deprovision: 1 };
  await life.world.restart({
    environment: { SWEEP_CRON: "* * * * * *" },
    parts: { offer: { ...offer, limits } },
  });
  const [changed, ended] = [await life.settled(), await life.settled()];
  const signals = new Map<string, AbortSignal>();
  const hangs = (resource: VendorResource) => (
    signals.set(resource.uuid, resource.signal),
    new Promise<never>(() => undefined)
  );
  const whats = ["provision", "finish", "changePlan", "deprovision"] as const;
  for (const what of whats) life.vendor.next(what, hangs);
  const [made, finished] = await Promise.all([
    life.control.install({ plan: "basic" }),
    life.control.install({ plan: "dedicated" }),
    life.control.changePlan(changed, "premium"),
    life.control.deprovision(ended),
  ]);
  for (const [index, uuid] of [made.addon.id, finished.addon.id, changed, ended].entries()) {
    const what = whats[index]!;
    await eventually(() => expect(life.vendor.callsOf(uuid, what)).toHaveLength(2));
    expect(signals.get(uuid)!.reason).toMatchObject({ id: "took_too_long" });
    expect(life.world.logged()).toContain(`The service's ${what}() was aborted after its limit of 1 s`);
    await life.nothingLeft(uuid);
  }
});

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

it("after an outage, steps are claimed when processes that live have extended their leases", async () => {
  jest.useFakeTimers();
  const asked: string[] = [];
  let trouble: Error | null = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
  const ask = (name: string) => {
    if (trouble) return Promise.reject(trouble);
    asked.push(name);
    return Promise.resolve([]);
  };
  const db = { query: ({ name }: { name: string }) => ask(name), ping: () => ask("ping") };
  const steps = resourceRunner(
    { db, exchanges: { underWay: () => 0 } } as unknown as Context,
    STEPS_OF_EXTENSIONS,
  );
  const look = () => steps.runDue("vendor", new AbortController().signal);
  await expect(look()).rejects.toThrow("refused");
  await expect(look()).rejects.toThrow("refused");
  trouble = null;
  await look();
  expect(await steps.nextInSeconds("vendor")).toBe(5);
  jest.advanceTimersByTime(4_999);
  await look();
  expect(asked).toEqual(["ping"]);
  jest.advanceTimersByTime(1);
  await look();
  expect(asked).toEqual(["ping", "claim_vendor_steps"]);
  // A process that started meanwhile saw the outage as it waited for its database.
  steps.noteOutage();
  await look();
  expect(asked).toEqual(["ping", "claim_vendor_steps", "ping"]);
});

it("a step that was claimed before its process stood still is begun only if it is held still", async () => {
  const now = Date.now();
  const clock = jest.spyOn(Date, "now").mockReturnValue(now);
  const statements: string[] = [];
  const db = {
    async query({ name }: { name: string }) {
      statements.push(name);
      clock.mockReturnValue(now + 60_000);
      const isFirst = statements.length === 1;
      return isFirst ? [{ uuid: "u", key: "k", kind: "clean_up", lease: 2, state: "deprovisioned" }] : [];
    },
  };
  const trace = { inSpan: (_name: string, _about: object, work: () => unknown) => work() };
  const parts = { db, trace, exchanges: { underWay: () => 0 }, wake: wakeBy(() => undefined) };
  const steps = resourceRunner(parts as unknown as Context, STEPS_OF_EXTENSIONS);
  await steps.runDue("vendor", new AbortController().signal);
  await steps.settled();
  // Without a vendor's service, a call would fail, and the step be put off.
  expect(statements.filter((name) => name !== "claim_vendor_steps")).toEqual(["hold_step"]);
});

it("a pool that is filled twice at once starts no more than its places, and takes what one claim has left", async () => {
  const due = Array.from({ length: 12 }, (_, row) => row);
  const claims = aGate();
  const ends = aGate();
  let running = 0;
  let isFirst = true;
  const pool = createWorkerPool<number>({
    async claim(most) {
      const rows = due.splice(0, isFirst ? 3 : most);
      isFirst = false;
      await claims.opened;
      return rows;
    },
    handle: () => ((running += 1), ends.opened),
    places: () => 8,
  });
  const { signal } = new AbortController();
  const filled = [pool.fill(signal), pool.fill(signal)];
  claims.open();
  await eventually(() => expect(running).toBe(8));
  expect(due).toHaveLength(4);
  ends.open();
  const taken = await Promise.all(filled);
  expect(taken[0]! + taken[1]!).toBe(12);
  await pool.settled();
});

it("a claim that fails leaves its places to the next", async () => {
  const claim = aGate();
  const tries = [
    () => claim.opened.then(() => Promise.reject(new Error("away"))),
    async () => [1],
    async () => [],
  ];
  const begun: number[] = [];
  const pool = createWorkerPool<number>({
    claim: () => tries.shift()!(),
    handle: async (row) => void begun.push(row),
    places: () => 1,
  });
  const { signal } = new AbortController();
  const [failed, next] = [pool.fill(signal), pool.fill(signal)];
  claim.open();
  await expect(failed).rejects.toThrow("away");
  expect(await next).toBe(1);
  expect(begun).toEqual([1]);
});

describe("steps of a database alone, whose service would claim them too", () => {
  const alone = anOpenDatabase();
  let vault: Vault;
  let uuid: string;
  beforeAll(async () => {
    vault = await createVault({ encryptionKey: new Secret("a key of these tests, long enough") });
  });
  beforeEach(() => void (uuid = randomUUID()));
  const run = <Row>(text: string, values: unknown[] = [uuid]) =>
    alone.database.query<Row>(positional("", text), values);
  const ctx = () =>
    ({
      ...{ db: alone.database, vault, pace: PACE },
      ...{ log: { warn: () => undefined, error: () => undefined }, wake: wakeBy(() => undefined) },
    }) as unknown as Context;
  const left = () => forged({ db: alone.database });
  const end = () => alone.database.transaction((tx) => endResource(tx, uuid, null, null));

  /** So long ago that a process which does not extend its lease is taken for dead. */
  const provisionBegan = (
    { state = "provisioning", status = null }: { state?: string; status?: number | null } = {},
    credential: State = "no_grant",
    of = uuid,
  ) => left().aResourceIsStored({ uuid: of, state, status, credential, sinceSeconds: 60 });
  const waiting = () => run(`SELECT kind FROM steps WHERE uuid = $1 AND leased_until > now()`);
  const LATER = { answer: laterAnswer("Soon."), config: null, lease: FIRST_LEASE };

  it("an extension of its lease that comes after a step was put off does not hold it back", async () => {
    const db = alone.database;
    await provisionBegan({ state: "provisioned" });
    await left().aStepIsLeft({ uuid, kind: "finish" });
    const [claimed] = await claimSteps(db, LANES.vendor.lane, 1);
    expect(await holdStep(db, claimed!)).toBe(true);
    await putOffStep(db, claimed!, 0, {});
    expect(await holdStep(db, claimed!)).toBe(false);
    expect(await claimSteps(db, LANES.vendor.lane, 1)).toMatchObject([{ lease: claimed!.lease + 1 }]);
  });

  it.each<[string, string, () => Promise<unknown>]>([
    ["its step, which the release before does not write", "provision", async () => undefined],
    ["the step of a late answer", "provision", () => answerFirst(ctx(), { ...LATER, uuid, next: "same" })],
    ["its clean-up", "clean_up", end],
  ])("%s waits until a process that may still make the provision has noticed", async (_what, kind, write) => {
    await provisionBegan();
    await write();
    expect(await waiting()).toEqual([{ kind }]);
  });

  it("the clean-up waits for a call whose lease could not be extended in an outage, and may live", async () => {
    await provisionBegan({ state: "provisioned" });
    await left().aStepIsLeft({ uuid, kind: "change_plan", leaseSeconds: -1, detail: { plan: "premium" } });
    await end();
    expect(await waiting()).toEqual([{ kind: "clean_up" }]);
    // It is due then, so a timer finds it.
    expect(await nextStepInSeconds(alone.database, LANES.vendor.lane)).toBeGreaterThan(0);
  });

  it("a put-off provision whose code cannot be decrypted fails once the code is dead", async () => {
    await provisionBegan({ status: 202 }, "quarantined");
    const found = `SELECT r.state, c.state AS credential FROM resources r JOIN credentials c USING (uuid) WHERE uuid = $1`;
    await left().grantHasLeft(uuid, 60);
    await failStranded(ctx());
    expect(await run(found)).toEqual([{ state: "provisioning", credential: "quarantined" }]);
    await left().grantHasLeft(uuid, -1);
    await failStranded(ctx());
    expect(await run(found)).toEqual([{ state: "failed", credential: "erased" }]);
    expect(await run(`SELECT kind FROM steps WHERE uuid = $1`)).toEqual([{ kind: "clean_up" }]);
  });

  it("a step that waited for tokens and was not woken is found", async () => {
    await provisionBegan({ state: "provisioned" }, "active");
    await left().aStepIsLeft({ uuid, kind: "announce", inSeconds: null });
    await findLateSteps(ctx());
    expect(await run(`SELECT kind FROM steps WHERE due_at IS NOT NULL AND uuid = $1`)).toHaveLength(1);
  });

  it("a locked step of a provision that is not done in 11 hours holds up no other", async () => {
    const [locked, other] = [uuid, randomUUID()];
    for (const each of [locked, other]) {
      await provisionBegan({ status: 202 }, "active", each);
      await left().aStepIsLeft({ uuid: each, kind: "finish", sinceSeconds: 12 * 3_600 });
    }
    await alone.database.transaction(async (tx) => {
      await tx.query(positional("lock_step", `SELECT FROM steps WHERE uuid = $1 FOR UPDATE`), [locked]);
      await findLateSteps(ctx());
      expect(await run(`SELECT kind FROM steps WHERE uuid = $1`, [other])).toEqual([
        { kind: "report_failure" },
      ]);
    });
  });

  it("a locked resource holds up no other whose grant was lost", async () => {
    const [locked, other] = [uuid, randomUUID()].sort() as [string, string];
    for (const each of [locked, other]) await provisionBegan({ status: 202 }, "grant_lost", each);
    await alone.database.transaction(async (tx) => {
      await lockedResource(tx, locked);
      await failStranded(ctx());
      expect(await run(`SELECT state FROM resources WHERE uuid = $1`, [other])).toEqual([
        { state: "failed" },
      ]);
    });
  });

  it("an answer that turns its provision into what follows leaves no error of the tries before", async () => {
    await provisionBegan();
    await left().stepsWereTried(uuid, 4, "broken");
    expect(await answerFirst(ctx(), { ...LATER, uuid, next: "finish" })).toBe(true);
    expect(await run(`SELECT kind, attempts, last_error FROM steps WHERE uuid = $1`)).toEqual([
      { kind: "finish", attempts: 0, last_error: null },
    ]);
  });

  it.each([
    ["same", "provision"],
    ["finish", "finish"],
    ["clean_up", "clean_up"],
  ] as const)(
    "an answer that waits while another process claims the step turns that step: %s",
    async (next, kind) => {
      await provisionBegan();
      const answered = await alone.database.transaction(async (tx) => {
        await lockedResource(tx, uuid);
        await forged({ db: tx }).stepsAreTaken(uuid, 30);
        // As a request does, if the machine stands still for longer than a statement waits for a lock.
        const first = retryWhileUnreachable(() => answerFirst(ctx(), { ...LATER, uuid, next }));
        const locks = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
        await eventually(async () => (await run(locks, [])).length > 0);
        return { first };
      });
      expect(await answered.first).toBe(true);
      expect(await run(`SELECT kind FROM steps WHERE uuid = $1`)).toEqual([{ kind }]);
    },
  );
});
