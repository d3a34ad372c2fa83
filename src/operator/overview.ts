import type { OpenContext } from "../context.ts";
import { stateOfCredentials, stateOfWork } from "../metrics/store.ts";
import { readHours } from "../metrics/totals-store.ts";
import { orNullAfter, sharedFor } from "../within.ts";
import { readBusiness } from "./business.ts";
import { examine, findingsOf, type Making } from "./doctor/doctor.ts";
import { type Finding, fine, hasCauses } from "./doctor/finding.ts";
import { processesOf } from "./doctor/processes.ts";
import { yourChecks } from "./doctor/your-service.ts";
import { URGENCIES } from "./facts/fact.ts";

export type Overview = Awaited<ReturnType<ReturnType<typeof createOverview>>>;

/** How long a page waits for a check that calls others; its last result is shown then. */
const PATIENCE_MS = 2_500;

/** So many times as often as usually, a check looks again that found something, or whose subject may cause what was found. */
const HURRY = 6;

const rankOf = ({ urgency }: Finding) => URGENCIES.findIndex((each) => each === urgency);

/** The most urgent first, and behind each what it may cause. */
function inOrder(found: readonly Finding[]): Finding[] {
  const sorted = found.toSorted((one, other) => rankOf(one) - rankOf(other));
  const lastOf = new Map(sorted.map((each) => [each.fact, each]));
  const withCaused = (cause: Finding): Finding[] => {
    const caused =
      lastOf.get(cause.fact) === cause ? sorted.filter(({ because }) => because === cause.fact) : [];
    return [cause, ...caused.flatMap(withCaused)];
  };
  return sorted.filter(({ because }) => because === undefined).flatMap(withCaused);
}

/**
 * What is wrong, the most urgent first, which is what `kit doctor` finds; then how the business is doing, the processes,
 * and what the metrics show too. A page that renews itself asks often: what takes long is read once a minute.
 */
export function createOverview(ctx: OpenContext) {
  const { db, pace } = ctx;
  const seldom = createSeldom(ctx);
  const business = sharedFor(pace.probeMs, () => readBusiness(db));
  const look = () =>
    examine({ readSettings: () => ctx.config, open: async () => ctx, making: seldom.making });
  return sharedFor(pace.freshMs, async () => {
    const at = new Date();
    let report = await look();
    // The cause is named with the first sign of it.
    if (findingsOf(report).some(hasCauses) && seldom.forget()) report = await look();
    const found = inOrder(findingsOf(report).filter(({ fact }) => fact !== undefined));
    const isRemark = ({ urgency }: Finding) => urgency === "remark";
    return {
      at,
      issues: found.filter((each) => !isRemark(each)),
      remarks: found.filter(isRemark),
      notChecked: report.checks.filter(({ level }) => level === "unknown").map(({ id }) => id),
      ...(await numbers()),
    };
  });

  async function numbers() {
    const [ofWork, ofCredentials, processes, hours, ofBusiness] = await Promise.all([
      stateOfWork(db, ctx.jobs.names, ctx.yourJobs),
      stateOfCredentials(db),
      processesOf(ctx),
      readHours(db),
      business().catch(() => null),
    ]);
    return { business: ofBusiness, processes, samples: [...ofWork, ...ofCredentials], hours };
  }
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
  options: 10,
};
/** Those that look at what may cause other things. */
const OF_CAUSES = ["writes", "secret", "platform"];

type Result = Awaited<ReturnType<Making>>;

/** Makes such a check at most once in that time, and waits no longer for it than a page may. */
function createSeldom(ctx: OpenContext) {
  const factors = { ...SELDOM, ...Object.fromEntries(yourChecks(ctx).map(([id]) => [id, 1])) };
  const hurryMs = ctx.pace.probeMs / HURRY;
  const asked = new Map<string, { result: Promise<Result>; atMs: number }>();
  const last = new Map<string, Result>();
  const ageMs = (id: string) => performance.now() - (asked.get(id)?.atMs ?? -Infinity);
  const isFine = (id: string) => [last.get(id) ?? []].flat().every(({ fix }) => fix === null);

  function ask(id: string, factor: number, look: () => Promise<Result>): Promise<Result> {
    const isQuick = OF_CAUSES.includes(id) && !isFine(id);
    const known = asked.get(id);
    if (known && ageMs(id) < (isQuick ? hurryMs : factor * ctx.pace.probeMs)) return known.result;
    const asking = { result: look(), atMs: performance.now() };
    asked.set(id, asking);
    asking.result.then(
      (found) => last.set(id, found),
      () => asked.get(id) === asking && asked.delete(id),
    );
    return asking.result;
  }

  return {
    making: (async (id, look) => {
      const factor = factors[id];
      if (factor === undefined) return look();
      const result = await orNullAfter(PATIENCE_MS, ask(id, factor, look));
      return result ?? last.get(id) ?? fine("Not answered yet.");
    }) satisfies Making,
    /** Has the checks of causes made anew that were not made just now. False: all were. */
    forget(): boolean {
      const old = OF_CAUSES.filter((id) => asked.has(id) && ageMs(id) > hurryMs);
      for (const id of old) asked.delete(id);
      return old.length > 0;
    },
  };
}
