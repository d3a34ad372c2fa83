import { levels, pino, type LogFn, type Logger } from "pino";
import { logOutput } from "./log-output.ts";
import { chainOf, withoutQuoted } from "../errors.ts";
import { createSample, EACH, kindOf } from "./sample.ts";
import type { Scrubber } from "./scrubber.ts";

export type Log = Logger;
type Members = Record<string | symbol, unknown>;

/** Strings longer than this many characters are cut in the log, so that nobody can flood it with one value. */
const LONGEST_VALUE = 2048;
const { warn: WARN, error: ERROR } = levels.values as { warn: number; error: number };

/**
 * Makes the log: one JSON line per event, written to `destination` (standard output by default). Each finished line
 * goes through the scrubber, so a secret is redacted in whichever part of the line it is.
 *
 * An `alarm` member marks an event that an operator must look at; docs/operate.md lists the words. `noteOn` is called
 * with every alarm, even if its line is not written; the members that it returns are added to the line. It neither waits
 * nor throws. Of warnings and errors of a kind, one in `againMs` is written (0: each), with the number of those left out
 * before it (`leftOut`), unless it has a true {@link EACH}. `members` gives more of each line.
 */
export function createLog(
  level: string,
  scrubber: Scrubber,
  destination?: { write(line: string): void },
  noteOn: (alarm: string) => object | null = () => null,
  againMs = 0,
  members?: () => object,
): Log {
  const least = levels.values[level] ?? Infinity;
  const sample = createSample(againMs);
  const options = {
    level: least > ERROR ? "error" : level,
    base: null,
    errorKey: "error",
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (members: object) =>
        Object.fromEntries(Object.entries(members).map(([name, member]) => [name, readable(member)])),
    },
    ...(members && { mixin: members }),
    // `formatters.log` has already spelled out every error, under whatever name.
    serializers: { error: (spelled: unknown) => spelled },
    hooks: {
      logMethod(this: Logger, line: Parameters<LogFn>, write: LogFn, weight: number) {
        const [first, ...rest] = line as unknown[];
        const words = typeof first === "object" ? rest : line;
        const members: Members =
          first instanceof Error ? { error: first } : { ...(words === rest ? (first as object) : {}) };
        if (typeof members["alarm"] === "string") Object.assign(members, noteOn(members["alarm"]));
        if (weight < least) return;
        if (!members[EACH] && (weight === WARN || weight === ERROR)) {
          const leftOut = sample(kindOf(words[0], members["error"]));
          if (leftOut === null) return;
          if (leftOut > 0) members["leftOut"] = leftOut;
        }
        write.apply(this, [members, ...words] as unknown as typeof line);
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

/** A member, spelled out if it is an error. What throws when it is read (as the vendor's may) costs only itself. */
function readable(member: unknown): unknown {
  try {
    return member instanceof Error ? spelledOut(member) : member;
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
