import { randomUUID } from "node:crypto";
import type { Context } from "../../context.ts";
import { READS_WHOLE } from "../../database/database.ts";
import { retryWhileUnreachable } from "../../database/retry.ts";
import { errorIdOf, KitError, messageOf, Refusal } from "../../errors.ts";
import { isHeld } from "../../processes/history.ts";
import { deprovision } from "../../resources/deprovision.ts";
import { findApps } from "../../resources/looks.ts";
import { openStepsOf, writeChange } from "../../resources/plan-store.ts";
import { wakeAll } from "../../resources/steps.ts";
import { lockedResource } from "../../resources/store.ts";
import { pullConfig, pushConfig } from "../config-vars.ts";
import { UsedWrongly } from "../errors.ts";
import { importOne } from "../resources.ts";
import type { End, How, Report } from "../work-through.ts";
import { askAbout, platformToAsk } from "./ask-platform.ts";
import { type FixableKind, type Found, type Kind, KINDS } from "./differences.ts";
import { dropFindings } from "./findings-store.ts";
import { planOf } from "./judge.ts";
import { oursNamed, writeTakeDown } from "./store.ts";

// Carries one kind of difference out. Each is looked at once more first, and each is harmless when it is done twice: a
// run that was killed is simply repeated. What calls the vendor's functions is written as a step, which a running service
// carries out.

type Fix = (ctx: Context, found: Found, how: How) => Promise<End>;

const FIXES: Readonly<Record<FixableKind, Fix>> = {
  gone_at_platform: endGoneResource,
  unknown_here: async (ctx, { installation }) => {
    if (!installation) return { skipped: "no_plan" };
    return (await importOne(ctx, installation)) ? null : { skipped: "exists" };
  },
  orphan_at_backend: async (ctx, { uuid, isUnlisted }) => {
    // After a restore the platform's newest customers are unknown here, and their things must not go.
    if (!isUnlisted) return { skipped: "needs_platform_list" };
    return (await retryWhileUnreachable(() => writeTakeDown(ctx.db, uuid))) ? null : { skipped: "no_orphan" };
  },
  missing_at_backend: (ctx, { uuid }) => changePlanTo(ctx, uuid, null),
  plan_differs: changeToPlatformsPlan,
  // After a restore the apps' are the newer ones.
  config_differs: async (ctx, { uuid }) => {
    const work = (await isHeld(ctx.db)) ? pullConfig : pushConfig;
    return work(ctx, uuid).then(() => null);
  },
  app_differs: async (ctx, { uuid }) => findApps(ctx, uuid).then(() => null),
};

export const FIXABLE_KINDS = Object.keys(FIXES);

/** The kind that was typed. Throws {@link UsedWrongly}. */
export function fixableKind(typed: string): FixableKind {
  if (Object.hasOwn(FIXES, typed)) return typed as FixableKind;
  const kinds = FIXABLE_KINDS.join(", ");
  if (!Object.hasOwn(KINDS, typed)) throw new UsedWrongly(`There is no kind "${typed}". Kinds: ${kinds}.`);
  throw new UsedWrongly(
    `${typed} cannot be fixed from here: ${KINDS[typed as Kind].cure("UUID")}. Kinds: ${kinds}.`,
  );
}

/** What is asked before a kind is carried out. */
export async function questionOf({ db }: Pick<Context, "db">, kind: FixableKind): Promise<string> {
  if (kind === "config_differs" && (await isHeld(db)))
    return "The database was restored. Take over what the apps have, as wanted from now on?";
  return KINDS[kind].fix;
}

/** Fewer are no wave. */
const MANY = 20;

/**
 * Throws if so many are to be ended that the others' ledger is more likely to be wrong: a restored platform, a wrong
 * ADDON_ID, half a list.
 */
export function refuseWave(
  kind: FixableKind,
  count: number,
  { alive, backend }: { alive: number; backend: number | null },
): void {
  const all = kind === "gone_at_platform" ? alive : kind === "orphan_at_backend" ? (backend ?? 0) : null;
  if (all === null || count <= MANY || count <= all / 2) return;
  throw new KitError(
    "too_many",
    `Nothing was changed: ${count} of ${all} would be ended. Is ADDON_ID right, the list whole, the platform not just restored? One by one: kit resources erase UUID.`,
  );
}

export async function carryOut(
  ctx: Context,
  kind: FixableKind,
  found: readonly Found[],
  how: How,
): Promise<Report> {
  const report: Report = { done: [], failed: [], skipped: [] };
  const ended = () => report.done.length + report.failed.length + report.skipped.length;
  how.onProgress?.(0, found.length);
  for (const each of found) {
    if (how.signal.aborted) break;
    const { uuid } = each;
    const end = await FIXES[kind](ctx, each, how).catch((error: unknown): End => ({
      id: errorIdOf(error),
      message: messageOf(error),
    }));
    if (end === null) report.done.push(uuid);
    else if ("skipped" in end) report.skipped.push({ uuid, reason: end.skipped });
    else report.failed.push({ uuid, id: end.id, message: end.message });
    how.onProgress?.(ended(), found.length);
  }
  wakeAll(ctx);
  // What was fixed is reported, whatever becomes of the list on the operator's page.
  await retryWhileUnreachable(() => dropFindings(ctx.db, kind, report.done), READS_WHOLE).catch(
    (error: unknown) =>
      ctx.log.warn(
        { reason: messageOf(error), kind, count: report.done.length },
        "The differences were fixed, but are still listed at /operator/ledgers; kit reconcile lists them again",
      ),
  );
  const left = found.length - ended();
  return left > 0 ? { ...report, left } : report;
}

/** What a deprovision by the platform does. */
async function endGoneResource(ctx: Context, { uuid, isUnlisted }: Found, { signal }: How): Promise<End> {
  const row = (await oursNamed(ctx.db, [uuid])).get(uuid);
  if (!row) return { skipped: "not_found" };
  const { is } = await askAbout(ctx, platformToAsk(ctx), row, signal);
  if (is === "there") return { skipped: "is_there" };
  if (is === "trouble") return { skipped: "no_answer" };
  // Without the platform's own word, its list decides.
  if (is !== "gone" && !isUnlisted) return { skipped: is };
  try {
    await deprovision(ctx, uuid);
    return null;
  } catch (error) {
    if (error instanceof Refusal) return { skipped: error.id };
    throw error;
  }
}

/** Once more as the platform says: the comparison may have been yesterday. */
async function changeToPlatformsPlan(ctx: Context, { uuid, plan }: Found, { signal }: How): Promise<End> {
  const row = (await oursNamed(ctx.db, [uuid])).get(uuid);
  if (!row) return { skipped: "not_found" };
  const word = await askAbout(ctx, platformToAsk(ctx), row, signal);
  if (word.is !== "there") return { skipped: word.is === "trouble" ? "no_answer" : word.is };
  return planOf(word.addon, row) === plan ? changePlanTo(ctx, uuid, plan) : { skipped: "changed_since" };
}

/** Has the vendor's `changePlan` called, as if the platform had asked and been told "later". Null: with the plan it has. */
async function changePlanTo(ctx: Context, uuid: string, wanted: string | null): Promise<End> {
  const key = randomUUID();
  return retryWhileUnreachable(() =>
    ctx.db.transaction(async (tx): Promise<End> => {
      const resource = await lockedResource(tx, uuid);
      if (resource?.state !== "provisioned") return { skipped: resource?.state ?? "not_found" };
      const plan = wanted ?? resource.plan;
      if (!Object.hasOwn(ctx.offer.plans, plan)) return { skipped: "unknown_plan" };
      const open = await openStepsOf(tx, uuid);
      if (open.some((each) => each.key === key)) return null;
      if (open.length > 0) return { skipped: "under_way" };
      if (wanted === resource.plan) return { skipped: "same_plan" };
      const change = { uuid, plan, was: resource.plan, key, requestId: null };
      await writeChange(tx, { ...change, traceparent: ctx.trace.current() }, "queued");
      return null;
    }),
  );
}
