import type { LogFn } from "pino";

/** How many of the left out are kept for the line that stands for them. */
const MOST_KEPT = 20;
/** More causes than this at once share one entry. */
const MOST_CAUSES = 500;

/** Marks a line that is always written, because it is the only record of what it names. */
export const EACH = Symbol("each");

/**
 * Lets the first `most` of a kind pass in each window of `windowMs`. At its end, if there were more, `report` gets their
 * number, the first few of them and the last; its line counts as the first of the next window.
 */
export function createLimit<Item>(
  most: number,
  windowMs: number,
  report: (leftOut: number, kept: Item[], kind: string) => void,
) {
  const windows = new Map<string, { passed: number; leftOut: number; kept: Item[]; timer: NodeJS.Timeout }>();

  function open(kind: string, passed: number): void {
    const timer = setTimeout(() => close(kind) && open(kind, 1), windowMs).unref();
    windows.set(kind, { passed, leftOut: 0, kept: [], timer });
  }

  /** Ends a window at once; whether there was something to report. */
  function close(kind: string): boolean {
    const window = windows.get(kind);
    if (!window) return false;
    clearTimeout(window.timer);
    windows.delete(kind);
    if (window.leftOut > 0) report(window.leftOut, window.kept, kind);
    return window.leftOut > 0;
  }

  return {
    passes(kind: string, item: Item): boolean {
      const key = windows.has(kind) || windows.size < MOST_CAUSES ? kind : "";
      if (!windows.has(key)) open(key, 0);
      const window = windows.get(key)!;
      if (window.passed < most) return Boolean((window.passed += 1));
      window.leftOut += 1;
      window.kept.splice(MOST_KEPT - 1, 1, item);
      return false;
    },
    close,
    closeAll: () => [...windows.keys()].forEach(close),
  };
}

type Members = Record<string | symbol, unknown>;
type Line = Parameters<LogFn>;
/** A word for a cause that lines of many kinds share; null: there is none. */
export type CauseOf = (members: { error?: unknown; outcome?: unknown }) => string | null;

/**
 * Keeps one cause from filling the log: of its warnings and errors one in `everyMs` is written (ms; 0: all are), with the
 * number of those left out (`leftOut`) and the resources they were about (`others`).
 *
 * The cause is the alarm, the member `cause`, or what `causeOf` says of the members; otherwise lines with the same
 * sentence and error have the same cause.
 */
export function createRepeats(causeOf: CauseOf, everyMs: number) {
  type Kept = { members: Members; text: string; write(line: Line): void };
  const limit = createLimit<Kept>(1, everyMs, (leftOut, kept) => {
    const { members, text, write } = kept.at(-1)!;
    const named = kept.map((each) => each.members).map((each) => each["uuid"] ?? each["person"]);
    const others = [...new Set(named.filter((each) => each !== undefined))];
    write([{ ...members, leftOut, others }, text]);
  });
  return {
    /** Writes a warning or an error by `write`, or counts it. */
    pass(line: Line, write: (line: Line) => void): void {
      const [given, words] = line as unknown as [Members | string, string?];
      const members = typeof given === "object" && given !== null ? given : {};
      const text = String(typeof given === "string" ? given : words);
      // Lines about requests are the record of what was asked, and are sampled where strangers can cause them.
      const isAlways = everyMs === 0 || "res" in members || members[EACH];
      if (isAlways || limit.passes(kindOf(members, text, causeOf), { members, text, write })) write(line);
    },
    /** The cause has ended: what was left out is logged now. */
    over: (cause: string): void => void limit.close(cause),
    /** Logs what was left out, of each cause. */
    end: limit.closeAll,
  };
}

function kindOf(members: Members, text: string, causeOf: CauseOf): string {
  const { alarm, cause, reason, job, kind, error } = members;
  if (alarm === undefined) {
    const shared = (cause as string | undefined) ?? causeOf(members);
    if (shared) return shared;
  }
  return JSON.stringify([alarm ?? text, reason, job, kind, inShort(error)]);
}

/** An error without what differs from call to call: ids, ports, times. */
function inShort(error: unknown): string {
  try {
    const { name, id, message } = Object(error) as { name?: unknown; id?: unknown; message?: unknown };
    return `${String(name)} ${String(id)} ${String(message ?? error)}`
      .slice(0, 500)
      .replace(/[0-9a-f]{8}[0-9a-f-]*|\d{4,}/gi, "…");
  } catch {
    return "(unreadable)";
  }
}
