import type { LogFn } from "pino";

/** A line about this long ago: its cause has ended. */
const QUIET_MS = 60_000;
/** How many resources or requests a line names of those whose lines were left out. */
const MOST_NAMED = 20;
/** More causes than this at once share one entry. */
const MOST_CAUSES = 500;

/** Marks a line that is always written, because it is the only record of what it names; repeated, without its alarm. */
export const EACH = Symbol("each");

export interface Repeats {
  /** Writes a warning or an error by `write`, or counts it if its cause was written less than a minute ago. */
  pass(line: Parameters<LogFn>, write: (line: Parameters<LogFn>) => void): void;
  /** Ends a cause at once, without a line. Returns how often it was logged or counted. */
  over(cause: string): number;
  /** Writes the last line of each cause. */
  end(): void;
}

type Members = Record<string | symbol, unknown>;
/** A word for a cause that lines of many kinds share; null: there is none. */
export type CauseOf = (members: { error?: unknown; outcome?: unknown }) => string | null;

/** What has the same cause: its first line, and how many were left out since the last one that was written. */
interface Cause {
  name: object;
  text: string;
  beganMs: number;
  writtenMs: number;
  lastMs: number;
  times: number;
  leftOut: number;
  others: Set<unknown>;
  last: Members;
  write(line: Parameters<LogFn>): void;
}

/**
 * Keeps one cause from filling the log. Its first line is written at once; then at most one in `everyMs` (ms; 0: all are
 * written) with the number of those left out (`leftOut`) and the resources they were about (`others`); and, if any was
 * left out, a last one with the number of all (`times`) when none has come for a minute.
 *
 * The cause is the member `cause`, or what `causeOf` says of the members; otherwise all lines with the same alarm, or the
 * same sentence and error, have the same cause.
 */
export function createRepeats(causeOf: CauseOf, everyMs: number): Repeats {
  const causes = new Map<string, Cause>();
  let timer: NodeJS.Timeout | undefined;

  function writeAgain(cause: Cause): void {
    const { last, leftOut, times, others, text, write } = cause;
    write([{ ...last, leftOut, times, others: [...others] }, text]);
    cause.writtenMs = performance.now();
    cause.leftOut = 0;
    others.clear();
  }

  function writeEnd({ name, text, times, beganMs, lastMs, others, write }: Cause): void {
    const seconds = Math.round((lastMs - beganMs) / 1_000);
    if (times > 1)
      write([{ ...name, times, seconds, others: [...others] }, `${text}: ${times} times in ${seconds} s`]);
  }

  function look(): void {
    const now = performance.now();
    for (const [key, cause] of causes) {
      if (now - cause.lastMs >= QUIET_MS) {
        causes.delete(key);
        writeEnd(cause);
      } else if (cause.leftOut > 0 && now - cause.writtenMs >= everyMs && now - cause.lastMs < everyMs / 2)
        writeAgain(cause);
    }
    if (causes.size === 0) stop();
  }

  function stop(): void {
    clearInterval(timer);
    timer = undefined;
  }

  return {
    pass(line, write) {
      const [given, ...words] = line as unknown as [Members | string, string?];
      const members = typeof given === "object" && given !== null ? given : {};
      const text = String(typeof given === "string" ? given : words[0]);
      // Lines about requests are the record of what was asked, and are sampled where strangers can cause them.
      if (everyMs === 0 || "res" in members) return write(line);
      const { key: exact, name } = identify(members, text, causeOf);
      const key = causes.has(exact) || causes.size < MOST_CAUSES ? exact : "";
      const now = performance.now();
      const cause = causes.get(key);
      if (!cause) {
        const once = { beganMs: now, writtenMs: now, lastMs: now, times: 1, leftOut: 0 };
        causes.set(key, { ...once, name, text, others: new Set(), last: members, write });
        timer ??= setInterval(look, Math.min(everyMs, QUIET_MS) / 12).unref();
        return write(line);
      }
      cause.times += 1;
      cause.lastMs = now;
      const { alarm: _, ...withoutAlarm } = members;
      if (members[EACH]) return write([withoutAlarm, text]);
      cause.leftOut += 1;
      Object.assign(cause, { last: members, text, write });
      const about = members["uuid"] ?? members["person"] ?? members["requestId"];
      if (about !== undefined && cause.others.size < MOST_NAMED) cause.others.add(about);
    },
    over(cause) {
      const key = keyOf(cause);
      const { times = 0 } = causes.get(key) ?? {};
      causes.delete(key);
      return times;
    },
    end() {
      for (const cause of causes.values()) writeEnd(cause);
      causes.clear();
      stop();
    },
  };
}

const keyOf = (cause: string): string => `cause ${cause}`;

function identify(members: Members, text: string, causeOf: CauseOf) {
  const { alarm, reason, job, kind, error } = members;
  if (alarm !== undefined) {
    const key = JSON.stringify([alarm, reason, job, kind, inShort(error)]);
    return { key, name: { ended: alarm, reason, job, kind } };
  }
  const cause = (members["cause"] as string | undefined) ?? causeOf(members);
  if (cause) return { key: keyOf(cause), name: { cause } };
  return { key: JSON.stringify([text, reason, job, kind, inShort(error)]), name: { reason, job, kind } };
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
