import type { Http } from "../platform/call.ts";

// The clocks of the database, of this process and of the platform. A difference fails silently: customers' sign-ons are
// refused as too old, and times in logs mislead. NTP keeps clocks within milliseconds, so a minute is a fault.

/** By how many seconds other clocks are ahead of that of a process; negative: behind; null: not known. */
export interface Ahead {
  database: number | null;
  platform: number | null;
}

export type Pair = "database_process" | "platform_process" | "database_platform";

export const APART_SECONDS = 60;

/** The other clock was read somewhere in a round trip: what took longer, as of a process that was frozen, says nothing. */
const LONGEST_ROUND_TRIP_MS = 2_000;
/** Our clock was set, or the machine slept, if it and the monotonic clock moved apart by more than this. */
const STEP_MS = 2_000;
/** A `Date` header has whole seconds, without the rest. */
const HALF_A_SECOND_MS = 500;

export type Clocks = ReturnType<typeof createClocks>;

/** What this process has measured. */
export function createClocks() {
  const ahead: Ahead = { database: null, platform: null };
  const offset = () => Date.now() - performance.now();
  let lastOffset = offset();

  /** What was measured before our own clock was set is of no use any more. */
  function forgetAfterStep(): void {
    const now = offset();
    if (Math.abs(now - lastOffset) > STEP_MS) ahead.database = ahead.platform = null;
    lastOffset = now;
  }

  /** Begins a round trip; the returned function ends it, and takes the other clock's time in ms since 1970. */
  function measure(clock: keyof Ahead): (theirMs: number) => void {
    forgetAfterStep();
    const [sentAt, begun] = [Date.now(), performance.now()];
    return (theirMs) => {
      const tookMs = performance.now() - begun;
      forgetAfterStep();
      if (tookMs <= LONGEST_ROUND_TRIP_MS && Number.isFinite(theirMs))
        ahead[clock] = (theirMs - sentAt - tookMs / 2) / 1_000;
    };
  }

  return {
    measure,
    ahead(): Ahead {
      forgetAfterStep();
      return { ...ahead };
    },
    /** The same client, whose answers are read for the platform's `Date`. */
    heard({ send, close }: Http): Http {
      return {
        close,
        async send(request) {
          const end = measure("platform");
          const answer = await send(request);
          const { date, age } = answer.headers;
          // A cache keeps the time at which the answer was made.
          if (date && !Number(age)) end(Date.parse(date) + HALF_A_SECOND_MS);
          return answer;
        },
      };
    },
  };
}

/** How many seconds each pair of clocks is apart; null: not known. */
export function pairsOf({ database, platform }: Ahead): Record<Pair, number | null> {
  const both = database !== null && platform !== null ? Math.abs(database - platform) : null;
  return {
    database_process: database && Math.abs(database),
    platform_process: platform && Math.abs(platform),
    database_platform: both,
  };
}

export interface Apart {
  seconds: number;
  /** Which clock differs from which, as far as that is known. */
  message: string;
  fix: string;
}

/** Null if no two clocks are a minute apart, or more. `process`: whose clock it was measured with, in the genitive. */
export function apart(ahead: Ahead, process = "this process's"): Apart | null {
  const pairs = pairsOf(ahead);
  const known = Object.values(pairs).filter((seconds) => seconds !== null);
  if (Math.max(0, ...known) < APART_SECONDS) return null;
  const { database: db, platform } = ahead;
  if (db === null) return found(process, "the platform's", -platform!, EITHER);
  if (platform === null) return found("The database's", process, db, EITHER);
  // Of three clocks, the two that agree best are presumed right.
  const least = Math.min(...known);
  if (least === pairs.database_platform)
    return found(process, "the database's and the platform's", -(db + platform) / 2, OURS);
  if (least === pairs.platform_process)
    return found("The database's", `the platform's and ${process}`, db - platform / 2, OURS);
  return found("The platform's", `the database's and ${process}`, platform - db / 2, THEIRS);
}

/** The clock of a process is wrong: two others agree. */
export const ofProcess = (process: string, others: string, aheadSeconds: number): Apart =>
  found(process, others, aheadSeconds, OURS);

function found(whose: string, others: string, aheadSeconds: number, fix: string): Apart {
  const seconds = Math.round(Math.abs(aheadSeconds));
  const how = `${seconds} s ${aheadSeconds > 0 ? "ahead of" : "behind"}`;
  const message = `${whose} clock is ${how} ${others}.`.replace(/^./, (first) => first.toUpperCase());
  return { seconds, message, fix };
}

const NTP = "timedatectl and chronyc tracking show whether NTP sets it";
const OURS = `Set the clock of that machine (${NTP}). Until then customers' sign-ons may be refused.`;
const EITHER = `Set the one that is wrong (${NTP}). Until then customers' sign-ons may be refused.`;
const THEIRS = `Compare ours with NTP (${NTP}). If ours are right, ask the platform's support.`;
