/** A member of a line that, if true, has it written each time: it is the only record of what it names. */
export const EACH = Symbol("each");

/** Further kinds at the same time share one. */
const MOST_KINDS = 10_000;

/** `leftOut`: how many of its kind were left out before it. */
type Write = (leftOut?: number) => void;

export type Sample = ReturnType<typeof createSample>;

/**
 * Keeps what happens again and again from filling the log: of a kind, the first is written, and then in each `everyMs`
 * (ms; 0: each is written) the last, at the end, with the number of the others.
 */
export function createSample(everyMs: number) {
  const kinds = new Map<string, { count: number; last: Write | null }>();

  function begin(kind: string): void {
    kinds.set(kind, { count: 0, last: null });
    setTimeout(() => end(kind) && begin(kind), everyMs).unref();
  }

  /** Whether there were more of a kind. */
  function end(kind: string): boolean {
    const { count = 0, last = null } = kinds.get(kind) ?? {};
    kinds.delete(kind);
    last?.(count - 1);
    return last !== null;
  }

  return {
    take(kind: string, write: Write): void {
      if (everyMs === 0) return write();
      const shared = kinds.has(kind) || kinds.size < MOST_KINDS ? kind : "";
      const present = kinds.get(shared);
      if (present) return void Object.assign(present, { count: present.count + 1, last: write });
      begin(shared);
      write();
    },
    /** Writes what is still to be written. */
    end: () => [...kinds.keys()].forEach(end),
  };
}

/**
 * What a line has in common with others of its kind: its sentence, and the members that say why, without ids, ports and
 * times. Of alarms also the resource, so that none hides another's.
 */
export function kindOf(sentence: unknown, members: Record<string, unknown>): string {
  const { alarm, job, kind, reason, error, uuid, person } = members;
  try {
    const { type, id, message = error } = Object(error) as Record<string, unknown>;
    const why = [reason, type, id, message].map((each) => JSON.stringify(each)?.slice(0, 500));
    const inShort = why.join(" ").replace(/[0-9a-f]{8}[0-9a-f-]*|\d{4,}/gi, "…");
    return JSON.stringify([sentence, inShort, job, kind, alarm, alarm && (uuid ?? person)]);
  } catch {
    return String(sentence);
  }
}
