import { setTimeout as sleep } from "node:timers/promises";
import type { Bench } from "./bench.ts";
import { Missing } from "./books.ts";
import type { Sample } from "./contest.ts";
import type { Database } from "./databases.ts";
import { cpuMicrosOf, memoryMbOf } from "./proc.ts";
import type { Program } from "./program.ts";

/** Settings of a process that looks for due work every second. */
export const EAGER = { SWEEP_CRON: "* * * * * *", LOG_LEVEL: "info" };

const LONGEST_DRAIN_MS = 120_000;

/**
 * Makes the token pairs of `uuids` due and measures from the first call that the platform receives until the last new
 * pair is stored. Throws if that does not happen within two minutes, or if the platform got more than one call for
 * each.
 */
export async function drain(
  { platform }: Bench,
  { ask }: Database,
  programs: readonly Program[],
  uuids: readonly string[],
): Promise<Sample> {
  const cpu = () => programs.reduce((sum, { pid }) => sum + cpuMicrosOf(pid), 0);
  const [before, cpuBefore] = [await platform.tell(), cpu()];
  const [{ generation }] = (await ask(
    `SELECT max(generation) AS generation FROM credentials WHERE uuid = ANY($1::uuid[])`,
    [uuids],
  )) as [{ generation: number }];
  await ask(`UPDATE credentials SET due_at = now() WHERE uuid = ANY($1::uuid[])`, [uuids]);
  const until = performance.now() + LONGEST_DRAIN_MS;
  const look = async (isOver: () => Promise<boolean>, everyMs: number) => {
    while (!(await isOver())) {
      if (performance.now() > until)
        throw new Missing(`${uuids.length} refreshes were not done in two minutes`);
      await sleep(everyMs);
    }
    return performance.now();
  };

  const from = await look(async () => (await platform.tell()).refreshed > before.refreshed, 2);
  // Until the platform has received all calls, the database is not worth a query.
  await look(async () => (await platform.tell()).refreshed - before.refreshed >= uuids.length, 10);
  const to = await look(async () => {
    const [row] = await ask<{ left: number }>(
      `SELECT count(*)::int AS left FROM credentials
       WHERE state = 'active' AND due_at <= now() + interval '1 hour' AND generation <= $1`,
      [generation],
    );
    return row!.left === 0;
  }, 5);
  const calls = (await platform.tell()).refreshed - before.refreshed;
  if (calls !== uuids.length) throw new Missing(`${calls} calls for ${uuids.length} refreshes`);
  return {
    perSecond: uuids.length / ((to - from) / 1_000),
    p50Ms: NaN,
    p99Ms: NaN,
    cpuMicros: (cpu() - cpuBefore) / uuids.length,
    memoryMb: programs.reduce((sum, { pid }) => sum + memoryMbOf(pid), 0),
  };
}
