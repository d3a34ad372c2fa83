import { validateHeaderName, validateHeaderValue } from "node:http";
import { isObject } from "../is-object.ts";
import { invalid } from "../refusal.ts";
import type { Fault, FaultAction } from "./fault.ts";
import { CALL_WORDS, isCallWords } from "./match.ts";

type Check = [isRight: (value: unknown) => boolean, demand: string];

const isOneOf =
  (...allowed: unknown[]) =>
  (value: unknown) =>
    allowed.includes(value);
const isNumber = (value: unknown, least: number, most: number) =>
  typeof value === "number" && value >= least && value <= most;

/** One day: longer than any timeout, and within the range of a timer. */
const LONGEST_MS = 24 * 60 * 60 * 1000;

const checks: Record<keyof FaultAction, Check> = {
  status: [
    (value) => Number.isInteger(value) && isNumber(value, 200, 599),
    "must be a status from 200 to 599",
  ],
  body: [() => true, ""],
  headers: [isHeaders, "must be an object of strings, as HTTP allows them"],
  delayMs: [(value) => isNumber(value, 0, LONGEST_MS), "must be a number of milliseconds, a day at most"],
  hang: [isOneOf(true, "before", "after"), 'must be true, "before" or "after"'],
  reset: [isOneOf("before", "after"), 'must be "before" or "after"'],
  truncate: [isOneOf(true), "must be true"],
  duplicate: [isOneOf(true), "must be true"],
  drip: [(value) => isNumber(value, 1, 60_000), "must be a number of milliseconds for each byte, from 1"],
};

/** At most one of these can happen to an answer. */
const endings = ["status", "hang", "reset", "truncate"] as const;

/** Checks a fault before it is stored: a fault that can never happen would make a test prove nothing. */
export function checkFault({ match, times, action }: Fault): Fault {
  if (!isCallWords(match)) throw invalid(`match ${CALL_WORDS}.`);
  if (!Number.isInteger(times) || times < 1) throw invalid("times must be a whole number from 1.");
  checkAction(action, match.trim().startsWith(">"));
  return { match, times, action };
}

/** `isToService`: the platform then drips its request, and may cut the connection after that. */
function checkAction(action: unknown, isToService: boolean): void {
  const members = isObject(action) ? Object.entries(action) : [];
  if (members.length === 0 || members.some(([name]) => !Object.hasOwn(checks, name))) {
    throw invalid(`action must be an object with some of: ${Object.keys(checks).join(", ")}.`);
  }
  for (const [name, value] of members) {
    const [isRight, demand] = checks[name as keyof FaultAction];
    if (!isRight(value)) throw invalid(`${name} ${demand}.`);
  }
  const given = action as FaultAction;
  if (given.status === undefined && (given.body !== undefined || given.headers !== undefined)) {
    throw invalid("body and headers need a status.");
  }
  const ends = endings.filter((name) => given[name] !== undefined);
  const isUndone =
    given.status !== undefined || given.reset === "before" || given.hang === true || given.hang === "before";
  const twice = given.duplicate && isUndone ? ["duplicate"] : [];
  const slowly = given.drip !== undefined && (isUndone || (ends.length > 0 && !isToService)) ? ["drip"] : [];
  const both = [...ends, ...twice, ...slowly];
  if (both.length > 1) throw invalid(`${both.join(" and ")} cannot both happen to one call.`);
}

function isHeaders(value: unknown): boolean {
  if (!isObject(value)) return false;
  return Object.entries(value).every(
    ([name, header]) => typeof header === "string" && isSendable(name, header),
  );
}

function isSendable(name: string, value: string): boolean {
  try {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    return true;
  } catch {
    return false;
  }
}
