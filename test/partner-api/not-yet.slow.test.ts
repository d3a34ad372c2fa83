import type { NotYet } from "../../src/resources/contract.ts";
import { kitJson } from "../support/kit.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened, QUICK } from "../support/world.ts";

// `finish` and `deprovision` may answer later any number of times, and are called again until they are done.

// The pauses of the service itself: rows are made older instead of waiting for them.
const life = opened(() => aLifecycle({ parts: { pace: { ...QUICK, pauses: 1 } } }));
afterEach(() => life.vendor.asUsual());

const firing: NotYet = { later: "The kiln is at 900 degrees.", againInSeconds: 1 };
const says = (what: "finish" | "deprovision", answer: NotYet, times = 1) => {
  for (let i = 0; i < times; i++) life.vendor.next(what, async () => answer);
};
const calls = (uuid: string, what: "finish" | "deprovision") => life.vendor.callsOf(uuid, what);
const step = async (uuid: string) =>
  (
    await life.world.rows<{ kind: string; attempts: number; last_error: string | null; seconds: number }>(
      `SELECT kind, attempts, last_error, extract(epoch FROM due_at - now())::float8 AS seconds
       FROM steps WHERE uuid = $1 AND kind IN ('finish', 'clean_up') AND leased_until IS NULL AND due_at IS NOT NULL`,
      [uuid],
    )
  )[0];
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
const asIf = (uuid: string, { attempts, hours = 0 }: { attempts: number; hours?: number }) =>
  life.world.rows(
    `UPDATE steps SET attempts = $2, created_at = now() - make_interval(hours => $3) WHERE uuid = $1 AND kind IN ('finish', 'clean_up')`,
    [uuid, attempts, hours],
  );
const stuck = (uuid: string) => life.world.lines('"alarm":"step_stuck"', uuid);

describe("finish that answers later for a provision", () => {
  it("is called again under the same key until it is done", async () => {
    says("finish", firing, 2);
    const { addon } = await life.control.install({ plan: "dedicated" });
    await life.nothingLeft(addon.id);
    const [first, ...more] = calls(addon.id, "finish");
    expect(more).toEqual([first, first]);
    expect(await life.resource(addon.id)).toMatchObject({ state: "provisioned" });
    expect(life.patchesOf(addon.id)).toHaveLength(1);
    expect(life.actionsOf(addon.id)).toEqual(["provision 200"]);
  });
});

describe("finish that answers later for a plan change", () => {
  const doctor = async () => {
    const { data } = await kitJson<{ checks: { id: string }[] }>(life.world.environment, ["doctor"]);
    return data.checks.find(({ id }) => id === "steps");
  };

  it("applies the plan when it is done, and raises one alarm after 11 hours", async () => {
    const uuid = await life.settled("basic");
    life.vendor.next("changePlan", async () => ({ later: "Firing a larger one." }));
    says("finish", { ...firing, againInSeconds: 600 }, 3);
    expect((await life.control.changePlan(uuid, "premium")).response.status).toBe(202);
    await putOff(uuid);
    // The time that it waited in the queue does not count.
    await asIf(uuid, { attempts: 0, hours: 12 });
    await again(uuid);
    expect(stuck(uuid)).toEqual([]);
    expect(await doctor()).toMatchObject({ ok: true, fix: null });

    await life.world.rows(
      `UPDATE steps SET detail = detail || jsonb_build_object('saidSince', now() - interval '12 hours') WHERE uuid = $1`,
      [uuid],
    );
    await again(uuid);
    await eventually(() => expect(stuck(uuid)).toHaveLength(1));
    const fix = expect.stringContaining(`kit resources show ${uuid}`);
    expect(await doctor()).toMatchObject({
      ok: false,
      message: expect.stringContaining("still went on after 11 hours"),
      fix,
    });

    says("finish", { ...firing, againInSeconds: 600 });
    await again(uuid);
    expect(stuck(uuid)).toHaveLength(1);
    await life.hurry(uuid);
    await life.nothingLeft(uuid);
    expect(await life.resource(uuid)).toMatchObject({ plan: "premium", state: "provisioned" });
    expect(life.patchesOf(uuid).at(-1)!.config[0]!.value).toContain("premium");
  });
});

it("deprovision that answers later is called again until it is done", async () => {
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

it("deprovision that fails for the twelfth time raises an alarm, and is retried until it succeeds", async () => {
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
    await asIf(uuid, { attempts: attempts - 1 });
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
