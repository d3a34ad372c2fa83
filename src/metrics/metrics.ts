import { Counter, Histogram, Registry } from "prom-client";
import { ALARMS } from "./alarms.ts";

/**
 * The counters and timers of every process. The totals are shared through the database (`totals.ts`), so it does not
 * matter which process did the work and which one is scraped. Label values are fixed words of ours, never a uuid, a
 * name, or anything from outside.
 */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];

  /**
   * A counter with one label. The series of each of `words` starts at 0, so that the first increment is visible as one.
   */
  function fromZero(name: string, help: string, label: string, words: readonly string[]) {
    const counter = new Counter({ name, help, labelNames: [label], registers });
    for (const word of words) counter.inc({ [label]: word }, 0);
    return counter;
  }

  /** The same for a closed set of words: other words are ignored. */
  function counted<Word extends string>(name: string, help: string, label: string, words: readonly Word[]) {
    const counter = fromZero(name, help, label, words);
    const bound = new Map(words.map((word) => [word, counter.labels(word)]));
    return (word: Word): void => bound.get(word)?.inc();
  }

  function timed<Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    buckets: number[],
  ): (labels: Record<Label, string>, seconds: number) => void {
    const histogram = new Histogram({ name, help, labelNames, buckets, registers });
    return (labels, seconds) => histogram.observe(labels, seconds);
  }

  const steals = new Counter({
    name: "addon_lease_steals_total",
    help: "Rows taken over from a process that held them and neither finished nor gave them back",
    registers,
  });
  const openings = new Counter({
    name: "addon_refresh_breaker_openings_total",
    help: "How often refreshes were held back because the token endpoint failed several times in a row, or still fails",
    registers,
  });
  const alarms = fromZero(
    "addon_alarms_total",
    "Alarms in the log; what to do at each stands in docs/operate.md",
    "alarm",
    ALARMS,
  );

  return {
    registry,
    provision: counted("addon_provisions_total", "Provision requests by result", "result", CALL_RESULTS),
    planChange: counted("addon_plan_changes_total", "Plan changes by result", "result", CALL_RESULTS),
    deprovision: counted("addon_deprovisions_total", "Deprovisions by result", "result", CALL_RESULTS),
    exchange: counted("addon_exchanges_total", "Exchanges of a grant, by result", "result", TOKEN_RESULTS),
    refresh: counted("addon_refreshes_total", "Refreshes of a token, by result", "result", TOKEN_RESULTS),
    steal: (rows: number): void => steals.inc(rows),
    breakerOpens: (): void => openings.inc(),
    alarm: (alarm: string): void => alarms.inc({ alarm }),
    request: timed(
      "addon_http_request_duration_seconds",
      "Requests to us, until they were answered",
      ["method", "route", "status"],
      [0.005, 0.025, 0.1, 0.5, 1, 3, 10, 20],
    ),
    platformCall: timed(
      "addon_platform_request_duration_seconds",
      "Our calls to the platform, until their last byte; status none: there was no answer",
      ["endpoint", "status"],
      [0.05, 0.25, 1, 5, 20],
    ),
    query: timed(
      "addon_database_query_duration_seconds",
      "Our statements, with the wait for a connection",
      ["statement"],
      [0.005, 0.05, 0.5, 3],
    ),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * `done`: completed at once. `later`: accepted, to be completed afterwards. `refused`: a definite no. `failed`: our
 * fault.
 */
const CALL_RESULTS = ["done", "later", "refused", "failed"] as const;
export type CallResult = (typeof CALL_RESULTS)[number];

/** The outcomes of the token endpoint's client: `issued`, or why not. */
const TOKEN_RESULTS = [
  "issued",
  "token_rejected",
  "client_rejected",
  "not_issued",
  "unknown",
  "bug",
] as const;
