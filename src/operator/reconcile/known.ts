import type { Context } from "../../context.ts";
import { KitError } from "../../errors.ts";
import { isHeld } from "../../processes/history.ts";
import { counted } from "../wording.ts";
import type { How, Report } from "../work-through.ts";
import { CURES, CURES_AFTER_RESTORE, type FixableKind, type Kind } from "./differences.ts";
import {
  countKnown,
  firstKnown,
  type KnownDifference,
  type KnownKind,
  knownOfKind,
  readComparisons,
  type StoredComparison,
} from "./findings-store.ts";
import { carryOut, refuseWave } from "./fixes.ts";
import { countOurs } from "./store.ts";

// What is known to differ between the ledgers without comparing them now: what the last comparison found and is still so, and
// what the service noticed by itself.

export interface KnownOfKind extends Pick<KnownKind, "kind" | "since" | "canBeFixed"> {
  /** With those that were only counted. */
  count: number;
  first: KnownDifference[];
  cure: string;
}

/** `shown`: the last comparison that came to its end or, if there is none, the last one. `unfinished`: one since then. */
export interface KnownDifferences {
  shown: StoredComparison | null;
  unfinished: StoredComparison | null;
  kinds: KnownOfKind[];
}

async function comparisonsNow(db: Context["db"]) {
  const all = await readComparisons(db);
  const shown = all.find(({ isWhole }) => isWhole) ?? all[0] ?? null;
  return { shown, unfinished: all.find(({ isWhole }) => !isWhole) ?? null };
}

/** What was counted and not named may be the same that was noticed. */
const countOf = ({ kind, found, noticed }: KnownKind, shown: StoredComparison | null): number =>
  found + Math.max(shown?.unnamed[kind] ?? 0, noticed);

export async function knownDifferences({ db }: Pick<Context, "db">): Promise<KnownDifferences> {
  const { shown, unfinished } = await comparisonsNow(db);
  const id = shown?.id ?? null;
  const [known, first] = [await countKnown(db, id), await firstKnown(db, id)];
  const cures = (await isHeld(db)) ? CURES_AFTER_RESTORE : CURES;
  const kinds = [...cures].flatMap(([kind, cure]) => {
    const of = known.find((each) => each.kind === kind);
    if (!of) return [];
    const some = first.filter((each) => each.kind === kind);
    const { since, canBeFixed } = of;
    const count = countOf(of, shown);
    return [
      { kind, since, canBeFixed, count, first: some, cure: cure(count === 1 ? some[0]!.uuid : "UUID") },
    ];
  });
  return { shown, unfinished, kinds };
}

/** What the last comparison found and is still so, by kind, without what the service noticed by itself; null: nothing. */
export async function foundInShort({ db }: Pick<Context, "db">) {
  const { shown } = await comparisonsNow(db);
  if (!shown) return null;
  const kinds = (await countKnown(db, shown.id)).flatMap((each): [Kind, number][] => {
    const { kind, found, noticed, both } = each;
    const others = found > 0 ? countOf(each, shown) - noticed - both : 0;
    return others > 0 ? [[kind, others]] : [];
  });
  return kinds.length === 0 ? null : { at: shown.endedAt ?? shown.startedAt, kinds };
}

/**
 * Carries out the cure of one kind, for at most as many as the operator was asked about. Throws `too_many` if there are
 * more by now, or so many that another ledger is more likely to be wrong.
 */
export async function fixKnown(
  ctx: Context,
  kind: FixableKind,
  mostAsked: number,
  how: How,
): Promise<Report> {
  const { shown, kinds } = await knownDifferences(ctx);
  const count = kinds.find((each) => each.kind === kind)?.count ?? 0;
  if (count > mostAsked)
    throw new KitError(
      "too_many",
      `Nothing was changed: there are ${counted(count, "resource")} by now, and you were asked about ${mostAsked}. Open the page again.`,
    );
  refuseWave(kind, count, { alive: await countOurs(ctx.db, null), backend: shown?.backend ?? null });
  return carryOut(ctx, kind, await knownOfKind(ctx.db, shown?.id ?? null, kind), how);
}
