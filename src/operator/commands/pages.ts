import { DONE, FAILED, jsonText, type Outcome } from "./outcome.ts";
import type { Session } from "./session.ts";

/** The option by which a list that may be long comes as JSON lines. */
export const JSON_LINES = ["--json-lines", "all of them, not a page: a JSON line each"] as const;

/**
 * Writes all pages of a list from `after` on, a line for each item, as fast as the reader takes them. It ends well when the
 * reader has gone (`| head`), and fails if a signal stops it.
 */
export async function writeLines<Item, Cursor>(
  session: Session,
  after: Cursor,
  pageAfter: (after: Cursor) => Promise<{ items: readonly Item[]; next: Cursor | null }>,
): Promise<Outcome> {
  session.endProgress();
  const { signal } = session.how({ isQuiet: true });
  for (let place: Cursor | null = after; place !== null;) {
    const { items, next }: { items: readonly Item[]; next: Cursor | null } = await pageAfter(place);
    for (const item of items) {
      if (signal.aborted) return written(FAILED);
      if (!(await session.write(jsonText(item)))) return written(DONE);
    }
    place = next;
  }
  return written(DONE);
}

/**
 * Writes a line for each item of a report, as fast as the reader takes them; the rest of the outcome, in words, goes to
 * standard error.
 */
export async function writeItems(
  session: Session,
  items: readonly object[],
  outcome: Outcome,
): Promise<Outcome> {
  session.endProgress();
  for (const item of items) if (!(await session.write(jsonText(item)))) break;
  if (outcome.message) session.say(outcome.message);
  return { ...outcome, isWritten: true };
}

const written = (exitCode: number): Outcome => ({ data: null, isWritten: true, exitCode, show: () => "" });
