import { Misconfigured } from "../errors.ts";
import { faultInMetric } from "../metrics/metrics.ts";
import type { Extensions, OperatorAction, Rotation, YourJob } from "./contract.ts";
import { hasTwoKindsOfDays, isTimeZone, nextTime } from "./job-times.ts";

// Checks a vendor's extensions at start-up. The types cover most faults, but a fork may be built without type checks.

/** A week. Node's timers allow at most 24 days. */
const LONGEST_JOB_MINUTES = 10_080;

const MISSED: readonly NonNullable<YourJob["missed"]>[] = ["once", "each", "skip"];

/** Names that are valid in a URL path, a command and a label. */
const NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;

/** Throws one {@link Misconfigured} that lists every fault in your service's extensions. */
export function checkExtensions(yours: Extensions): void {
  const { jobs = [], actions = {}, operatorActions = {}, metrics = {}, checks = {}, rotation } = yours;
  const names = jobs.map(({ name }) => name);
  const faults = [
    ...[...names, ...Object.keys(actions), ...Object.keys(operatorActions)]
      .filter((name) => !NAME.test(name))
      .map((name) => `the name "${name}" must consist of small letters, digits and hyphens.`),
    ...names
      .filter((name, index) => names.indexOf(name) < index)
      .map((name) => `two jobs have the name "${name}".`),
    ...jobs.flatMap(faultsInJob),
    ...Object.entries(actions).flatMap(([name, { run, may, confirm, mostSeconds = 1 }]) => [
      ...(confirm ? faultsInTexts(`confirm of the action ${name}`, confirm, ["question", "button"]) : []),
      ...faultsInCode(`the action ${name}`, { run, ...(may && { may }) }),
      ...(mostSeconds > 0 ? [] : [`mostSeconds of the action ${name} must be above 0.`]),
    ]),
    ...Object.entries(operatorActions).flatMap(faultsInOperatorAction),
    ...Object.entries(checks).flatMap(([name, check]) => faultsInCode("checks", { [name]: check })),
    ...Object.entries(metrics).flatMap(([name, metric]) => {
      const fault = faultInMetric(name, metric);
      return fault === null ? [] : [`the metric ${name}: ${fault}.`];
    }),
    ...(yours.routes ? faultsInCode("your service", { routes: yours.routes }) : []),
    ...(rotation ? faultsInRotation(rotation) : []),
  ];
  if (faults.length > 0) throw new Misconfigured(["src/your-service is invalid:", ...faults].join("\n  "));
}

function faultsInJob(job: YourJob): string[] {
  const { name, run, mostMinutes = 1, missed = "once" } = job;
  return [
    ...faultsInTimes(job),
    ...(MISSED.includes(missed) ? [] : [`missed of the job ${name} must be one of ${MISSED.join(", ")}.`]),
    ...(mostMinutes > 0 && mostMinutes <= LONGEST_JOB_MINUTES
      ? []
      : [`mostMinutes of the job ${name} must be above 0 and at most ${LONGEST_JOB_MINUTES}.`]),
    ...faultsInCode(`the job ${name}`, { run }),
  ];
}

function faultsInTimes({ name, at, timeZone }: YourJob): string[] {
  if (timeZone !== undefined && !isTimeZone(timeZone))
    return [
      `timeZone of the job ${name} must name a time zone, such as Europe/Berlin, and is "${timeZone}".`,
    ];
  try {
    nextTime({ at, timeZone }, new Date());
  } catch {
    return [`at of the job ${name} must be a cron expression with a next time, and is "${at}".`];
  }
  return hasTwoKindsOfDays(at)
    ? [
        `at of the job ${name} names days of the month and days of the week: "${at}". Some crons run such a job on days that are either, others on days that are both. Name one kind, such as "0 3 * * 1#1" for the first Monday of each month, and look at dueAt in run.`,
      ]
    : [];
}

function faultsInOperatorAction([name, action]: [string, OperatorAction]): string[] {
  return [
    ...faultsInTexts(`the operator action ${name}`, action, ["label", "effect"]),
    ...faultsInCode(`the operator action ${name}`, { run: action.run }),
  ];
}

function faultsInRotation({ rotate, retire, overlapMinutes = 0, everyDays = 1 }: Rotation): string[] {
  const isSound = overlapMinutes >= 0 && everyDays >= 1 && Number.isFinite(overlapMinutes + everyDays);
  return [
    ...(isSound
      ? []
      : ["overlapMinutes of rotation must be at least 0, everyDays at least 1, and both finite."]),
    ...faultsInCode("rotation", { rotate, retire }),
  ];
}

const faultsInTexts = <Member extends string>(
  of: string,
  texts: Readonly<Record<Member, string>>,
  members: readonly Member[],
) =>
  members
    .filter((member) => typeof texts[member] !== "string" || !texts[member].trim())
    .map((member) => `${member} of ${of} must be a text that is not empty.`);

const faultsInCode = (of: string, members: Readonly<Record<string, unknown>>) =>
  Object.entries(members)
    .filter(([, member]) => typeof member !== "function")
    .map(([name]) => `${name} of ${of} must be a function.`);
