import { levels, pino, type LogFn, type Logger } from "pino";
import { logOutput } from "./log-output.ts";
import { chainOf, withoutQuoted } from "../redact.ts";
import type { Repeats } from "./repeats.ts";
import type { Scrubber } from "./scrubber.ts";

export type Log = Logger;

/** Strings longer than this many characters are cut in the log, so that nobody can flood it with one value. */
const LONGEST_VALUE = 2048;
const { warn: WARN, error: ERROR } = levels.values as { warn: number; error: number };
/** Objects nested deeper than this, circular ones among them, are cut there. */
const DEEPEST = 8;

/**
 * Makes the log: one JSON line per event, written to `destination` (standard output by default). Each finished line
 * goes through the scrubber, so a secret is redacted in whichever part of the line it is.
 *
 * An `alarm` member marks an event that an operator must look at; docs/operate.md lists the words. `noteOn` is called
 * with every alarm, even if the level is above `error` and keeps the line out of the log; the members that it returns
 * are added to the line. It neither waits nor throws. `repeats` decides which warnings and errors are written.
 */
export function createLog(
  level: string,
  scrubber: Scrubber,
  destination?: { write(line: string): void },
  noteOn: NoteOn = () => null,
  repeats?: Pick<Repeats, "pass">,
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
    // `formatters.log` has already spelled out every error, under whatever name.
    serializers: { error: (spelled: unknown) => spelled },
    hooks: {
      logMethod(this: Logger, given: Parameters<LogFn>, write: LogFn, weight: number) {
        const args = withNote(given, noteOn);
        if (weight < least) return;
        const put = (line: typeof args) => write.apply(this, line.map(keepText) as typeof args);
        if (repeats && (weight === WARN || weight === ERROR)) repeats.pass(args, put);
        else put(args);
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

/** The first frame of a stack in the vendor's code, as `src/your-service/index.ts:17`; in a build it is one of `dist/`. */
function vendorsPlace(stack: string): string | undefined {
  return /^ +at .*?((?:src|dist)\/your-service\/[^\s:?]+:\d+)/m.exec(stack)?.[1];
}

/** Makes the functions that shorten what is logged. */
function createKeeping({ scrub }: Scrubber) {
  /**
   * The value with long strings cut and errors spelled out, also in arrays and plain objects. Other objects have
   * serializers. What throws when it is read (as the vendor's code may throw) costs only itself.
   */
  function keepable(value: unknown, depth = 0): unknown {
    try {
      if (typeof value !== "object" || value === null) return keepText(value);
      if (value instanceof Error) return spelledOut(value);
      if (depth === DEEPEST) return "… (deeper)";
      if (Array.isArray(value)) return value.map((item) => keepable(item, depth + 1));
      if (Object.getPrototypeOf(value) !== Object.prototype) return value;
      return Object.fromEntries(
        Object.entries(value).map(([name, member]) => [name, keepable(member, depth + 1)]),
      );
    } catch {
      return "(unreadable)";
    }
  }

  /**
   * Type, id, message and stack, with those of the causes, the platform's request id, and the place in the vendor's code
   * that the stack names first. Other members may hold secrets.
   */
  function spelledOut(error: Error): object {
    const chain = chainOf(error);
    const texts = (member: string) => chain.map((each) => textOf(each, member) ?? "");
    const redact = withoutQuoted(error);
    const stack = texts("stack").join("\ncaused by: ");
    const id = textOf(error, "id");
    return {
      type: error.constructor.name,
      id: id && redact(id),
      platformRequestId: keepText(texts("platformRequestId").find((each) => each !== "")),
      message: cut(redact(texts("message").join(": "))),
      at: vendorsPlace(stack),
      stack: cut(redact(stack)),
    };
  }

  function keepText(value: unknown): unknown {
    return typeof value === "string" ? cut(value) : value;
  }

  /** The scrubber would not recognise a secret without its end, so a long text is scrubbed before it is cut. */
  function cut(text: string): string {
    if (text.length <= LONGEST_VALUE) return text;
    const shown = scrub(text);
    return shown.length > LONGEST_VALUE ? `${shown.slice(0, LONGEST_VALUE)}… (cut)` : shown;
  }

  return { keepable, keepText };
}

function textOf(error: Error, member: string): string | undefined {
  try {
    const value = (error as Error & Record<string, unknown>)[member];
    return value === undefined || value === null ? undefined : String(value);
  } catch {
    return "(unreadable)";
  }
}
