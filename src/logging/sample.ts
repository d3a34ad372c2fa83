/** A member of a line that, if true, has it written each time: it is the only record of what it names. */
export const EACH = Symbol("each");

/** More kinds than this at once are forgotten, and begin anew. */
const MOST_KINDS = 1_000;

/**
 * Keeps what happens again and again from filling the log: of a kind, the first in `everyMs` (ms; 0: each) is written.
 *
 * @returns a function that is told of each: null if it is left out, else how many were left out before it
 */
export function createSample(everyMs: number): (kind: string) => number | null {
  const kinds = new Map<string, { writtenAt: number; leftOut: number }>();
  return (kind) => {
    const last = kinds.get(kind);
    if (last && performance.now() - last.writtenAt < everyMs) {
      last.leftOut += 1;
      return null;
    }
    if (kinds.size >= MOST_KINDS) kinds.clear();
    kinds.set(kind, { writtenAt: performance.now(), leftOut: 0 });
    return last?.leftOut ?? 0;
  };
}

/** What a line has in common with others of its kind: its sentence and its error, without ids, ports and times. */
export function kindOf(sentence: unknown, error: unknown): string {
  try {
    const { name, id, message } = Object(error) as { name?: unknown; id?: unknown; message?: unknown };
    const inShort = [name, id, message ?? error].map(String).join(" ").slice(0, 500);
    return `${String(sentence)} ${inShort.replace(/[0-9a-f]{8}[0-9a-f-]*|\d{4,}/gi, "…")}`;
  } catch {
    return String(sentence);
  }
}
