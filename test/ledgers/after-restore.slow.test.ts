import { randomUUID } from "node:crypto";
import { stateOfWork } from "../../src/metrics/store.ts";
import type { DoctorReport } from "../../src/operator/doctor/doctor.ts";
import { failStranded } from "../../src/resources/end-store.ts";
import { aRow } from "../processes/rows.ts";
import { kit, kitJson } from "../support/kit.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened, QUICK } from "../support/world.ts";

// How a restored database is noticed, what the hold stops, and what it does not.

const life = opened(() => aLifecycle({ parts: { pace: { ...QUICK, beatMs: 100 } } }));
const rows: (typeof life.world)["rows"] = (...asked) => life.world.rows(...asked);
const environment = () => life.world.environment;

const asLoaded = () => life.world.forged.isLoadedFromADump();
const history = async () =>
  (
    await rows<{
      restored_at: Date | null;
      done_at: Date | null;
      because: string | null;
      promoted_at: Date | null;
    }>(`SELECT * FROM database_history`)
  )[0]!;
const isHeld = async () => {
  const { restored_at, done_at } = await history();
  return restored_at !== null && done_at === null;
};
/** Of the process that runs. */
const beats = async () =>
  (await rows<{ beats: number }>(`SELECT max(beats) AS beats FROM processes WHERE state = 'ready'`))[0]!
    .beats;
const alarms = () => life.world.lines('"alarm":"database_restored"');
const samples = () => stateOfWork(life.world.db, []);
const check = async () => {
  const { data } = await kitJson<DoctorReport>(environment(), ["doctor"]);
  return data.checks.find(({ id }) => id === "restore")!;
};
const said = (text: string) => expect.stringContaining(text) as unknown;

afterEach(async () => {
  await life.world.forged.wasNeverRestored();
  await life.world.forged.nothingIsLeftOf("steps");
});

describe("a restore is noticed", () => {
  it("once, by a service that runs, when its rows came out of a dump", async () => {
    const before = alarms().length;
    await asLoaded();
    await eventually(isHeld);
    expect(await samples()).toContainEqual(
      expect.objectContaining({ sample: "addon_restore_held", value: 1 }),
    );
    expect(await check()).toMatchObject({
      ok: false,
      message: said("its rows were loaded from a dump"),
      fix: said("kit after-restore"),
    });
    expect(alarms().slice(before)).toHaveLength(1);
  });

  it("at the start, before anything is carried out", async () => {
    await life.world.service.stop();
    await asLoaded();
    expect(await check()).toMatchObject({ ok: false, message: said("was loaded from a dump") });
    const before = alarms().length;
    await life.world.restart();
    expect(await isHeld()).toBe(true);
    expect(alarms().slice(before)).toHaveLength(1);
  });

  it("by a process whose own row went back, whatever else the database says", async () => {
    await eventually(async () =>
      (await rows<{ beats: number }>(`SELECT beats FROM processes WHERE state = 'ready'`)).some(
        ({ beats }) => beats > 8,
      ),
    );
    // A beat at this moment writes over the loss.
    await eventually(async () => {
      await life.world.forged.beatsAreLost(5);
      return eventually(isHeld, 2_000);
    });
    expect((await history()).because).toMatch(/^it lacks the last \d+ beats of a process that runs$/);
  });

  it.each<[string, number, boolean]>([
    ["a restore, if the newest row of a process is old", 900, true],
    ["a promoted standby, if it is not", 90, false],
  ])("as %s, when the timeline has changed while no process ran", async (_what, beat, isRestore) => {
    await life.world.service.stop();
    await life.world.forged.nothingIsLeftOf("processes");
    await aRow(life.world, { state: "ready", beat });
    await life.world.forged.timelineChanged();
    await life.world.restart();
    expect(await isHeld()).toBe(isRestore);
    expect((await history()).promoted_at === null).toBe(isRestore);
    expect(life.world.lines("A standby of the database was promoted")).toHaveLength(isRestore ? 0 : 1);
    if (!isRestore)
      expect(await check()).toMatchObject({
        ok: true,
        message: said("A standby of the database was promoted"),
        fix: said("kit reconcile"),
      });
    await life.world.forged.madeUpProcessesAreGone();
  });

  it("not when nothing has happened: a restart, a vacuum, a table that is written anew", async () => {
    await rows(`VACUUM (FULL, FREEZE) database_history`);
    await life.world.restart();
    await eventually(async () => (await beats()) > 3);
    expect(await isHeld()).toBe(false);
    expect(await check()).toMatchObject({ ok: true, fix: null });
  });
});

describe("a restore that no process could notice is suspected", () => {
  type Kind = "gone_at_platform" | "unknown_resource" | "plan_differs";
  const suspicions = () => life.world.lines('"alarm":"restore_suspected"');
  /** As many of each kind as the platform would show after a restore. */
  const marked = async (kinds: readonly Kind[], hoursAgo = 0) => {
    for (const kind of kinds) {
      const uuid = kind === "unknown_resource" ? randomUUID() : await life.settled();
      // A look that has not ended would take the mark away.
      await life.nothingLeft(uuid);
      const detail = { plan: "premium", request: "PUT" };
      await life.world.forged.aMarkIsLeft(uuid, kind, { hoursAgo, detail });
    }
  };
  /** The job that reports has run since. */
  const reported = async () => {
    await life.world.forged.jobHasNotRun("look-at-apps");
    await eventually(
      async () => (await rows(`SELECT FROM heartbeats WHERE name = 'look-at-apps'`)).length > 0,
    );
  };
  afterEach(async () => {
    await life.world.forged.nothingIsLeftOf("ledger_marks");
    await life.world.forged.wasNeverRestored();
    await life.world.forged.madeUpProcessesAreGone();
  });

  it("once, if the platform contradicts several rows in several ways; an operator begins the hold", async () => {
    await marked(["gone_at_platform", "unknown_resource", "plan_differs"]);
    // As autovacuum does: the number of resources is known.
    await rows(`ANALYZE resources`);
    await eventually(() => expect(suspicions()).toHaveLength(1));
    expect(JSON.parse(suspicions()[0]!)).toMatchObject({ ended: 1, unknown: 1, otherPlan: 1 });
    expect(await check()).toMatchObject({ ok: false, message: said("1 ended there, 1 never provisioned here, 1 on another plan"), fix: said("kit after-restore") }); // prettier-ignore
    expect(await isHeld()).toBe(false);
    await reported();
    expect(suspicions()).toHaveLength(1);
    await kitJson(environment(), ["after-restore"]);
    expect(await check()).toMatchObject({ ok: false, message: said("an operator said so") });
    // What was noticed before its end says nothing of what comes after.
    await kitJson(environment(), ["after-restore", "--done", "--yes"]);
    expect(await check()).toMatchObject({ ok: true });
  });

  it.each<[string, readonly Kind[], { hoursAgo?: number; hoursUp?: number }]>([
    ["all in one way, as a wrong ADDON_ID does", Array<Kind>(4).fill("gone_at_platform"), {}],
    ["too few rows", ["gone_at_platform", "plan_differs"], {}],
    ["them for long", ["gone_at_platform", "gone_at_platform", "plan_differs"], { hoursAgo: 48 }],
    ["them, and a process has run for longer", ["gone_at_platform", "unknown_resource", "plan_differs"], { hoursUp: 30 }], // prettier-ignore
  ])("not if the platform contradicts %s", async (_what, kinds, { hoursAgo, hoursUp }) => {
    const before = suspicions().length;
    if (hoursUp) await aRow(life.world, { started: hoursUp * 3_600 });
    await marked(kinds, hoursAgo);
    await reported();
    expect(await check()).toMatchObject({ ok: true });
    expect(suspicions()).toHaveLength(before);
  });
});

const rotation = {
  rotate: () => Promise.reject(new Error("not called")),
  retire: () => Promise.resolve(),
};

/** A step that is due. `created`: in seconds from now. */
function step(uuid: string, kind: string, created = -60) {
  const isOfPlan = kind === "change_plan" || kind === "finish";
  const detail = isOfPlan ? { plan: "premium", isAccepted: true } : {};
  return life.world.forged.aStepIsLeft({ uuid, kind, detail, sinceSeconds: -created });
}

describe("during the hold", () => {
  it.each([
    "announce",
    "change_plan",
    "finish",
    "clean_up",
    "report_failure",
    "rotate",
    "retire",
    "suspend",
    "resume",
  ])("a step %s that came with the backup waits until the end", async (kind) => {
    const uuid = await life.settled();
    await kitJson(environment(), ["after-restore"]);
    await step(uuid, kind);
    // One of the same lane that is due later, and not held, has run by then.
    const other = await life.settled("premium");
    await life.control.changePlan(other, "dedicated");
    await life.nothingLeft(other);
    expect(await rows(`SELECT kind, attempts FROM steps WHERE uuid = $1`, [uuid])).toEqual([
      { kind, attempts: 0 },
    ]);
    expect(await kitJson(environment(), ["after-restore", "--done", "--yes"])).toMatchObject({ code: 0 });
    // The vendor has none of these functions.
    if (!["rotate", "retire", "suspend", "resume"].includes(kind)) await life.nothingLeft(uuid);
  });

  it("customers who come are served, and what the platform asks is done; but nothing is pushed to those of before", async () => {
    const old = await life.settled();
    await kitJson(environment(), ["after-restore"]);
    const fresh = await life.settled();
    expect(life.varsAt(fresh)["TEAPOT_URL"]).toBeDefined();
    await life.control.changePlan(old, "premium");
    await life.resourceBecomes(old, { plan: "premium" });
    await life.platform.deprovision(fresh);
    await life.nothingLeft(fresh);
    expect(life.vendor.callsOf(fresh, "deprovision")).toHaveLength(1);
    expect(await life.steps(old)).toEqual(["announce"]);
    expect(life.patchesOf(old)).toEqual([]);
    await kitJson(environment(), ["after-restore", "--done", "--yes"]);
    await life.nothingLeft(old);
  });

  it("a put-off provision that the backup brought back is not failed, and its things stay", async () => {
    const uuid = await life.settled();
    await life.world.forged.wasRestored();
    await life.world.forged.provisionIsUnfinished(uuid, 202);
    await life.world.forged.grantWasLost(uuid);
    // Another one, as a sign that the job has run.
    const later = await life.settled();
    await life.world.forged.provisionIsUnfinished(later, 202);
    await life.world.forged.grantWasLost(later);
    await life.resourceBecomes(later, { state: "failed" });
    expect(await life.resource(uuid)).toMatchObject({ state: "provisioning" });
    // Nor after its end.
    await kitJson(environment(), ["after-restore", "--done", "--yes"]);
    expect(await life.resource(uuid)).toMatchObject({ state: "provisioning" });
    expect(life.vendor.callsOf(uuid, "deprovision")).toEqual([]);
    await life.world.forged.resourceIs(uuid, "failed");
  });

  it("a put-off provision is not failed before a process has noticed that a dump was loaded", async () => {
    const uuid = await life.settled();
    const { vault, log } = life.world.service.services;
    await life.world.service.stop();
    await life.world.forged.provisionIsUnfinished(uuid, 202);
    await life.world.forged.grantWasLost(uuid);
    await life.world.forged.isLoadedFromADump();
    await failStranded({ db: life.world.db, vault, log });
    expect(await life.resource(uuid)).toMatchObject({ state: "provisioning" });
    await life.world.forged.wasNeverRestored();
    await failStranded({ db: life.world.db, vault, log });
    expect(await life.resource(uuid)).toMatchObject({ state: "failed" });
    await life.world.restart();
  });

  it.each([
    ["config push", (uuid: string) => ["config", "push", uuid, "--yes"]],
    ["rotate", (uuid: string) => ["rotate", uuid]],
  ])("kit %s is refused, and says what to do", async (_what, words) => {
    const uuid = await life.settled();
    await asLoaded();
    const refused = await kit(environment(), words(uuid), "", { vendor: { ...life.vendor, rotation } });
    expect(refused).toMatchObject({ code: 1, stderr: said("kit after-restore") });
  });

  it("config vars are taken over from the app by --fix config_differs, and not pushed", async () => {
    const uuid = await life.settled();
    const words = ["api", "PATCH", `/addons/${uuid}/config`, "--resource", uuid];
    await kit(environment(), [
      ...words,
      "--data",
      `{"config":[{"name":"TEAPOT_URL","value":"https://newer.example"}]}`,
    ]);
    await kitJson(environment(), ["after-restore"]);
    const { data } = await kitJson<{ differences: { cure: string; kind: string }[] }>(environment(), [
      "after-restore",
    ]);
    expect(data.differences.find(({ kind }) => kind === "config_differs")!.cure).toContain(
      "--fix config_differs",
    );
    expect(await kitJson(environment(), ["reconcile", "--fix", "config_differs", "--yes"])).toMatchObject({
      data: { fixed: 1 },
    });
    expect(life.varsAt(uuid)["TEAPOT_URL"]).toBe("https://newer.example");
    expect((await kitJson(environment(), ["config", "diff", uuid])).code).toBe(0);
  });
});

describe("kit after-restore", () => {
  it("begins the hold, compares, says what to do in which order, and ends it after a question", async () => {
    const uuid = await life.settled();
    const unknown = randomUUID();
    const first = await kit(environment(), ["after-restore", "--platform-list"], `${unknown}\n`);
    expect(first.code).toBe(1);
    expect(first.stdout).toContain("the database was restored; an operator said so.");
    const places = ["unknown_here: 1", "gone_at_platform:"].map((text) => first.stdout.indexOf(text));
    expect(places[0]).toBeGreaterThan(0);
    expect(first.stdout).not.toContain("--done");
    const { data } = await kitJson(environment(), ["after-restore", "--platform-list"], `${uuid}\n`);
    expect(data).toMatchObject({ because: "an operator said so", heldSince: said("T") });
    expect(await kit(environment(), ["after-restore", "--done"])).toMatchObject({
      code: 2,
      stderr: said("--yes"),
    });
    expect(await isHeld()).toBe(true);
    expect(await kit(environment(), ["after-restore", "--done", "--yes"])).toMatchObject({
      code: 0,
      stdout: said("The hold has ended"),
    });
    expect(await kitJson(environment(), ["after-restore", "--done", "--yes"])).toMatchObject({
      code: 1,
      data: { id: "not_held" },
    });
    const trail = await kit(environment(), ["audit"]);
    expect(trail.stdout).toContain("kit after-restore --done");
  });
});
