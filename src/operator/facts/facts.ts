import type { ALARMS } from "../../metrics/metrics.ts";
import type { Fact } from "./fact.ts";
import { OF_THE_INSTALLATION } from "./installation.ts";
import { OF_THE_LEDGERS } from "./ledgers.ts";
import { OF_THE_OFFER } from "./offer.ts";
import { OF_THE_SURROUNDINGS } from "./platform.ts";
import { OF_THE_WORK } from "./work.ts";

/**
 * All that may be wrong, by id, with its cure. docs/operate.md lists them, and a test holds it, the alerts and the alarms to
 * this table.
 */
export const FACTS = {
  ...OF_THE_INSTALLATION,
  ...OF_THE_OFFER,
  ...OF_THE_SURROUNDINGS,
  ...OF_THE_LEDGERS,
  ...OF_THE_WORK,
};

export type FactId = keyof typeof FACTS;
export type ValuesOf<Id extends FactId> = (typeof FACTS)[Id] extends Fact<infer Values> ? Values : never;

/** What stands in the table whatever was found. */
export const factOf = (id: FactId) => FACTS[id] as Omit<Fact<object>, "urgency" | "says" | "cure">;

/** Alerts that ring for no fact, and why no check finds what they are about. */
export const ALERTS_WITHOUT_FACT: Readonly<Record<string, string>> = {
  AddonAlarm: "it rings for any alarm of the log; the alarm's own fact says more",
  AddonMetricsMissing: "the checks read the same rows themselves, and each says so if it cannot be made",
  AddonAnswersSlow: "a process knows the totals of its answers alone; the rate of ten minutes is Prometheus'",
  AddonEventLoopBlocked: "the mean of ten minutes of one process is Prometheus'; its log has each second",
  AddonConnectionsFull: "one process closes connections for a moment; its log has the address",
  AddonWrongPasswords: "strangers cause it, and nothing is broken; the audit trail has their addresses",
};

/** Alarms that are about no fact, and why. */
export const ALARMS_WITHOUT_FACT: Readonly<Partial<Record<(typeof ALARMS)[number], string>>> = {
  crash: "its process has ended, and the deployment starts it again",
  descriptors_exhausted: "one process has no descriptor for a moment; its log says which",
  event_loop_blocked: "it is over when it is logged",
  plan_change_refused: "it is over: the overview counts it among today's failures",
  plan_unchanged_often: "nothing is wrong here",
  provision_failed: "it is over: the overview counts it among today's failures",
  stop_incomplete: "it is over: the next process takes over the work",
  too_many_connections: "one process closes connections for a moment; its log has the address",
};
