import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { PACE } from "../../src/pace.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { createBacklog } from "../../src/due-work/backlog.ts";
import { createWorkerPool } from "../../src/due-work/worker-pool.ts";
import { createGivingWay } from "../../src/resources/steps/giving-way.ts";
import type { Lane } from "../../src/resources/steps/lanes.ts";
import type { StepQueue } from "../../src/resources/steps/queue.ts";
import { createStepRunner, type StepHandlers } from "../../src/resources/steps/runner.ts";
import { createScrubber } from "../../src/logging/scrubber.ts";
import { aGate, aVendor } from "../support/a-vendor.ts";
import { aWorld, eventually, type World } from "../support/world.ts";

/** A pool whose rows are under way until the test ends them. */
function aPool(rows: number, { concurrency, forNow }: { concurrency: number; forNow?: () => number }) {
  const left = Array.from({ length: rows }, (_, row) => row);
  const ends: (() => void)[] = [];
  const pool = createWorkerPool<number>({
    claim: async (most) => left.splice(0, most),
    handle: () => new Promise((resolve) => ends.push(resolve)),
    concurrency,
    ...(forNow && { forNow }),
    onEnd: () => undefined,
  });
  const filled = pool.fill(new AbortController().signal);
  return {
    pool,
    ends,
    started: () => rows - left.length,
    async endAll() {
      while (left.length > 0 || ends.length > 0) {
        ends.splice(0).forEach((end) => end());
        await new Promise(setImmediate);
      }
      await filled;
    },
  };
}

it("a worker pool reports a backlog for as long as more is due than it can start", async () => {
  const { pool, ends, started, endAll } = aPool(5, { concurrency: 2 });
  expect(pool.isBacklogged()).toBe(false);
  await eventually(() => expect(started()).toBe(2));
  expect(pool.isBacklogged()).toBe(true);
  ends.splice(0).forEach((end) => end());
  await eventually(() => expect(started()).toBe(4));
  expect(pool.isBacklogged()).toBe(true);
  await endAll();
  await eventually(() => expect(pool.isBacklogged()).toBe(false));
});

it("a worker pool is settled when the last of its rows has ended", async () => {
  const { pool, ends, started, endAll } = aPool(2, { concurrency: 2 });
  await eventually(() => expect(started()).toBe(2));
  let isSettled = false;
  const settled = pool.settled().then(() => (isSettled = true));
  ends.pop()!();
  await new Promise(setImmediate);
  expect(isSettled).toBe(false);
  ends.pop()!();
  await settled;
  await endAll();
});

it("a backlog ends a second after the pool was last full", () => {
  let now = 50_000;
  const backlog = createBacklog(() => now);
  const isThereAfter = (ms: number) => ((now += ms), backlog.isThere());
  const sawAfter = (ms: number, isFull: boolean) => ((now += ms), backlog.observe(isFull), backlog.isThere());
  expect(backlog.isThere()).toBe(false);
  expect(sawAfter(0, false)).toBe(false);
  expect(sawAfter(0, true)).toBe(true);
  // Nothing is claimed while all places are taken.
  expect(isThereAfter(5_000)).toBe(true);
  expect(sawAfter(0, false)).toBe(true);
  expect(sawAfter(900, false)).toBe(true);
  expect(sawAfter(0, true)).toBe(true);
  expect(sawAfter(10, false)).toBe(true);
  expect(sawAfter(990, false)).toBe(true);
  expect(isThereAfter(9)).toBe(true);
  expect(isThereAfter(1)).toBe(false);
  expect(sawAfter(0, true)).toBe(true);
});

it("a worker pool whose limit is lowered starts no more, and starts the rest as soon as the limit is raised", async () => {
  let most = 2;
  const { pool, ends, started, endAll } = aPool(12, { concurrency: 8, forNow: () => most });
  await eventually(() => expect(started()).toBe(2));
  ends.shift()!();
  await eventually(() => expect(started()).toBe(3));
  expect(ends).toHaveLength(2);
  most = 8;
  await eventually(() => expect(ends).toHaveLength(8));
  await endAll();
  await pool.settled();
});

it("a worker pool with a lowered limit checks the limit about ten times a second, however many rows end", async () => {
  let looks = 0;
  const held = { concurrency: 8, forNow: () => ((looks += 1), 1) };
  const { ends, started, endAll } = aPool(200, held);
  for (let ended = 1; ended <= 100; ended++) {
    await eventually(() => ends.length > 0);
    ends.shift()!();
    await new Promise(setImmediate);
  }
  await eventually(() => expect(started()).toBe(101));
  const before = looks;
  await sleep(500);
  expect(looks - before).toBeGreaterThan(0);
  expect(looks - before).toBeLessThan(20);
  await endAll();
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
    concurrency: 8,
    onEnd: () => undefined,
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
    concurrency: 1,
    onEnd: () => undefined,
  });
  const { signal } = new AbortController();
  const [failed, next] = [pool.fill(signal), pool.fill(signal)];
  claim.open();
  await expect(failed).rejects.toThrow("away");
  expect(await next).toBe(1);
  expect(begun).toEqual([1]);
});

let world: World;
const vendor = aVendor();
const finishing = aGate();
/** The number of calls that reached the token endpoint; the first and the seventh wait for `line`. */
let called = 0;
let line = aGate();
beforeAll(async () => {
  // One call at a time; two grants are claimed for it.
  world = await aWorld({
    parts: {
      vendor,
      wrapTokenEndpoint: (endpoint) => ({
        ...endpoint,
        async exchange(...grant) {
          called += 1;
          if (called === 1 || called === 7) await line.opened;
          return endpoint.exchange(...grant);
        },
      }),
    },
    environment: { TOKEN_CONCURRENCY: "1" },
  });
});
afterAll(async () => {
  line.open();
  finishing.open();
  await world.close();
});

it("while grants wait, no step begins beside them; afterwards all of them run", async () => {
  let running = 0;
  for (let i = 0; i < 12; i++)
    vendor.next("finish", async () => {
      running += 1;
      await finishing.opened;
      return { config: {} };
    });
  const plan = { plan: "dedicated" };
  const installed = await Promise.all(Array.from({ length: 12 }, () => world.sandbox.control.install(plan)));
  const { grants } = world.service.services.credentials;
  await eventually(async () => {
    const [row] = await world.rows(`SELECT count(*)::int AS due FROM credentials WHERE due_at <= now()`);
    expect(row).toEqual({ due: 12 });
  });
  await eventually(() => expect(grants.areQueued()).toBe(true));
  // Grants queue a moment before the first call is made; it would wait for the next line if this one were opened before.
  await eventually(() => expect(called).toBe(1));

  line.open();
  line = aGate();
  await eventually(async () => {
    const [row] = await world.rows(`SELECT count(*)::int AS active FROM credentials WHERE state = 'active'`);
    expect(row).toEqual({ active: 6 });
  });
  // Long enough for them to begin, if they were allowed to.
  await sleep(1_000);
  expect(running).toBe(0);

  line.open();
  await eventually(() => expect(running).toBe(12));
  finishing.open();
  await world.quiet(installed.map(({ addon }) => addon.id));
});

it("a lane gives way for a minute at most, then runs beside the grants until they queue no more", () => {
  let now = 5_000;
  let areQueued = false;
  const mustGiveWay = createGivingWay(
    () => areQueued,
    () => now,
  );
  const seenAt = (ms: number) => ((now = ms), mustGiveWay());
  expect(mustGiveWay()).toBe(false);
  areQueued = true;
  expect([5_000, 64_999, 65_000, 200_000].map(seenAt)).toEqual([true, true, false, false]);
  areQueued = false;
  expect(mustGiveWay()).toBe(false);
  areQueued = true;
  expect([200_001, 260_000, 260_001].map(seenAt)).toEqual([true, true, false]);
});

it.each(["vendor", "platform"] as const)(
  "the %s lane claims nothing while grants queue, and looks again at once after a run that only gave way",
  async (lane) => {
    let areQueued = false;
    const claims: [Lane, number, boolean][] = [];
    const queue = {
      claim: async (of: Lane, most: number) => (claims.push([of, most, areQueued]), []),
      nextInSeconds: async () => null,
    };
    const runner = createStepRunner({
      queue: queue as unknown as StepQueue,
      handlers: {} as StepHandlers,
      pace: PACE,
      areGrantsQueued: () => areQueued,
      secretsOf: () => [],
      scrubber: createScrubber(""),
      onEnd: () => undefined,
      log: pino({ level: "silent" }),
    });
    const looks = [];
    for (areQueued of [false, true, false]) {
      await runner.runDue(lane, AbortSignal.timeout(250));
      looks.push(await runner.nextInSeconds(lane));
    }
    expect(claims).toEqual([
      [lane, 16, false],
      [lane, 16, false],
    ]);
    expect(looks).toEqual([null, 0, null]);
  },
);
