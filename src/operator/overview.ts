import type { OpenContext } from "../context.ts";
import { stateOfCredentials, stateOfWork } from "../metrics/store.ts";
import { readHours } from "../metrics/totals-store.ts";
import { orNullAfter, sharedFor } from "../within.ts";
import type { Finding } from "./doctor/finding.ts";
import { platformStatus, secret } from "./doctor/platform.ts";
import { clocks, processes, processesOf } from "./doctor/processes.ts";
import { restore } from "./doctor/restore.ts";
import { OF_WORK } from "./doctor/work.ts";
import { refusedWrites } from "./doctor/writes.ts";

export type Overview = Awaited<ReturnType<ReturnType<typeof createOverview>>>;

const STATUS_TIMEOUT_MS = 2_500;

const rankOf = ({ ok, isNow }: Finding) => (ok ? (isNow ? 1 : 2) : 0);

/**
 * What must be dealt with, the most urgent first, which is what `kit doctor` finds, but for what only an installation or
 * an upgrade makes wrong; what the metrics show too; the refreshes of the last 24 hours.
 */
export function createOverview(ctx: OpenContext) {
  const measured = sharedFor(ctx.pace.freshMs, async () => [
    ...(await stateOfWork(ctx.db, ctx.jobs.names, ctx.yourJobs)),
    ...(await stateOfCredentials(ctx.db)),
  ]);
  return async () => {
    // The page reloads every few seconds, so the secret is not tried: the service's own token calls show whether it works.
    const found = [
      ...(await restore(ctx)),
      await secret(ctx, { isTried: false }),
      (await orNullAfter(STATUS_TIMEOUT_MS, platformStatus(ctx))) ?? [],
    ].flat();
    for (const look of [refusedWrites, clocks, processes]) found.push(...[await look(ctx)].flat());
    for (const look of Object.values(OF_WORK)) found.push(...(await look(ctx, measured)));
    const issues = found
      .filter(({ ok, fix }) => !ok || fix !== null)
      .sort((one, other) => rankOf(one) - rankOf(other));
    const [samples, hours, running] = [await measured(), await readHours(ctx.db), await processesOf(ctx)];
    return { issues, samples, hours, processes: running };
  };
}
