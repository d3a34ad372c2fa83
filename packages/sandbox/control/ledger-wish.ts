import type { LedgerQuery } from "../wire/ledger-query.ts";
import { CALL_WORDS, isCallWords } from "../wire/match.ts";
import { type Check, checkMembers } from "./members.ts";

const LONGEST_WAIT_S = 60;

const wholeNumber =
  (least: number, most = Number.MAX_SAFE_INTEGER, demand = `must be a whole number from ${least}`): Check =>
  (value) => {
    const number = value === "" ? NaN : Number(value);
    if (!Number.isSafeInteger(number) || number < least || number > most) throw new Error(demand);
    return number;
  };

const callWords: Check = (value) => {
  if (!isCallWords(value)) throw new Error(CALL_WORDS);
  return value;
};

const isOne: Check = (value) => value === "1";

const status: Check = (value) => {
  if (typeof value !== "string" || !/^([1-5]\d\d|[1-5]xx|none)$/.test(value))
    throw new Error("must be a status like 401, a kind like 4xx, or none");
  return value;
};

const members: Record<keyof LedgerQuery | "wait", Check> = {
  since: wholeNumber(0, undefined, "must be a number from an earlier answer's next"),
  limit: wholeNumber(1),
  match: callWords,
  status,
  complaints: isOne,
  reveal: isOne,
  wait: wholeNumber(0, LONGEST_WAIT_S, `must be seconds, at most ${LONGEST_WAIT_S}`),
};

/** Checks the query of a request for the ledger. */
export function checkLedgerQuery(query: object): LedgerQuery & { waitMs: number } {
  const { wait = 0, ...wish } = checkMembers(query, members) as LedgerQuery & { wait?: number };
  return { ...wish, waitMs: wait * 1000 };
}
