/**
 * How urgent a fact is. `urgent`: a fault, with which `kit doctor` exits with 1. `now`: customers wait, although no limit
 * of an alert is passed yet. `later`: it can wait until morning. `remark`: nothing is wrong, but somebody should know.
 */
export const URGENCIES = ["urgent", "now", "later", "remark"] as const;
export type Urgency = (typeof URGENCIES)[number];

/**
 * Something that can be wrong, and its cure. `kit doctor`, the check-up, the overview, the alerts of ops/alerts.yml and
 * docs/operate.md all have it from here. `Values`: what the check found.
 */
export interface Fact<Values> {
  /** Its name for people: the head of its card, and how the summary of its alert begins. */
  title: string;
  /** With `isUrgent`: the usual urgency, and when it is urgent instead. */
  urgency: Urgency | { usually: Urgency; isUrgent(values: Values): boolean };
  /** What was found, in whole sentences: who and what. Since when is the finding's `since`, which is shown beside it. */
  says(values: Values): string;
  /** Whom it names, in a word. */
  names?: string;
  /** What to do, in whole sentences. */
  cure: string | ((values: Values) => string);
  /** The facts that may cause it, by id, the likeliest first: while one of them is found, that one is to be cured. */
  causes?: readonly string[];
  /** The command that cures it, or says more. */
  command?: string;
  /** The operator's actions that cure it, by their paths below `/operator`. */
  buttons?: readonly string[];
  /** The operator's page that says more, by its path below `/operator`. */
  page?: { path: string; name: string };
  /** The heading of its paragraph in docs/operate.md. */
  runbook: string;
  /** The alerts that ring for it. */
  alerts?: readonly string[];
  /** Why no alert rings for it, if it is no mere remark and raises no alarm either. */
  noAlert?: string;
  /** The alarms of the log that are about it. */
  alarms?: readonly string[];
}

export const fact = <Values = object>(of: Fact<Values>): Fact<Values> => of;

export function urgencyOf<Values>({ urgency }: Pick<Fact<Values>, "urgency">, values: Values): Urgency {
  if (typeof urgency === "string") return urgency;
  return urgency.isUrgent(values) ? "urgent" : urgency.usually;
}
