import { levels, pino, stdSerializers, type LogFn, type Logger } from "pino";
import { logOutput } from "./log-output.ts";
import type { Scrubber } from "./scrubber.ts";

export type Log = Logger;

/** Strings longer than this are cut in the log, so that nobody can flood it with one value. */
const LONGEST_VALUE = 2048;
/** What nests deeper, or in a circle, ends there. */
const DEEPEST = 8;

/**
 * Makes the log: one JSON line an event on `destination` (standard output by default). Each finished line goes through
 * the scrubber, whatever road its parts took into it.
 *
 * An `alarm` member marks what an operator must look at; its word stands in docs/operate.md. `noteOn` adds to such a
 * line what is known beside it; it neither waits nor throws. It hears of every alarm, also of those that a level beyond
 * `error` keeps out of the log.
 */
export function createLog(
  level: string,
  scrubber: Scrubber,
  destination?: { write(line: string): void },
  noteOn: NoteOn = () => null,
): Log {
  const { keepable, keepText } = createKeeping(scrubber);
  const least = levels.values[level] ?? Infinity;
  const options = {
    level: least > levels.values["error"]! ? "error" : level,
    base: null,
    errorKey: "error",
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (members: object) => keepable(members) as Record<string, unknown>,
    },
    // An error is spelled out by now, under whatever name it stands.
    serializers: { error: (spelled: unknown) => spelled },
    hooks: {
      logMethod(this: Logger, given: Parameters<LogFn>, write: LogFn, weight: number) {
        const args = withNote(given, noteOn);
        if (weight >= least) write.apply(this, args.map(keepText) as typeof args);
      },
      streamWrite: (line: string) => scrubber.scrub(line),
    },
  };
  return pino(options, destination ?? logOutput());
}

type NoteOn = (alarm: string) => object | null;

function withNote([members, ...rest]: Parameters<LogFn>, noteOn: NoteOn): Parameters<LogFn> {
  const { alarm } = (members ?? {}) as { alarm?: unknown };
  const noted = typeof alarm === "string" ? { ...(members as object), ...noteOn(alarm) } : members;
  return [noted, ...rest] as Parameters<LogFn>;
}

/** Of the first that has one: an error, its cause, and so on. */
function platformRequestIdOf(error: unknown, depth = 0): string | undefined {
  if (!(error instanceof Error) || depth === DEEPEST) return undefined;
  const { platformRequestId: id, cause } = error as { platformRequestId?: unknown; cause?: unknown };
  return typeof id === "string" ? id : platformRequestIdOf(cause, depth + 1);
}

/** What is kept of the values that were given. */
function createKeeping({ scrub }: Scrubber) {
  /** The same with long texts cut and errors spelled out, in lists and plain objects; others have a serializer. */
  function keepable(value: unknown, depth = 0): unknown {
    if (typeof value !== "object" || value === null) return keepText(value);
    if (value instanceof Error) return spelledOut(value);
    if (depth === DEEPEST) return "… (deeper)";
    if (Array.isArray(value)) return value.map((item) => keepable(item, depth + 1));
    if (Object.getPrototypeOf(value) !== Object.prototype) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, keepable(member, depth + 1)]),
    );
  }

  /** Type, id, message and causes, and what the platform calls its request; no other members, which may hold anything. */
  function spelledOut(error: Error): object {
    const { type, message, stack } = stdSerializers.err(error);
    const { id } = error as { id?: unknown };
    const platformRequestId = keepText(platformRequestIdOf(error));
    return { type, id, platformRequestId, message: cut(message), stack: cut(stack ?? "") };
  }

  function keepText(value: unknown): unknown {
    return typeof value === "string" ? cut(value) : value;
  }

  /** Without its end a secret would not be found any more, so what is cut is scrubbed first. */
  function cut(text: string): string {
    if (text.length <= LONGEST_VALUE) return text;
    const shown = scrub(text);
    return shown.length > LONGEST_VALUE ? `${shown.slice(0, LONGEST_VALUE)}… (cut)` : shown;
  }

  return { keepable, keepText };
}
