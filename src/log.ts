import { pino, stdSerializers, type Logger } from "pino";
import type { Scrubber } from "./scrubber.ts";

export type Log = Logger;

/** Strings longer than this are cut in the log, so that nobody can flood it with one value. */
const LONGEST_VALUE = 2048;

/**
 * Makes the log: one JSON line an event on `destination` (standard output by default). Each finished line goes through
 * the scrubber, whatever road its parts took into it.
 *
 * An `alarm` member marks what an operator must look at; its word stands in docs/operate.md.
 */
export function createLog(
  level: string,
  scrubber: Scrubber,
  destination?: { write(line: string): void },
): Log {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { error: serializeError },
    hooks: { streamWrite: (line: string) => scrubber.scrub(line) },
  };
  return destination ? pino(options, destination) : pino(options);
}

/** Type, id, message and causes; no other members, which may hold anything. */
function serializeError(error: unknown): unknown {
  if (!(error instanceof Error)) return cut(String(error));
  const { type, message, stack } = stdSerializers.err(error);
  return { type, id: (error as { id?: unknown }).id, message: cut(message), stack: cut(stack ?? "") };
}

function cut(text: string): string {
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}… (cut)` : text;
}
