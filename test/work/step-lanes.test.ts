import type { Extensions } from "../../src/extend/contract.ts";
import type { VendorResource } from "../../src/resources/contract.ts";
import { aGate, type Vendor } from "../support/a-vendor.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { eventually } from "../support/world.ts";

// The vendor's functions may take minutes. Steps that only call the platform are short, and use
// places of their own.

/** More than the 16 places for the vendor's functions, and the quarter of them that is filled together. */
const MANY = 20;
/** Far less than the time until the next sweep. */
const SOON_MS = 5_000;

let life: LifecycleWorld;
let settled: string;
let finishing: string[];
/** A gate for each call of `finish`, in the order of the calls. */
const gates: ReturnType<typeof aGate>[] = [];
const called: string[] = [];

beforeAll(async () => {
  // No sweep runs: what is due must be found when it falls due.
  life = await aLifecycle({ environment: { SWEEP_CRON: "0 0 1 1 *" } });
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
  await life.world.rows(`INSERT INTO steps (uuid, kind, due_at) VALUES ($1, 'rotate', now())`, [settled]);
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
  const { addon } = await life.control.install({ plan: "basic" });
  const uuid = addon.id;
  await life.nothingLeft(uuid);
  // As if the process that had the request had died before it answered.
  await life.world.rows(
    `UPDATE resources SET state = 'provisioning', answer_status = NULL, sealed_answer = NULL WHERE uuid = $1`,
    [uuid],
  );
  const gate = aGate();
  life.vendor.next("provision", async () => (await gate.opened, { config: {} }));
  await life.world.rows(
    `INSERT INTO steps (uuid, key, kind, due_at) VALUES ($1, $1, 'provision', now() - interval '1 minute')`,
    [uuid],
  );
  await life.world.rows(
    `INSERT INTO steps (uuid, kind, due_at, lease, detail)
     VALUES ($1, 'change_plan', now() - interval '1 minute', 0, '{"plan": "premium", "isAccepted": true}')`,
    [uuid],
  );
  const calls = () => life.vendor.callsOf(uuid, "provision").length;
  const before = calls();
  life.world.service.services.jobs.wake("run-vendor-steps");
  await eventually(() => expect(calls()).toBe(before + 1));
  // Until the job no longer looks, for it found the change held up.
  const idle = `SELECT FROM heartbeats WHERE name = 'run-vendor-steps' AND at < now() - interval '0.5 seconds'`;
  await eventually(async () => expect(await life.world.rows(idle)).toHaveLength(1));
  gate.open();
  await life.resourceBecomes(uuid, { plan: "premium" });
});
