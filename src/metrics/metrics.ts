import { Counter, Histogram, Registry } from "prom-client";
import { createYourMetrics, labelIn } from "./yours.ts";

/**
 * The counters and timers of every process. Label values are fixed words of ours, never a uuid, a name, or anything from
 * outside.
 */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];

  function summed(name: string, help: string): (by?: number) => void {
    const counter = new Counter({ name, help, registers });
    return (by = 1) => counter.inc(by);
  }

  /** The series of each of `words` starts at 0, so that its first increment is visible as one. */
  function counted<Word extends string>(name: string, help: string, label: string, words: readonly Word[]) {
    const counter = new Counter({ name, help, labelNames: [label], registers });
    for (const word of words) counter.inc({ [label]: word }, 0);
    return (word: Word): void => counter.inc({ [label]: labelIn(word) });
  }

  function timed<Label extends string>(name: string, help: string, labelNames: Label[], buckets: number[]) {
    const histogram = new Histogram({ name, help, labelNames, buckets, registers });
    return (labels: Record<Label, string>, seconds: number): void => histogram.observe(labels, seconds);
  }

  const yours = createYourMetrics(registers);

  return {
    /** Those that the vendor declares. */
    yours,
    /** What this process has counted and timed. */
    families: (): Promise<Family[]> => registry.getMetricsAsJSON(),
    exchange: counted("addon_exchanges_total", "Exchanges of a grant, by result", "result", TOKEN_RESULTS),
    refresh: counted("addon_refreshes_total", "Refreshes of a token, by result", "result", TOKEN_RESULTS),
    breakerOpens: summed(
      "addon_refresh_breaker_openings_total",
      "Refreshes that failed while others are held back: the fifth in a row, and each after it",
    ),
    alarm: counted<string>(
      "addon_alarms_total",
      "Alarms in the log; docs/operate.md says what to do about each",
      "alarm",
      ALARMS,
    ),
    wrongPassword: counted(
      "addon_wrong_passwords_total",
      "Refused passwords, by what they would open",
      "door",
      DOORS,
    ),
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
    yourCall: timed(
      "addon_your_service_duration_seconds",
      "Calls of the vendor's functions, until they ended or were cut off",
      ["function", "result"],
      [0.1, 0.5, 1, 2.8, 10, 60, 600],
    ),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;

const DOORS = ["platform", "operator", "metrics"] as const;

/** The outcomes of the token endpoint's client: `issued`, or why not. */
const TOKEN_RESULTS = [
  "issued",
  "token_rejected",
  "client_rejected",
  "unauthorized",
  "not_issued",
  "unknown",
  "bug",
] as const;

/**
 * The ids of all alarms that the kit raises. Each counter starts at 0: for Prometheus a series that begins at 1 has not
 * increased, so the first alarm of its kind would go unnoticed. docs/operate.md says what to do about each.
 */
export const ALARMS = [
  "client_secret_rejected",
  "clocks_apart",
  "crash",
  "database_restored",
  "database_unreachable",
  "descriptors_exhausted",
  "event_loop_blocked",
  "gone_at_platform",
  "grant_lost",
  "job_fails",
  "job_hangs",
  "keys_differ",
  "needs_reauth",
  "no_grant",
  "no_refresh_token",
  "oauth_client_rejected",
  "plan_change_refused",
  "plan_unchanged_often",
  "process_missing",
  "provision_failed",
  "provision_lost",
  "quarantined",
  "refresh_misunderstood",
  "restore_suspected",
  "step_stuck",
  "stop_incomplete",
  "tokens_held",
  "too_many_connections",
  "unknown_resource",
] as const;

/** A counter or a histogram with its samples, as prom-client has them. */
interface Family {
  name: string;
  help: string;
  type: unknown;
  /** `metricName`: of a histogram, the name with `_bucket`, `_sum` or `_count`. */
  values: { value: number; labels: Partial<Record<string, string | number>>; metricName?: string }[];
}

/** One number of a scrape. `sample`: a metric's name; of a histogram, with `_bucket`, `_sum` or `_count`. */
export interface Sample {
  sample: string;
  labels: Readonly<Record<string, string | number>>;
  value: number;
}

export const samplesOf = (samples: readonly Sample[], name: string): Sample[] =>
  samples.filter(({ sample }) => sample === name);
