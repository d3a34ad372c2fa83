import { jest } from "@jest/globals";
import type { Context } from "../../src/context.ts";
import { statement } from "../../src/database/database.ts";
import { claimSteps, holdStep, putOffStep } from "../../src/work/queue.ts";
import { holding } from "../../src/work/runner.ts";
import type { Step } from "../../src/work/step.ts";
import { anOpenDatabase } from "../support/open-database.ts";

const opened = anOpenDatabase();
const step = { key: "k", lease: 1, resource: { uuid: "u" } } as Step;

afterEach(() => {
  jest.useRealTimers();
});

it.each([
  ["the lease is lost", false, 3_000, "no longer ours"],
  ["it takes more than twenty minutes", true, 1_200_000, "took too long"],
])("the signal of a step's work is aborted when %s, and the step ends", async (_, isOurs, ms, words) => {
  jest.useFakeTimers();
  const ctx = { db: { query: async () => (isOurs ? [{}] : []) } } as unknown as Context;
  let signal!: AbortSignal;
  const work = (given: AbortSignal) => ((signal = given), new Promise<never>(() => undefined));
  const failure = holding(ctx, step, new AbortController().signal, work).catch((error: Error) => error);
  await jest.advanceTimersByTimeAsync(ms - 1);
  expect(signal.aborted).toBe(false);
  await jest.advanceTimersByTimeAsync(1);
  expect(signal.aborted).toBe(true);
  expect(await failure).toMatchObject({ message: expect.stringContaining(words) });
});

it("an extension of its lease that comes after a step was put off does not hold it back", async () => {
  const db = opened.database;
  const uuid = "11111111-2222-4333-8444-555555555555";
  const run = (text: string) => db.query(statement("", text), [uuid]);
  await run(
    `INSERT INTO resources (uuid, plan, applied_plan, state) VALUES ($1, 'basic', 'basic', 'provisioned')`,
  );
  await run(`INSERT INTO steps (uuid, kind, due_at) VALUES ($1, 'finish', now())`);
  const [claimed] = await claimSteps(db, "vendor", 1);
  expect(await holdStep(db, claimed!)).toBe(true);
  await putOffStep(db, claimed!, 0, {});
  expect(await holdStep(db, claimed!)).toBe(false);
  expect(await claimSteps(db, "vendor", 1)).toMatchObject([{ lease: claimed!.lease + 1 }]);
});
