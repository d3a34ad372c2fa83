import { jest } from "@jest/globals";
import type { Context } from "../../src/context.ts";
import { statement } from "../../src/database/database.ts";
import { claimSteps, holdStep, putOffStep } from "../../src/work/queue.ts";
import { createStepRunner } from "../../src/work/runner.ts";
import type { Step } from "../../src/work/step.ts";
import { createWorkerPool } from "../../src/work/worker-pool.ts";
import { aGate } from "../support/a-vendor.ts";
import { anOpenDatabase } from "../support/open-database.ts";
import { eventually } from "../support/world.ts";

const opened = anOpenDatabase();
afterEach(() => jest.useRealTimers());

it("a step whose work takes more than twenty minutes is cut off and put off", async () => {
  jest.useFakeTimers();
  const put: unknown[] = [];
  const never = () => new Promise<never>(() => undefined);
  const ctx = {
    db: {
      async query({ name }: { name: string }, values: unknown[]) {
        if (name === "put_off_step") put.push(values);
        return [{}];
      },
    },
    platformFor: () => ({ addons: { own: never }, attachments: { ofAddon: never } }),
    trace: { inSpan: (_name: string, _of: object, work: () => unknown) => work(), failed: () => undefined },
    ...{ log: { warn: () => undefined }, scrubber: { scrub: (text: string) => text }, pace: { pauses: 1 } },
    nudge: () => undefined,
  } as unknown as Context;
  const resource = { uuid: "u", state: "provisioned", sealedLogInputUrl: null, sealedLogDrainToken: null };
  void createStepRunner(ctx).start({ kind: "discover", attempts: 1, detail: {}, resource } as Step);
  await jest.advanceTimersByTimeAsync(1_200_000 - 1);
  expect(put).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(put).toEqual([expect.arrayContaining(["The step took too long."])]);
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
