import type { Parts } from "../../src/context.ts";
import type { DoctorReport } from "../../src/operator/doctor/doctor.ts";
import { runWorker } from "../../src/process/run-worker.ts";
import type { RunningService } from "../../src/process/start-up.ts";
import { build } from "../../src/version.ts";
import { operator as scraper } from "../metrics/operator.ts";
import { aWorldOfAnOperator } from "../operator/pages/operator.ts";
import { startDatabaseProxy } from "../support/database-proxy.ts";
import { kit, kitJson } from "../support/kit.ts";
import { saidTwice } from "../support/said-twice.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { eventually, opened, QUICK } from "../support/world.ts";
import { aRow } from "./rows.ts";

// Every process has a row: what it says, and what the others make of it.

/** Ten times as fast: a process is missing after six seconds. */
const pace = { ...QUICK, beatMs: 1_000 };
const operator = opened(() => aWorldOfAnOperator({ parts: { pace } }));
const rows: (typeof operator.world)["rows"] = (...asked) => operator.world.rows(...asked);
const running: RunningService[] = [];
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop();
  await operator.world.forged.madeUpProcessesAreGone();
});

/** A worker in this process, and what it logs. */
async function aWorker(environment: Record<string, string> = {}, parts: Partial<Parts> = {}) {
  const lines: string[] = [];
  const logTo = { write: (line: string) => void lines.push(line) };
  const config = teapotConfig({ ...operator.world.environment, ...environment });
  const worker = await runWorker(config, { ...teapotParts, pace, logTo, ...parts });
  running.push(worker);
  await worker.ready;
  return {
    worker,
    lines: (...texts: string[]) => lines.filter((line) => texts.every((text) => line.includes(text))),
  };
}

interface Listed {
  processes: Record<string, unknown>[];
}
const listed = async () => (await kitJson<Listed>(operator.world.environment, ["processes"])).data.processes;
const found = async (id: string, environment: Record<string, string> = {}) => {
  const { stdout } = await kit({ ...operator.world.environment, ...environment }, ["doctor", "--json"], "", {
    pace,
  });
  const report = JSON.parse(stdout) as DoctorReport;
  expect(saidTwice(report)).toEqual([]);
  return report.checks.find((check) => check.id === id)!;
};
const said = (part: string): unknown => expect.stringContaining(part);
const overview = (part: string) =>
  eventually(async () => expect((await operator.get()).text).toContain(part));
const valueOf = async (series: string) => (await scraper(operator.world).samples()).get(series) ?? 0;

describe("the row of a process", () => {
  it("says who it is, that it runs, and that it has ended", async () => {
    const { worker } = await aWorker();
    const own = { host: said(""), pid: process.pid, version: build.version, commit: build.commit };
    await eventually(async () =>
      expect(await listed()).toMatchObject([
        { ...own, role: "worker", state: "ready", keyId: said(""), why: null, lastRefusedWrite: null },
        { ...own, role: "web", state: "ready", node: process.versions.node },
      ]),
    );
    const iso = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    const [before] = await listed();
    expect(before).toMatchObject({ startedAt: iso, lastBeatAt: iso });
    await eventually(async () => expect((await listed())[0]!["lastBeatAt"]).not.toBe(before!["lastBeatAt"]));
    const human = await kit(operator.world.environment, ["processes"]);
    expect(human.stdout).toMatch(
      /^STATE +ROLE +HOST:PID +VERSION[^]*\nready +worker [^]*\n2 of 2 rows ready/,
    );
    await overview(`worker ${String(before!["host"])}:${process.pid} ready`);
    expect(await found("processes")).toMatchObject({
      ok: true,
      fix: null,
      message: said(`2 run, of build ${build.version}`),
    });
    await worker.stop();
    expect((await listed()).map(({ role, state }) => [role, state])).toEqual([["web", "ready"], ["worker", "stopped"]]); // prettier-ignore
    expect(await found("processes")).toMatchObject({ ok: true, message: said("1 run") });
  });

  it("is written again when it was lost, and is pruned a day after the end", async () => {
    await operator.world.forged.nothingIsLeftOf("processes");
    await aRow(operator.world, { state: "stopped", beat: 90_000 });
    await aRow(operator.world, { state: "ready", beat: 90_000 });
    const kept = await aRow(operator.world, { state: "stopped", beat: 80_000 });
    await eventually(async () => {
      const all = await listed();
      expect(all.map(({ state }) => state)).toEqual(["ready", "stopped"]);
      expect(all[1]).toMatchObject({ pid: kept });
    });
  });

  it("is not brought back to life by a beat that was late", async () => {
    await operator.world.forged.processesStopped();
    const beats = () => rows(`SELECT beat_at FROM processes`);
    const before = await beats();
    operator.world.service.services.presence.become("ready");
    await aWorker();
    await eventually(async () => expect((await listed()).map(({ role }) => role)).toContain("worker"));
    expect(await beats()).toEqual(expect.arrayContaining(before));
    await operator.world.restart();
  });
});

describe("a process that stops beating", () => {
  it("raises one alarm, however many see it, and is found; when it beats again, that ends", async () => {
    const workers = [await aWorker(), await aWorker()];
    const pid = await aRow(operator.world, { role: "worker", beat: 95 });
    const own = `"pid":${pid},`;
    const noticed = () => [...workers, operator.world].flatMap(({ lines }) => lines("process_missing", own));
    await eventually(async () =>
      expect(await rows(`SELECT 1 FROM processes WHERE missed_at IS NOT NULL`)).toHaveLength(1),
    );
    await overview(`worker elsewhere:${pid} has sent no heartbeat: it was killed`);
    const [fault] = [await found("processes")];
    expect(fault).toMatchObject({
      ok: true,
      message: said("or cannot reach the database"),
      fix: said("kill it"),
    });
    expect(await valueOf("addon_missing_beat_age_seconds")).toBeGreaterThan(90);
    const labels = `version="${build.version}",commit="${build.commit}"`;
    expect(await valueOf(`addon_processes{role="worker",state="missing",${labels}}`)).toBe(1);
    await operator.world.forged.processBeats(pid);
    await eventually(async () => expect(await valueOf("addon_missing_beat_age_seconds")).toBe(0));
    expect(noticed()).toHaveLength(1);
  });

  it.each<[what: string, state: string, change: string]>([
    ["beside one that beats", "missing", "why = NULL"],
    ["for more than an hour", "gone", "beat_at = now() - interval '61 minutes'"],
    ["and had written that it stopped", "stopped", "state = 'stopped'"],
  ])("counts, %s, as %s", async (_, state, change) => {
    await aRow(operator.world, { beat: 600 });
    await rows(`UPDATE processes SET ${change} WHERE host = 'elsewhere'`);
    // A command is as slow as a service: others must have beaten for a minute.
    await eventually(async () => expect((await listed()).map((each) => each["state"])).toContain(state));
  });

  it("is a fault while no other of its role was started since", async () => {
    await aRow(operator.world, { role: "worker", beat: 95 });
    await eventually(async () =>
      expect(await found("processes")).toMatchObject({ ok: false, fix: said("start another one") }),
    );
  });
});

it("an outage of the database makes no process missing", async () => {
  const proxy = await startDatabaseProxy(operator.world.environment["DATABASE_URL"]!);
  const through = { DATABASE_URL: proxy.url };
  const both = [await aWorker(through), await aWorker(through)];
  await operator.world.service.stop();
  const beats = async () => (await rows<{ at: Date }>(`SELECT beat_at AS at FROM processes WHERE role = 'worker' AND state <> 'stopped' ORDER BY id`)).map(({ at }) => Number(at)); // prettier-ignore
  proxy.mode("refuse");
  const [before] = [await beats()];
  await eventually(async () => {
    const [{ seconds }] = (await rows<{ seconds: number }>(`SELECT extract(epoch FROM now() - max(beat_at))::float8 AS seconds FROM processes WHERE role = 'worker' AND state <> 'stopped'`)) as [{ seconds: number }]; // prettier-ignore
    expect(seconds).toBeGreaterThan(9);
  });
  proxy.mode("ok");
  // Each has beaten, and looked for the other, for a while.
  await eventually(async () => {
    const now = await beats();
    expect(now.map((at, index) => at - before![index]!).filter((ms) => !(ms > 13_000))).toEqual([]);
  });
  for (const { lines } of both) expect(lines("process_missing")).toEqual([]);
  for (const each of running.splice(0)) await each.stop();
  await proxy.close();
  await operator.world.restart();
});

it("a process that seals with a key which others lack raises an alarm, and is found, until it ends", async () => {
  const OLD = operator.world.environment["ENCRYPTION_KEY"]!;
  const NEW = "a-key-that-the-others-do-not-have-yet-".repeat(2);
  const { worker, lines } = await aWorker({ ENCRYPTION_KEY: NEW, DECRYPTION_KEYS: OLD });
  const [line] = await eventually(() => (lines("keys_differ").length > 0 ? lines("keys_differ") : null));
  const { keyId } = worker.services.vault;
  expect(JSON.parse(line!)).toMatchObject({ level: "error", keyId, processes: [said("web ")] });
  expect(await found("processes")).toMatchObject({
    ok: false,
    message: said(`seals with key ${keyId}, which web `),
  });
  await eventually(async () => expect(await valueOf("addon_keys_differ")).toBe(1));
  await overview(`seals with key ${keyId}`);
  await worker.stop();
  expect(lines("keys_differ")).toHaveLength(1);
  await eventually(async () => expect(await valueOf("addon_keys_differ")).toBe(0));
  expect(await found("processes")).toMatchObject({ ok: true });
  // Nothing was sealed with it.
  await operator.world.forged.keyWasNeverUsed(keyId);
});

it("two builds are a warning after an hour, fewer processes than expected a fault", async () => {
  await operator.world.forged.processesStarted(2 * 3_600, { role: "web" });
  await aRow(operator.world, { version: "0.9.0", started: 3_500, beat: -3_600 });
  expect(await found("processes", { PROCESSES_EXPECTED: "2" })).toMatchObject({ ok: true, fix: null });
  await operator.world.forged.processesStarted(61 * 60, { version: "0.9.0" });
  const builds = said("2 builds run beside each other: ");
  expect(await found("processes")).toMatchObject({ ok: true, message: builds, fix: said("roll it back") });
  const few = said("2 of the 3 processes of PROCESSES_EXPECTED are ready.");
  expect(await found("processes", { PROCESSES_EXPECTED: "3" })).toMatchObject({ ok: false, message: few });
  await operator.world.restart({ environment: { PROCESSES_EXPECTED: "3" } });
  expect(await valueOf("addon_processes_expected")).toBe(3);
  await overview("2 of the 3 processes of PROCESSES_EXPECTED are ready.");
  await operator.world.restart();
  expect(await valueOf("addon_processes_expected")).toBe(0);
});

it("one that ended with 78 is a fault until another of its role is ready, or for an hour", async () => {
  await aRow(operator.world, {
    role: "worker",
    state: "misconfigured",
    why: "SWEEP_CRON",
    beat: 100,
    started: 101,
  });
  expect(await found("processes")).toMatchObject({
    ok: false,
    message: said("code 78; at fault: SWEEP_CRON."),
  });
  await eventually(async () => expect(await valueOf("addon_processes_misconfigured")).toBe(1));
  await overview("misconfigured SWEEP_CRON");
  await aWorker();
  await eventually(async () => expect(await found("processes")).toMatchObject({ ok: true }));
  await eventually(async () => expect(await valueOf("addon_processes_misconfigured")).toBe(0));
});

it("that none runs is a fault", async () => {
  await operator.world.service.stop();
  expect(await found("processes")).toMatchObject({
    ok: false,
    message: "No process runs: the last one has ended.",
    since: said("T"),
  });
  await operator.world.restart();
});

describe("clocks that differ", () => {
  /** The database's clock, ten minutes ahead. */
  const wrapDatabase: Parts["wrapDatabase"] = (db) => ({
    ...db,
    query: async (...asked) => {
      const answer = (await db.query(...asked)) as { nowMs?: number }[];
      return answer.map((row) => (row.nowMs ? { ...row, nowMs: row.nowMs + 600_000 } : row)) as never;
    },
  });
  it("raise an alarm, and are found and measured", async () => {
    await operator.world.restart({ parts: { wrapDatabase } });
    await operator.life.settled();
    const [line] = await eventually(() => {
      const lines = operator.world.lines("clocks_apart");
      return lines.length > 0 ? lines : null;
    });
    expect(line).toMatch(/"msg":"The database's clock is (600|601|599) s ahead of /);
    await eventually(async () => expect(await valueOf(`addon_clocks_apart_seconds{between="database_platform"}`)).toBeGreaterThan(590)); // prettier-ignore
    expect(await valueOf(`addon_clocks_apart_seconds{between="platform_process"}`)).toBeLessThan(5);
    // This command's own database is right: it takes the word of the process.
    expect(await found("clocks")).toMatchObject({
      ok: false,
      message: said("The database's clock is"),
      fix: said("NTP"),
    });
    await overview("The database's clock is");
    // One before the platform has answered, one that says that two clocks agree.
    expect(operator.world.lines("clocks_apart").length).toBeLessThan(3);
    await operator.world.restart();
    await eventually(async () => expect(await found("clocks")).toMatchObject({ ok: true, fix: null }));
  });
});
