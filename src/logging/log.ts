import { isAnyArrayBuffer } from "node:util/types";
import { levels, type LogFn, type Logger, pino } from "pino";
import { chainOf, inWords, messageOf, withoutQuoted } from "../errors.ts";
import type { Scrubber } from "../secret.ts";
import { logOutput } from "./log-output.ts";

export type Log = Logger;
type Members = Record<string | number | symbol, unknown>;

/** So that nobody can flood the log with one value. */
const LONGEST_VALUE = 2048;
const UNREADABLE = "(unreadable)";
/** Types that JSON leaves out: a line whose sentence is one of these would be no JSON. */
const NO_JSON = new Set(["symbol", "function"]);
const { warn: WARN, error: ERROR } = levels.values as { warn: number; error: number };

/**
 * Makes the log: one JSON line per event, written to `destination` (standard output by default). Each finished line
 * goes through the scrubber. It never throws.
 *
 * `onAlarm` is called with every alarm (docs/operate.md), even if its line is not written. `sample` decides which warnings and errors are written,
 * and which lines with a false {@link EACH}. `more` gives members of each line.
 */
export function createLog(
  level: string,
  scrubber: Scrubber,
  destination?: { write(line: string): void },
  onAlarm: (alarm: string) => void = () => undefined,
  sample: Sample = (_kind, write) => write(0),
  more: () => object = () => ({}),
): Log {
  const least = levels.values[level] ?? Infinity;
  const options = {
    level: least > ERROR ? "error" : level,
    base: null,
    errorKey: "error",
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    // `readable` has already spelled out every error, under whatever name.
    serializers: { error: (spelled: unknown) => spelled },
    hooks: {
      logMethod(this: Logger, line: Parameters<LogFn>, log: LogFn, weight: number) {
        const [first, ...rest] = line as unknown[];
        const isMembers = typeof first === "object";
        const given = isMembers && readable(() => (first instanceof Error ? { error: first } : first));
        const members: Members = { ...more(), ...(typeof given === "object" && given) };
        const words = (isMembers ? rest : (line as unknown[])).map((word) =>
          readable(() =>
            word instanceof Error ? messageOf(word) : NO_JSON.has(typeof word) ? UNREADABLE : word,
          ),
        );
        if (typeof members["alarm"] === "string") onAlarm(members["alarm"]);
        if (weight < least) return;
        const write = (leftOut: number) => {
          const all = leftOut > 0 ? { ...members, leftOut } : members;
          try {
            log.apply(this, [all, ...words] as unknown as typeof line);
          } catch {
            log.call(this, all, UNREADABLE);
          }
        };
        const each = readable(() => (first as Members | null)?.[EACH]);
        const isRare = weight !== WARN && weight !== ERROR;
        if (typeof each === "boolean" ? each : isRare) write(0);
        else sample(kindOf(words[0], members), write);
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

/** As JSON shows it, with all errors in it spelled out. A getter that throws costs only its member. */
function readable(read: () => unknown, seen = new Set<object>()): unknown {
  try {
    const value = read();
    if (typeof value !== "object" || value === null) return value;
    if (value instanceof Error) return spelledOut(value);
    const bytes = bytesIn(value);
    if (bytes !== null) return `[${bytes} bytes]`;
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === "function") return readable(() => toJSON.call(value) as unknown, seen);
    if (seen.has(value)) return "(as above)";
    seen.add(value);
    const memberOf = (name: string | number) => readable(() => (value as Members)[name], seen);
    if (Array.isArray(value)) return value.map((_, index) => memberOf(index));
    return Object.fromEntries(Object.keys(value).map((name) => [name, memberOf(name)]));
  } catch {
    return UNREADABLE;
  }
}

/** How many bytes a buffer has, also as JSON has shown it: its numbers could be those of a secret. Null: it is none. */
function bytesIn(value: object): number | null {
  if (ArrayBuffer.isView(value) || isAnyArrayBuffer(value)) return value.byteLength;
  const { type, data } = value as { type?: unknown; data?: unknown };
  return type === "Buffer" && Array.isArray(data) ? data.length : null;
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
    const value = member === "message" ? inWords(error) : (error as unknown as Members)[member];
    return String(value ?? "");
  } catch {
    return UNREADABLE;
  }
}

/**
 * A member of a line that, if true, has it written each time: it is the only record of what it names. If false, a sample
 * of such lines is written, whatever their level.
 */
export const EACH = Symbol("each");

/** Beyond this many kinds, all begin anew. */
const MOST_KINDS = 10_000;

/** Writes a line of a kind, or leaves it out. `leftOut`: how many of its kind were left out before it. */
type Sample = (kind: string, write: (leftOut: number) => void) => void;

/** Writes the first of a kind, and then one each `everyMs` (0: each is written). */
export function createSample(everyMs: number): Sample {
  const kinds = new Map<string, { writtenAt: number; leftOut: number }>();
  return (kind, write) => {
    const last = kinds.get(kind);
    if (last && performance.now() - last.writtenAt < everyMs) return void (last.leftOut += 1);
    if (kinds.size >= MOST_KINDS) kinds.clear();
    kinds.set(kind, { writtenAt: performance.now(), leftOut: 0 });
    write(last?.leftOut ?? 0);
  };
}

/** Its sentence and the members that say why, without ids, ports and times. Of alarms also the resource. */
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
