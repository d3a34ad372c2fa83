import { isDeepStrictEqual } from "node:util";
import { errorIdOf, messageOf } from "../errors.ts";
import type { ConfigVar } from "../resources/config-vars.ts";
import { findResource } from "../resources/store.ts";
import {
  diffConfig,
  wantedConfig,
  type DiffNeeds,
  type FleetDifference,
  type ShownValue,
  type VarDifference,
} from "./config-diff.ts";
import { type OnProgress, workThrough } from "./work-through.ts";
import type { TokenReport } from "./tokens.ts";

/** What a push would do to a resource's config vars, as lists of names. */
export interface PushPlan {
  /** Missing on the platform. */
  set: string[];
  /** Different on the platform, and named to be overwritten. */
  overwrite: string[];
  /** On the platform, no longer wanted, and named to be overwritten. */
  remove: string[];
  /**
   * Different, or no longer wanted, but not named: left alone, because somebody may have changed them on the platform
   * by hand.
   */
  keep: string[];
  /** Named, but never set from here: left alone all the same. */
  foreign: string[];
}

/** What the operator was shown of a var before confirming the push. */
export interface Shown {
  name: string;
  platform: Pick<ShownValue, "fingerprint"> | null;
}

/**
 * A value that exists on the platform is only changed if `overwrite` names it, and never if it was not set from here.
 */
export function planPush(vars: readonly VarDifference[], overwrite: readonly string[]): PushPlan {
  const named = (wanted: VarDifference["state"], isNamed = true) =>
    vars
      .filter(({ name, state }) => state === wanted && overwrite.includes(name) === isNamed)
      .map(({ name }) => name);
  return {
    set: vars.filter(({ state }) => state === "missing").map(({ name }) => name),
    overwrite: named("differs"),
    remove: named("extra"),
    keep: [...named("differs", false), ...named("extra", false)].sort(),
    foreign: named("foreign"),
  };
}

export function isEmpty({ set, overwrite, remove }: PushPlan): boolean {
  return set.length + overwrite.length + remove.length === 0;
}

/**
 * Carries out the push that the operator confirmed. A var whose value on the platform has changed since it was shown is
 * left alone. Answers the names that were changed.
 */
export async function pushShown(
  needs: DiffNeeds,
  uuid: string,
  { shown, overwrite }: { shown: readonly Shown[]; overwrite: readonly string[] },
): Promise<string[]> {
  const before = new Map(shown.map(({ name, platform }) => [name, platform?.fingerprint]));
  const wanted = await wantedOf(needs, uuid);
  const { vars } = await diffConfig(needs, uuid);
  const plan = planPush(vars, overwrite);
  const names = [...plan.set, ...plan.overwrite, ...plan.remove];
  const changes = vars
    .filter(({ name, platform }) => names.includes(name) && before.get(name) === platform?.fingerprint)
    .map((each): ConfigVar => ({ name: each.name, value: each.wanted?.value.reveal() ?? null }));
  if (changes.length > 0) await update(needs, uuid, changes, wanted);
  return changes.map(({ name }) => name);
}

/** What a push to all resources changes, and what is settled before it: failed comparisons, and resources left alone. */
export function planFleet({ different, failed, skipped }: FleetDifference, overwrite: readonly string[]) {
  const isKept = ({ vars }: FleetDifference["different"][number]) => isEmpty(planPush(vars, overwrite));
  const kept = different.filter(isKept).map(({ uuid }) => ({ uuid, reason: "kept" }));
  const report: TokenReport = { done: [], failed: [...failed], skipped: [...skipped, ...kept] };
  return { todo: different.filter((each) => !isKept(each)), report };
}

/** Carries out such a push, and adds to its report. Answers how many resources are left because it was stopped. */
export async function pushFleet(
  needs: DiffNeeds & { concurrency: number; signal: AbortSignal; onProgress?: OnProgress },
  { todo, report }: ReturnType<typeof planFleet>,
  overwrite: readonly string[],
): Promise<number> {
  const { concurrency, signal, onProgress } = needs;
  const how = { concurrency, total: todo.length, isHalted: () => signal.aborted, onProgress };
  return workThrough(
    todo,
    async ({ uuid, vars }) => {
      try {
        await pushShown(needs, uuid, { shown: vars, overwrite });
        report.done.push(uuid);
      } catch (error) {
        report.failed.push({ uuid, id: errorIdOf(error), message: messageOf(error) });
      }
    },
    how,
  );
}

/**
 * Sends the changes, and sends them again if the wanted values change meanwhile: another process may have sent its
 * newer values to the platform before ours arrived. Other vars that differ are left alone.
 */
async function update(
  needs: DiffNeeds,
  uuid: string,
  changes: readonly ConfigVar[],
  wanted: readonly ConfigVar[],
): Promise<void> {
  await needs.platformFor(uuid).config.update([...changes]);
  const now = await wantedOf(needs, uuid);
  if (now.length === 0 || isDeepStrictEqual(now, wanted)) return;
  const values = new Map(now.map(({ name, value }) => [name, value]));
  const anew = changes.map(({ name }) => ({ name, value: values.get(name) ?? null }));
  if (!isDeepStrictEqual(anew, changes)) await update(needs, uuid, anew, now);
}

/** The wanted config vars of a resource; empty if the resource is gone. */
async function wantedOf(needs: DiffNeeds, uuid: string): Promise<ConfigVar[]> {
  const resource = await findResource(needs.db, uuid);
  return resource ? wantedConfig(needs, resource) : [];
}
