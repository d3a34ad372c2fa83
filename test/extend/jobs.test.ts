import type { Extensions, YourJob } from "../../src/extend/contract.ts";
import { createYourJobs, planJobs } from "../../src/extend/jobs.ts";
import { runWorker } from "../../src/process/run-worker.ts";
import { aWorldOfAnOperator } from "../operator/pages/operator.ts";
import { aGate, aVendor, type Vendor } from "../support/a-vendor.ts";
import { interleavings, lost } from "../support/interleavings.ts";
import { kit, runningKit } from "../support/kit.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { eventually, opened, QUICK } from "../support/world.ts";

// Times that were missed, runs by hand, and the history of a job.

const vendor: Vendor & Extensions = aVendor();
/** What each job was run for, and what its next runs do. */
const runs: Record<string, Date[]> = {};
const next: Record<string, YourJob["run"][]> = {};
const job = (name: string, more: Partial<YourJob> = {}): YourJob => ({
  name,
  at: "0 3 * * *",
  async run(signal, run) {
    (runs[name] ??= []).push(run.dueAt);
    await next[name]?.shift()?.(signal, run);
  },
  ...more,
});
const SUNDAYS = { at: "30 2 * * 0", timeZone: "Europe/Berlin" };
vendor.jobs = [
  job("meter"),
  job("bill", { missed: "each", ...SUNDAYS }),
  job("report", { missed: "skip" }),
  job("clean", { at: "* * * * *", missed: "each" }),
];
const { moments, parts } = interleavings();
const PARTS = { ...teapotParts, vendor, pace: { ...QUICK, followMs: 20 } };
const operator = opened(() => aWorldOfAnOperator({ parts: { ...PARTS, ...parts } }));
const forged = () => operator.world.forged;
const of = (name: string) => runs[name] ?? [];
const untilAborted: YourJob["run"] = (signal) =>
  new Promise((resolve) => signal.addEventListener("abort", resolve));

interface Row {
  lease: number;
  attempts: number;
  dueAt: Date;
  isFree: boolean;
}
const row = async (name: string) =>
  (
    await operator.world.rows<Row>(
      `SELECT lease, attempts, due_at AS "dueAt", leased_until IS NULL AS "isFree" FROM your_jobs WHERE name = $1`,
      [name],
    )
  )[0];
const planned = (name: string) =>
  eventually(async () => {
    const found = await row(name);
    return found !== undefined && found.isFree && found.dueAt.getTime() > Date.now();
  });
const command = (words: string[]) => kit(operator.world.environment, words, "", PARTS);
const json = async (words: string[]) => {
  const { code, stdout } = await command([...words, "--json"]);
  return { code, data: JSON.parse(stdout) as Record<string, unknown> };
};
const history = async (name: string) => {
  const { data } = await json(["jobs", "history", name]);
  return (data["runs"] as { result: string; by: string | null; process: string; error: string | null }[]).map(
    ({ result, by, process, error }) => ({ result, by, process, error }),
  );
};

beforeAll(async () => {
  for (const { name } of vendor.jobs!) await planned(name);
});
beforeEach(async () => {
  // It would run each minute, in the middle of a test.
  await forged().yourJobWasLastPlannedFor("clean", new Date(Date.now() + HOUR_MS));
  for (const name of Object.keys(runs)) delete runs[name];
  for (const name of Object.keys(next)) delete next[name];
  await forged().nothingIsLeftOf("your_job_runs", "operator_actions");
});

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe("times that were missed while no process ran", () => {
  it("are one run unless said otherwise, for the last of them", async () => {
    await forged().yourJobWasLastPlannedFor("meter", new Date(Date.now() - 3 * DAY_MS));
    await eventually(() => of("meter").length === 1);
    await planned("meter");
    expect(of("meter")).toHaveLength(1);
    const [dueAt] = of("meter");
    expect([dueAt!.toISOString().slice(11), Date.now() - dueAt!.getTime() < DAY_MS]).toEqual([
      "03:00:00.000Z",
      true,
    ]);
  });

  it("are a run each, the oldest first, with `each`: also of the nights in which the clocks change", async () => {
    await forged().yourJobWasLastPlannedFor("bill", new Date("2026-03-22T01:30:00Z"));
    await eventually(async () => (await row("bill"))!.dueAt.getTime() > Date.now());
    const times = of("bill").map((time) => time.toISOString().slice(0, 16));
    expect(times.slice(0, 3)).toEqual(["2026-03-22T01:30", "2026-03-29T01:30", "2026-04-05T00:30"]);
    const october = times.indexOf("2026-10-25T00:30");
    expect(times.slice(october - 1, october + 2)).toEqual([
      "2026-10-18T00:30",
      "2026-10-25T00:30",
      "2026-11-01T01:30",
    ]);
    expect([...new Set(times)].sort()).toEqual(times);
    expect(Date.now() - of("bill").at(-1)!.getTime()).toBeLessThan(7 * DAY_MS);
  });

  it("are tried again in their order if one fails", async () => {
    const [first, second] = [14, 7].map((days) => new Date(Date.now() - days * DAY_MS));
    next["bill"] = [() => Promise.reject(new Error("no bank"))];
    await forged().yourJobWasLastPlannedFor("bill", first!);
    await eventually(async () => (await row("bill"))?.attempts === 1);
    const [failed] = of("bill");
    await forged().yourJobIsDueIn(0, "bill");
    await eventually(async () => of("bill").length > 2 && (await row("bill"))!.attempts === 0);
    expect(of("bill")[1]).toEqual(failed);
    expect(of("bill")[2]!.getTime() - failed!.getTime()).toBeGreaterThanOrEqual(
      second!.getTime() - first!.getTime() - HOUR_MS,
    );
    await planned("bill");
  });

  it("are at most 366 with `each`: the oldest are left out, and the log says so", async () => {
    await forged().yourJobWasLastPlannedFor("clean", new Date(Date.now() - 30 * DAY_MS));
    await eventually(() => of("clean").length > 1);
    expect(Date.now() - of("clean")[0]!.getTime()).toBeLessThan(367 * 60_000);
    expect(of("clean")[1]!.getTime() - of("clean")[0]!.getTime()).toBe(60_000);
    expect(operator.world.lines("missed more than 366 times", '"job":"clean"')).toHaveLength(1);
    await forged().yourJobWasLastPlannedFor("clean", new Date(Date.now() + HOUR_MS));
  });

  it("are left out with `skip`, and the history says so; one of a moment ago is not", async () => {
    await forged().yourJobWasLastPlannedFor("report", new Date(Date.now() - 6 * 60_000));
    await planned("report");
    expect(of("report")).toEqual([]);
    expect(await history("report")).toMatchObject([{ result: "missed" }]);
    await forged().yourJobWasLastPlannedFor("report", new Date(Date.now() - 4 * 60_000));
    await eventually(() => of("report").length === 1);
    await planned("report");
  });

  it("are not, with `skip`, the run that a dead process had begun", async () => {
    await operator.world.service.services.jobs.stop();
    await forged().yourJobWasCutOff({ attempts: 0, sinceSeconds: 600 });
    await operator.world.restart();
    await eventually(() => of("report").length === 1);
    for (const { name } of vendor.jobs!) await planned(name);
  });
});

it.each<[string, () => Promise<unknown>]>([
  ["at once", async () => undefined],
  ["after its lease has ended", () => forged().yourJobLeaseIsOver(1, null, "meter")],
])(
  "a run whose claim was not acknowledged is begun by the process that has claimed it, %s",
  async (_, happens) => {
    const failures = () => operator.world.lines("Job of yours failed", '"job":"meter"').length;
    const before = failures();
    moments.set("after claim_your_jobs", async () => {
      await happens();
      return lost();
    });
    await forged().yourJobWasLastPlannedFor("meter", new Date(Date.now() - DAY_MS));
    await eventually(() => of("meter").length === 1);
    await planned("meter");
    expect(moments.size).toBe(0);
    expect(of("meter")).toHaveLength(1);
    expect(await history("meter")).toMatchObject([{ result: "done", error: null }]);
    expect([(await row("meter"))!.attempts, failures() - before]).toEqual([0, 0]);
  },
);

describe("a release that changes the times of a job", () => {
  /** A process of another release starts, in which the job has these times. */
  const plannedBy = (name: string, times: Partial<YourJob>) =>
    planJobs(operator.world.service.services, [job(name, times)]);

  it("has them from the end of a run that the release before has begun", async () => {
    const gate = aGate();
    next["meter"] = [() => gate.opened];
    await forged().yourJobWasLastPlannedFor("meter", new Date(Date.now() - DAY_MS));
    await eventually(() => of("meter").length === 1);
    await plannedBy("meter", { at: "* * * * *" });
    gate.open();
    await planned("meter");
    expect((await row("meter"))!.dueAt.getTime() - Date.now()).toBeLessThan(61_000);
    await plannedBy("meter", {});
  });

  it("does not drop a time that has passed and is not done", async () => {
    next["bill"] = [() => Promise.reject(new Error("no bank"))];
    const before = Date.now() - 21 * DAY_MS;
    await forged().yourJobWasLastPlannedFor("bill", new Date(before));
    await eventually(async () => (await row("bill"))?.attempts === 1);
    await plannedBy("bill", { ...SUNDAYS, at: "30 4 * * 0" });
    await forged().yourJobIsDueIn(0, "bill");
    await planned("bill");
    const times = of("bill").map((time) => time.getTime());
    expect(times.length).toBeGreaterThanOrEqual(3);
    expect(times[1]! - times[0]!).toBeLessThan(DAY_MS);
    await plannedBy("bill", SUNDAYS);
  });
});

describe("kit jobs run", () => {
  it("runs a job now and says how it ended; its timetable stays, and it is in the audit trail and the history", async () => {
    const before = (await row("meter"))!.dueAt;
    const { code, data } = await json(["jobs", "run", "meter"]);
    expect([code, data]).toEqual([
      0,
      expect.objectContaining({
        job: "meter",
        result: "done",
        by: expect.any(String),
        process: expect.stringMatching(/^kit .+:\d+$/),
      }),
    ]);
    expect(of("meter")).toHaveLength(1);
    expect((await row("meter"))!.dueAt).toEqual(before);
    expect(await operator.audit()).toMatchObject([{ action: "kit jobs run meter", state: "done" }]);
    expect(await history("meter")).toMatchObject([
      { result: "done", process: expect.stringMatching(/^kit /) },
    ]);
    const { stdout } = await command(["jobs", "run", "meter"]);
    expect(stdout).toMatch(
      /^meter, for \S+ 03:00:00 UTC: done in \d+ s\. The next run is at \S+ 03:00:00 UTC\.\n$/,
    );
  });

  it("runs it in its own process, however often the others look for due jobs", async () => {
    const looks = interleavings();
    const theirs = createYourJobs(operator.world.service.services, vendor.jobs!);
    looks.moments.set("before claim_your_jobs", () => theirs.runDue());
    const { stdout } = await kit(operator.world.environment, ["jobs", "run", "meter", "--json"], "", {
      ...PARTS,
      ...looks.parts,
    });
    expect(JSON.parse(stdout)).toMatchObject({ process: expect.stringMatching(/^kit /) });
    expect([looks.moments.size, of("meter").length]).toEqual([0, 1]);
    await theirs.ended();
  });

  it("fails with the job, which is tried again as always", async () => {
    next["meter"] = [() => Promise.reject(new Error("no broker"))];
    const { code, stdout } = await command(["jobs", "run", "meter"]);
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/failed after \d+ s: no broker\. It is tried again at /),
    ]);
    expect(await row("meter")).toMatchObject({ attempts: 1 });
    const { stdout: list } = await command(["jobs", "list"]);
    expect(list).toMatch(/✗ meter fails since .+: no broker\./);
    expect((await command(["jobs", "run", "meter"])).code).toBe(0);
    expect(await row("meter")).toMatchObject({ attempts: 0 });
  });

  it("begins nothing while the job runs, and says since when and where; Ctrl-C stops the run for good", async () => {
    next["meter"] = [untilAborted];
    const first = runningKit(operator.world.environment, ["jobs", "run", "meter"], PARTS);
    await eventually(() => of("meter").length === 1);
    const { code, data } = await json(["jobs", "run", "meter"]);
    const words =
      /^meter runs already since \S+ \S+ \(.+\) in kit \S+:\d+, as \S+ asked\. Nothing was begun\.$/;
    expect([code, data]).toEqual([1, { id: "job_runs", message: expect.stringMatching(words) }]);
    expect((await command(["jobs", "list"])).stdout).toMatch(/– meter runs in kit .+, as .+ asked\./);
    const { data: list } = await json(["jobs", "list"]);
    expect(list["jobs"]).toContainEqual(expect.objectContaining({ name: "meter", asked: null }));
    first.signal("SIGINT");
    expect(await first.ended).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("stopped with its process"),
    });
    await planned("meter");
    expect(of("meter")).toHaveLength(1);
  });

  it("is repeated by another process if its own is killed", async () => {
    next["meter"] = [() => new Promise(() => undefined)];
    const killed = runningKit(operator.world.environment, ["jobs", "run", "meter"], PARTS);
    await eventually(() => of("meter").length === 1);
    // As after a minute without a process that extends the lease. The command lives, and may extend it before it is taken.
    const { lease } = (await row("meter"))!;
    await eventually(async () => {
      await forged().yourJobLeaseIsOver(1, lease);
      return of("meter").length === 2;
    });
    expect(await killed.ended).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("its process ended"),
    });
    await planned("meter");
    expect((await history("meter")).map(({ result }) => result)).toEqual(["done", "died"]);
    expect(of("meter")[1]).toEqual(of("meter")[0]);
  });

  it.each([
    ["run", "oil"],
    ["history", "oil"],
  ])("%s %s: a job that is not there is named with those that are", async (...words) => {
    const { code, data } = await json(["jobs", ...words]);
    expect([code, data]).toEqual([
      2,
      { id: "used_wrongly", message: 'Your service has no job "oil". Jobs: meter, bill, report, clean.' },
    ]);
  });
});

it("kit jobs list shows when each job is next and how its last run ended, and those that the code has no more", async () => {
  await command(["jobs", "run", "meter"]);
  await forged().yourJobWasRemoved("oil");
  const { data } = await json(["jobs", "list"]);
  expect(data["jobs"]).toMatchObject([
    {
      name: "bill",
      at: "30 2 * * 0",
      timeZone: "Europe/Berlin",
      missed: "each",
      next: expect.any(String),
      last: null,
    },
    { name: "clean" },
    {
      name: "meter",
      at: "0 3 * * *",
      timeZone: "UTC",
      missed: "once",
      last: { result: "done" },
      failures: 0,
      running: null,
    },
    { name: "oil", isRemoved: true, next: null, missed: null },
    { name: "report" },
  ]);
  const { stdout } = await command(["jobs", "list"]);
  expect(stdout).toMatch(/^bill +30 2 \* \* 0 Europe\/Berlin +\d{4}-\S+ \S+ \(in .+\)$/m);
  expect(stdout).toMatch(/^meter .+ done in \d+ s$/m);
  expect(stdout).toMatch(/^oil +removed from the code$/m);
  expect((await json(["jobs", "run", "oil"])).code).toBe(2);
  expect((await operator.get("/jobs")).text).toContain("removed from the code");
});

it("of each job the last 200 runs are kept, none for longer than 90 days, and they are shown page by page", async () => {
  await forged().yourJobRan("meter", 5, 91);
  await forged().yourJobRan("meter", 230, 1);
  await forged().yourJobRan("bill", 5, 91);
  await forged().yourJobRan("bill", 2, 89);
  const count = `SELECT name, count(*)::int AS count FROM your_job_runs GROUP BY name ORDER BY name`;
  await eventually(async () =>
    expect(await operator.world.rows(count)).toEqual([
      { name: "bill", count: 2 },
      { name: "meter", count: 200 },
    ]),
  );
  const first = await json(["jobs", "history", "meter"]);
  expect(first.data["runs"]).toHaveLength(50);
  const second = await json(["jobs", "history", "meter", "--after", String(first.data["next"])]);
  const ids = [first, second].flatMap(({ data }) => (data["runs"] as { id: number }[]).map(({ id }) => id));
  expect(new Set(ids).size).toBe(100);
  const { stdout } = await command(["jobs", "history", "meter", "--json-lines"]);
  expect(stdout.trim().split("\n")).toHaveLength(200);
});

describe("the operator's pages", () => {
  it("show the jobs and their runs, and run one, which the audit trail has", async () => {
    expect((await operator.get("/jobs")).text).toMatch(/meter 0 3 \* \* \* UTC .+ Run now/);
    next["meter"] = [() => Promise.reject(new Error("no <broker>"))];
    const { text } = await operator.done("/jobs/meter/run-meter");
    expect(text).toMatch(
      /meter, for \S+ 03:00:00 UTC: failed after \d+ s: no <broker>\. It is tried again at /,
    );
    const page = await operator.get("/jobs/meter");
    expect(page.text).toContain("no <broker>");
    expect(page.text).toMatch(/1 failed run since .+ failed after \d+ s no <broker> operator web \S+:\d+/);
    await operator.done("/jobs/meter/run-meter");
    expect(await operator.audit()).toMatchObject([
      { action: "run-meter", state: "failed" },
      { action: "run-meter", state: "done" },
    ]);
    expect((await operator.get("/jobs/oil-of-none")).status).toBe(404);
  });

  it("of a process without jobs hand a run to one that runs jobs; without one they say what to start", async () => {
    await operator.world.restart({ environment: { WEB_JOBS: "off" } });
    await forged().jobLastRan("run-your-jobs", 300);
    const none = await operator.done("/jobs/meter/run-meter");
    expect(none.text).toMatch(/No process has looked for due jobs for 5 min\. Start a worker, /);
    expect(of("meter")).toEqual([]);
    const worker = await runWorker(teapotConfig(operator.world.environment), {
      ...PARTS,
      logTo: { write: () => undefined },
    });
    await worker.ready;
    await eventually(
      async () =>
        (
          await operator.world.rows(
            `SELECT FROM heartbeats WHERE name = 'run-your-jobs' AND at > now() - interval '1 minute'`,
          )
        ).length > 0,
    );
    const { text } = await operator.done("/jobs/meter/run-meter");
    expect(text).toContain("done in");
    expect(await history("meter")).toMatchObject([
      { result: "done", by: "operator", process: expect.stringMatching(/^worker /) },
    ]);
    await worker.stop();
    // A worker that has just ended is no longer there to take it.
    const restless = { ...PARTS, pace: { ...PARTS.pace, handOverMs: 100 } };
    await operator.world.restart({ environment: { WEB_JOBS: "off" }, parts: restless });
    const late = await operator.done("/jobs/meter/run-meter");
    expect(late.text).toContain("No process has begun meter for 0 s. Start a worker");
    // What was asked for is withdrawn.
    await planned("meter");
    await operator.world.restart();
    await planned("meter");
    expect(of("meter")).toHaveLength(1);
  });
});
