import { isDeepStrictEqual } from "node:util";
import type { ConfigVar } from "../resources/config-vars.ts";
import { findResource } from "../resources/rows.ts";
import {
  diffConfig,
  wantedConfig,
  type DiffNeeds,
  type ShownValue,
  type VarDifference,
} from "./config-diff.ts";

/** What a push would do to a resource's vars, by their names. */
export interface PushPlan {
  /** Are missing on the platform. */
  set: string[];
  /** Have another value there, and were named to be overwritten. */
  overwrite: string[];
  /** Are there and no longer wanted, and were named. */
  remove: string[];
  /** Differ and stay as the platform has them: somebody may have changed them there by hand. */
  keep: string[];
  /** Were named, and were never set from here: they stay as they are all the same. */
  foreign: string[];
}

/** What somebody was shown of a var before they said yes. */
export interface Shown {
  name: string;
  platform: Pick<ShownValue, "fingerprint"> | null;
}

/**
 * Nothing that stands on the platform is touched but what is named in `overwrite`, and what was never set from here not
 * even then.
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
 * Carries out what was shown to whoever said yes. What the platform has got another value of since then is left alone.
 * Answers the names that were changed.
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

/**
 * Sends the changes, and again as long as something else came to be wanted meanwhile: who wanted it may have told the
 * platform first, and ours came behind it. What differs in other vars is still left alone.
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

/** What we want for a resource; nothing where it is gone. */
async function wantedOf(needs: DiffNeeds, uuid: string): Promise<ConfigVar[]> {
  const resource = await findResource(needs.db, uuid);
  return resource ? wantedConfig(needs, resource) : [];
}
