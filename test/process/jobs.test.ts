import { setTimeout as sleep } from "node:timers/promises";
import { jest } from "@jest/globals";
import { DatabaseUnavailable, refused } from "../../src/database/retry.ts";
import { createJobs, type Job, type Jobs } from "../../src/jobs/run.ts";
import { createLog } from "../../src/logging/log.ts";
import { createScrubber } from "../../src/secret.ts";
import { databaseError } from "../support/interleavings.ts";
import { eventually } from "../support/world.ts";

let jobs: Jobs;
const beats: string[] = [];
const lines: string[] = [];
const log = createLog("info", createScrubber(""), { write: (line) => void lines.push(line) });
const started = (...given: Job[]) => startedAt("* * * * * *", ...given);
function startedAt(cron: string, ...given: Job[]): void {
  jobs = createJobs({ jobs: given, beat: async (name) => void beats.push(name), log, soonMs: 50 });
  jobs.start(cron);
}
afterEach(async () => {
  jest.useRealTimers();
  jest.restoreAllMocks();
  await jobs.stop();
});

describe("a job", () => {
  it("that throws runs again at the next tick, and does not stop the others", async () => {
    let tries = 0;
    const fails = { name: "fails", run: () => Promise.reject(new Error(`no ${(tries += 1)}`)) };
    started(fails, { name: "works", run: async () => {} });
    await eventually(() => tries >= 2 && beats.filter((name) => name === "works").length >= 2);
    expect(beats).not.toContain("fails");
    expect(lines.join("")).toMatch(/"job":"fails".*no 1/);
  });

  it.each<[string, string, unknown]>([
    ["a lost connection", "warn", databaseError("08006")],
    ["a conflict", "warn", databaseError("40001")],
    ["an outdated plan", "warn", Object.assign(databaseError("0A000"), { routine: "RevalidateCachedQuery" })],
    ["a wait in vain", "warn", new DatabaseUnavailable("in vain", { cause: databaseError("57P03") })],
    ["no connection left", "warn", refused(databaseError("53300"))],
    [
      "a wait in vain for room on the disk",
      "error",
      new DatabaseUnavailable("x", { cause: databaseError("53100") }),
    ],
    ["a full disk", "error", databaseError("53100")],
    ["a statement that takes too long", "error", databaseError("57014")],
    ["a table that is missing", "error", databaseError("42P01")],
    ["a fault of the code", "error", new TypeError("x is not a function")],
  ])("that fails by %s is logged as %s", async (name, level, error) => {
    started({ name, run: () => Promise.reject(error as Error) });
    await eventually(() => lines.some((line) => line.includes(`"job":"${name}"`)));
    const line = JSON.parse(lines.find((each) => each.includes(`"job":"${name}"`))!) as unknown;
    expect(line).toMatchObject({ level, msg: "A job failed; the next tick retries" });
  });

  it("runs although the event loop was held over the second of its tick", async () => {
    let runs = -1;
    const second = new Date(Date.now() + 2_000).getSeconds();
    startedAt(`${second} * * * * *`, { name: "held", run: async () => void (runs += 1) });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_500);
    // Once at the start, and once at its tick.
    await eventually(() => runs === 1);
  });

  it("that knows when its work is due, within 70 seconds, needs no tick for it", async () => {
    jest.useFakeTimers({ doNotFake: ["performance"] });
    let runs = 0;
    const run = async () => void (runs += 1);
    startedAt("0 0 1 1 *", { name: "knows", run, nextInSeconds: async () => 66 });
    await jest.advanceTimersByTimeAsync(65_000);
    expect(runs).toBe(1);
    await jest.advanceTimersByTimeAsync(2_000);
    expect(runs).toBe(2);
  });

  it("that hangs is not run twice at once; after a minute it is started again, with an alarm", async () => {
    const now = performance.now.bind(performance);
    let later = 0;
    jest.spyOn(performance, "now").mockImplementation(() => now() + later);
    const ends: (() => void)[] = [];
    started({ name: "hangs", run: () => new Promise<void>((resolve) => ends.push(resolve)) });
    await eventually(() => ends.length === 1);
    await sleep(2_100);
    expect(ends).toHaveLength(1);
    later = 61_000;
    await eventually(() => ends.length === 2);
    expect(lines.join("")).toMatch(/"alarm":"job_hangs","job":"hangs"/);
    for (const end of ends) end();
    await eventually(() => beats.includes("hangs"));
    for (const end of ends) end();
    const stopped = jobs.stop();
    while (ends.length > 2) ends.pop()!();
    await stopped;
  });

  it("raises no alarm when its process was frozen for more than a minute", async () => {
    const [now, date] = [performance.now.bind(performance), Date.now.bind(Date)];
    let later = 0;
    jest.spyOn(performance, "now").mockImplementation(() => now() + later);
    jest.spyOn(Date, "now").mockImplementation(() => date() + later);
    let end = () => {};
    let runs = 0;
    started({ name: "frozen", run: () => new Promise<void>((resolve) => ((runs += 1), (end = resolve))) });
    await eventually(() => runs === 1);
    later = 61_000;
    await sleep(2_100);
    end();
    expect(runs).toBe(1);
    expect(lines.join("")).not.toContain('"job":"frozen"');
    await eventually(() => beats.includes("frozen"));
  });
});
