import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { createPool } from "../src/resources/pool.ts";
import { aGate, aVendor } from "./support/a-vendor.ts";
import { aWorld, eventually, type World } from "./support/world.ts";

/** A pool whose rows are under way until they are ended by hand. */
function aPool(rows: number, { concurrency, forNow }: { concurrency: number; forNow?: () => number }) {
  const left = Array.from({ length: rows }, (_, row) => row);
  const ends: (() => void)[] = [];
  const pool = createPool<number>({
    claim: async (most) => left.splice(0, most),
    handle: () => new Promise((resolve) => ends.push(resolve)),
    concurrency,
    ...(forNow && { forNow }),
    onEnd: () => undefined,
  });
  const filled = pool.fill(new AbortController().signal);
  let started = 0;
  return {
    pool,
    ends,
    started: () => (started = Math.max(started, rows - left.length)),
    async endAll() {
      while (left.length > 0 || ends.length > 0) {
        ends.splice(0).forEach((end) => end());
        await new Promise(setImmediate);
      }
      await filled;
    },
  };
}

it("a pool says that it is behind for as long as more is due than it can start", async () => {
  const { pool, ends, started, endAll } = aPool(5, { concurrency: 2 });
  expect(pool.isBehind()).toBe(false);
  await eventually(() => expect(started()).toBe(2));
  expect(pool.isBehind()).toBe(true);
  ends.splice(0).forEach((end) => end());
  await eventually(() => expect(started()).toBe(4));
  expect(pool.isBehind()).toBe(true);
  await endAll();
  expect(pool.isBehind()).toBe(false);
});

it("a pool that may start fewer for now starts no more, and the rest as soon as it may, though nothing ended", async () => {
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

it("a pool that may start fewer for now looks ten times a second whether it may again, however many rows ended", async () => {
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
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(looks - before).toBeGreaterThan(0);
  expect(looks - before).toBeLessThan(20);
  await endAll();
});

let world: World;
const vendor = aVendor();
const gate = aGate();
beforeAll(async () => {
  // One call at a time, two grants taken for it.
  world = await aWorld({ parts: { vendor }, environment: { TOKEN_CONCURRENCY: "1" } });
});
afterAll(async () => {
  gate.open();
  await world.close();
});

it("while grants stand in line two steps run beside them; then as many as there are", async () => {
  const { control } = world.sandbox;
  let running = 0;
  for (let i = 0; i < 12; i++)
    vendor.next("finish", async () => {
      running += 1;
      await gate.opened;
      return { config: {} };
    });
  control.fault("POST /oauth/token", { delayMs: 150 }, 1_000);
  const installed = await Promise.all(
    Array.from({ length: 12 }, () => control.install({ plan: "dedicated" })),
  );
  const active = async () => (await world.rows(`SELECT 1 FROM credentials WHERE state = 'active'`)).length;

  // By then half of them wait for finish(), and the other half for their tokens.
  await eventually(async () => expect(await active()).toBeGreaterThanOrEqual(6));
  const [runningThen, activeThen] = [running, await active()];
  expect(activeThen).toBeLessThan(12);
  expect(runningThen).toBe(2);

  await eventually(() => expect(running).toBe(12));
  gate.open();
  control.clearFaults();
  await world.quiet(installed.map(({ addon }) => addon.id));
});
