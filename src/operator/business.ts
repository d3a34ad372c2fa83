import type { Queryable } from "../database/statement.ts";
import {
  countAnswers,
  countByDay,
  countByPlan,
  countFailedCalls,
  countFailures,
  type FailedCalls,
  type Named,
  nameResources,
} from "./business-store.ts";

// How the service is doing: who its customers are, who came and went this week, what failed today.

/** Of a plan. `arriving`: those of them whose provision is not done yet. */
export interface PlanOfCustomers {
  plan: string;
  customers: number;
  arriving: number;
}

/** What the platform was answered to its provisions: 200, 202, a refusal (4xx), or an error (5xx) that lost the sale. */
export interface Conversion {
  done: number;
  later: number;
  refused: number;
  lost: number;
}

/** A day of UTC. */
export interface DayOfBusiness {
  /** 2026-01-31. */
  day: string;
  /** Customers who came, and are not among those that failed; installations that were imported count, too. */
  came: number;
  gone: number;
  /** Plan changes that were carried out. */
  changed: number;
  provisions: Conversion;
}

/** What failed today, in words, and for how many resources; `some`: the last five of them. */
export interface Failure {
  type: string;
  inWords: string;
  count: number;
  /** ISO 8601. */
  lastAt: string;
  some: Named[];
}

/** How the service is doing. */
export interface Business {
  /** When it was read, ISO 8601, by this machine's clock. */
  at: string;
  customers: number;
  /** The numbers by plan are estimates: only a part of a very large table was read. */
  isEstimate: boolean;
  /** The plan with the most customers first. */
  plans: PlanOfCustomers[];
  /** Seven, the oldest first; the last one is today. */
  days: DayOfBusiness[];
  /** Of these seven days. */
  week: Omit<DayOfBusiness, "day">;
  failures: Failure[];
  /** Calls of your functions that failed or were cut off today; the kit makes them again. */
  failedCalls: FailedCalls[];
}

const FAILURES: Readonly<Record<string, string>> = {
  provision_failed: "provisions failed after the platform was answered “later”",
  plan_change_refused: "plan changes were refused by your service",
  rotation_refused: "rotations were refused by your service",
  suspension_refused: "suspensions were refused by your service: these customers can still use it",
  resume_refused: "ends of suspensions were refused by your service: these customers still cannot use it",
  grant_lost: "grants were lost",
  needs_reauth: "refresh tokens were revoked",
  quarantined: "credentials could not be decrypted",
  step_given_up: "steps were given up by an operator",
  gone_at_platform: "add-ons are gone at the platform",
};

/** Reads all of it, in some tens of milliseconds with 100,000 resources. */
export async function readBusiness(db: Queryable): Promise<Business> {
  const [plans, days, failures, failedCalls] = await Promise.all([
    customersByPlan(db),
    weekByDay(db),
    failuresOfToday(db),
    countFailedCalls(db),
  ]);
  return { at: new Date().toISOString(), ...plans, days, week: sumOf(days), failures, failedCalls };
}

/** How many customers each plan has. */
export async function customersByPlan(db: Queryable) {
  const rows = await countByPlan(db);
  const percent = rows[0]?.percent ?? 100;
  const whole = (count: number) => Math.round((count * 100) / percent);
  const plans = rows.map(({ plan, customers, arriving }) => ({
    plan,
    customers: whole(customers),
    arriving: whole(arriving),
  }));
  return { customers: sum(plans, ({ customers }) => customers), isEstimate: percent < 100, plans };
}

/** The last seven days: who came, went and changed plans, and what the platform was answered to its provisions. */
export async function weekByDay(db: Queryable): Promise<DayOfBusiness[]> {
  const [days, answers] = await Promise.all([countByDay(db), countAnswers(db)]);
  return days.map(({ day, lost, ...changes }) => {
    const ofDay = answers.filter((each) => each.day === day);
    const answered = (status: RegExp) =>
      sum(
        ofDay.filter((each) => status.test(each.status)),
        ({ count }) => count,
      );
    // A wrong password is a stranger's, and no sale.
    const provisions = {
      done: answered(/^200$/),
      later: answered(/^202$/),
      refused: answered(/^4(?!01)/),
      lost,
    };
    return { day, ...changes, provisions };
  });
}

/** What failed today for whom, the most frequent first. */
export async function failuresOfToday(db: Queryable): Promise<Failure[]> {
  const found = await countFailures(db);
  const named = await nameResources(
    db,
    found.flatMap(({ some }) => some),
  );
  return found.map(({ type, count, lastAt, some }) => ({
    type,
    inWords: FAILURES[type] ?? type,
    count,
    lastAt: lastAt.toISOString(),
    some: named.filter(({ uuid }) => some.includes(uuid)),
  }));
}

const sum = <Item>(items: readonly Item[], of: (item: Item) => number) =>
  items.reduce((total, item) => total + of(item), 0);

function sumOf(days: readonly DayOfBusiness[]): Business["week"] {
  const ofAll = (of: (day: DayOfBusiness) => number) => sum(days, of);
  return {
    came: ofAll(({ came }) => came),
    gone: ofAll(({ gone }) => gone),
    changed: ofAll(({ changed }) => changed),
    provisions: {
      done: ofAll(({ provisions }) => provisions.done),
      later: ofAll(({ provisions }) => provisions.later),
      refused: ofAll(({ provisions }) => provisions.refused),
      lost: ofAll(({ provisions }) => provisions.lost),
    },
  };
}
