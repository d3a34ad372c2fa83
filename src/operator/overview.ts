import type { OpenContext } from "../context.ts";
import { stateOfCredentials, stateOfWork } from "../metrics/store.ts";
import { readHours } from "../metrics/totals-store.ts";
import { orNullAfter, sharedFor } from "../within.ts";
import { readBusiness } from "./business.ts";
import { examine, findingsOf, type Making } from "./doctor/doctor.ts";
import { type Finding, fine } from "./doctor/finding.ts";
import { processesOf } from "./doctor/processes.ts";
import { yourChecks } from "./doctor/your-service.ts";
import { URGENCIES } from "./facts/fact.ts";

export type Overview = Awaited<ReturnType<ReturnType<typeof createOverview>>>;

/** How long a page waits for a check that calls others; its last result is shown then. */
const PATIENCE_MS = 2_500;

const rankOf = ({ urgency }: Finding) => (urgency ? URGENCIES.indexOf(urgency) : -1);

/**
 * What is wrong, the most urgent first, which is what `kit doctor` finds; then how the business is doing, the processes,
 * and what the metrics show too. A page that renews itself asks often: what takes long is read once a minute.
 */
export function createOverview(ctx: OpenContext) {
  const { db, pace } = ctx;
  const making = madeSeldom(ctx);
  const business = sharedFor(pace.probeMs, () => readBusiness(db));
  return sharedFor(pace.freshMs, async () => {
    const at = new Date();
    const report = await examine({ readSettings: () => ctx.config, open: async () => ctx, making });
    const found = findingsOf(report)
      .filter(({ ok, fix }) => !ok || fix !== null)
      .sort((one, other) => rankOf(one) - rankOf(other));
    const samples = [
      ...(await stateOfWork(db, ctx.jobs.names, ctx.yourJobs)),
      ...(await stateOfCredentials(db)),
    ];
    const isRemark = ({ urgency }: Finding) => urgency === "remark";
    return {
      at,
      issues: found.filter((each) => !isRemark(each)),
      remarks: found.filter(isRemark),
      business: await business().catch(() => null),
      processes: await processesOf(ctx),
      samples,
      hours: await readHours(db),
    };
  });
}

/** These write, call the platform or run your code, or read whole tables: a factor of `pace.probeMs`. */
const SELDOM: Readonly<Record<string, number>> = {
  writes: 1,
  secret: 1,
  platform: 1,
  "sign-in": 1,
  status: 1,
  manifest: 1,
  keys: 10,
  plans: 10,
};

type Result = Awaited<ReturnType<Making>>;

/** Makes such a check at most once in that time, and waits no longer for it than a page may. */
function madeSeldom(ctx: OpenContext): Making {
  const factors = { ...SELDOM, ...Object.fromEntries(yourChecks(ctx).map(([id]) => [id, 1])) };
  const asking = new Map<string, () => Promise<Result>>();
  const last = new Map<string, Result>();
  return async (id, look) => {
    const factor = factors[id];
    if (factor === undefined) return look();
    const ask =
      asking.get(id) ??
      sharedFor(factor * ctx.pace.probeMs, async () => {
        const result = await look();
        last.set(id, result);
        return result;
      });
    asking.set(id, ask);
    return (await orNullAfter(PATIENCE_MS, ask())) ?? last.get(id) ?? fine("Not answered yet.");
  };
}
