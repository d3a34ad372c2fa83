import type { Queryable } from "../database/database.ts";
import { SEVERAL_TRIES, stepsOf, stepsThatFail } from "./store.ts";

/** A put-off step of a resource that is not done yet. */
export interface WaitingStep {
  kind: string;
  /** How often it was tried; counted anew each time the vendor's service answers "later". */
  tries: number;
  /** Why the last try failed, without secrets; null if it did not fail. */
  lastError: string | null;
  /** What the vendor's service said about unfinished work; null if it said nothing yet, or if the last try failed. */
  said: string | null;
  /**
   * ISO 8601, UTC. Null: the step waits until there is a working token; the last step of a plan change also goes on
   * once no token can come any more.
   */
  nextTryAt: string | null;
  isUnderWay: boolean;
}

/** The steps that keep failing or take too long, among those that are looked at. */
export interface FailingSteps {
  count: number;
  kinds: string[];
  /** Whether one of them has raised its alarm. */
  isAlarm: boolean;
  /** Resources that have one, those with the most tries first. */
  someUuids: string[];
}

/** A phrase for what is wrong with these steps, to follow their count. */
export const FAILING = `failed ${SEVERAL_TRIES} times or more, or still went on after 11 hours`;
const MOST_NAMED = 3;

/** The waiting steps of a resource, in the order in which they are carried out. */
export async function waitingSteps(db: Queryable, uuid: string): Promise<WaitingStep[]> {
  const rows = await stepsOf(db, uuid);
  return rows.map((row) => ({ ...row, nextTryAt: row.nextTryAt?.toISOString() ?? null }));
}

/** The steps of all resources that keep failing or take too long. */
export async function failingSteps(db: Queryable): Promise<FailingSteps> {
  const rows = await stepsThatFail(db);
  return {
    count: rows.length,
    kinds: [...new Set(rows.map(({ kind }) => kind))].sort(),
    isAlarm: rows.some(({ isAlarm }) => isAlarm),
    someUuids: [...new Set(rows.map(({ uuid }) => uuid))].slice(0, MOST_NAMED),
  };
}
