import type { Context } from "../../context.ts";
import { READS_WHOLE } from "../../database/database.ts";
import { retryWhileUnreachable } from "../../database/retry.ts";
import { messageOf } from "../../errors.ts";
import type { Findings, Found } from "./differences.ts";
import {
  advanceComparison,
  beginComparison,
  endComparison,
  findingsOf,
  readComparisons,
  type StoredComparison,
} from "./findings-store.ts";
import { stillSo } from "./still-so.ts";

// Stores what a comparison finds while it goes on, so that the operator's page shows it, and what a killed one has found is
// not lost.

const EVERY_MS = 1_000;

/**
 * Begins to store a comparison. One that goes on with a stopped one (`after` is where that ended) begins with what that
 * has found. A failure to store is noted, and the comparison is made without.
 */
export async function keepComparison(
  ctx: Context,
  findings: Findings,
  { isListed, after }: Pick<StoredComparison, "isListed" | "after">,
) {
  const { db } = ctx;
  const kept = { id: 0, checked: 0, atMs: performance.now(), isBroken: false };
  const written: Found[] = [];
  await orNote(async () => {
    const earlier =
      after === null ? undefined : (await readComparisons(db)).find((each) => each.next === after);
    if (earlier) findings.begin(await stillSo(ctx, await findingsOf(db, earlier.id)));
    kept.checked = earlier?.checked ?? 0;
    kept.id = await beginComparison(
      db,
      { isListed, after: earlier ? earlier.after : after, checked: kept.checked, next: after },
      earlier?.id ?? null,
    );
  });

  async function orNote(work: () => Promise<void>, patience = {}): Promise<void> {
    if (kept.isBroken) return;
    try {
      await retryWhileUnreachable(work, patience);
    } catch (error) {
      kept.isBroken = true;
      findings.note(
        `The result could not be stored, so the operator's page does not show it: ${ctx.scrubber.scrub(messageOf(error))}`,
      );
    }
  }

  return {
    async advance({
      checked,
      total,
      next,
    }: Pick<StoredComparison, "checked" | "total" | "next">): Promise<void> {
      if (performance.now() - kept.atMs < EVERY_MS * ctx.pace.pauses) return;
      const found = findings.named().slice(written.length);
      const [done, all] = [kept.checked + checked, kept.checked + total];
      await orNote(() => advanceComparison(db, kept.id, { checked: done, total: all, next, found }));
      written.push(...found);
      kept.atMs = performance.now();
    },
    async end({
      checked,
      next,
      backend,
    }: Pick<StoredComparison, "checked" | "next" | "backend">): Promise<void> {
      const [notes, faults] = [[...findings.notes()], [...findings.faults()]];
      const found = new Set(findings.named());
      const ended = written.filter((each) => !found.has(each));
      const ending = { checked: kept.checked + checked, next, backend, notes, faults };
      const all = { ...ending, unnamed: findings.unnamed(), found: [...found], ended };
      await orNote(() => endComparison(db, kept.id, all), READS_WHOLE);
    },
  };
}
