import { AsyncResource } from "node:async_hooks";
import { levels, pino, type LogFn, type Logger } from "pino";
import { logOutput } from "./log-output.ts";
import { chainOf, withoutQuoted } from "../errors.ts";
import type { createRepeats } from "./repeats.ts";
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
 * are added to the line. It neither waits nor throws. `repeats` decides which warnings and errors are written. `members` gives
 * more of each line.
 */
export function createLog(
  level: string,
  scrubber: Scrubber,
  destination?: { write(line: string): void },
  noteOn: (alarm: string) => object | null = () => null,
  repeats?: Pick<ReturnType<typeof createRepeats>, "pass">,
  members?: () => object,
): Log {
  const least = levels.values[level] ?? Infinity;
  const options = {
    level: least > ERROR ? "error" : level,
    base: null,
    errorKey: "error",
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (members: object) => readable(members) as Record<string, unknown>,
    },
    ...(members && { mixin: members }),
    // `formatters.log` has already spelled out every error, under whatever name.
    serializers: { error: (spelled: unknown) => spelled },
    hooks: {
      logMethod(this: Logger, [members, ...rest]: Parameters<LogFn>, write: LogFn, weight: number) {
        const { alarm } = (members ?? {}) as { alarm?: unknown };
        const noted =
          typeof alarm === "string" ? { ...(members as unknown as object), ...noteOn(alarm) } : members;
        if (weight < least) return;
        const line = [noted, ...rest] as Parameters<LogFn>;
        if (repeats && (weight === WARN || weight === ERROR))
          repeats.pass(
            line,
            AsyncResource.bind((each: Parameters<LogFn>) => write.apply(this, each)),
          );
        else write.apply(this, line);
      },
      streamWrite: (line: string) => inLimits(scrubber.scrub(line)),
    },
  };
  return pino(options, destination ?? logOutput());
}

/** Cuts the long strings of a line. It is scrubbed before: nobody would recognise a secret without its end. */
function inLimits(line: string): string {
  if (line.length <= LONGEST_VALUE) return line;
  const cut = (_: string, value: unknown) =>
    typeof value === "string" && value.length > LONGEST_VALUE
      ? `${value.slice(0, LONGEST_VALUE)}… (cut)`
      : value;
  try {
    return `${JSON.stringify(JSON.parse(line, cut))}\n`;
  } catch {
    return line;
  }
}

/**
 * The value with errors spelled out, also in arrays and plain objects. Other objects have serializers. What throws when
 * it is read (as the vendor's code may throw) costs only itself.
 */
function readable(value: unknown, depth = 0): unknown {
  try {
    if (typeof value !== "object" || value === null) return value;
    if (value instanceof Error) return spelledOut(value);
    if (depth === DEEPEST) return "… (deeper)";
    if (Array.isArray(value)) return value.map((item) => readable(item, depth + 1));
    if (Object.getPrototypeOf(value) !== Object.prototype) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, readable(member, depth + 1)]),
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
  const redact = withoutQuoted(error);
  const texts = (member: string) => chain.map((each) => textOf(each, member));
  const stack = redact(texts("stack").join("\ncaused by: "));
  return {
    type: error.constructor.name,
    id: redact(textOf(error, "id")) || undefined,
    platformRequestId: texts("platformRequestId").find((each) => each !== ""),
    message: redact(texts("message").join(": ")),
    // In a build it is a file of dist/.
    at: /^ +at .*?((?:src|dist)\/your-service\/[^\s:?]+:\d+)/m.exec(stack)?.[1],
    stack,
  };
}

function textOf(error: Error, member: string): string {
  try {
    return String((error as Error & Record<string, unknown>)[member] ?? "");
  } catch {
    return "(unreadable)";
  }
}
