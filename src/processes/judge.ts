import type { Sample } from "../metrics/metrics.ts";
import { type Apart, apart, APART_SECONDS, ofProcess, type Pair, pairsOf } from "./clocks.ts";
import type { Process } from "./store.ts";

// What the rows of all processes say together: for the metrics, the doctor and the operator's pages.

export const named = ({ role, host, pid }: Process): string => `${role} ${host}:${pid}`;

export const buildOf = ({ version, commit }: Process): string => `${version} (${commit})`;

/** Those that work, or are about to. */
export const running = (all: readonly Process[]): Process[] =>
  all.filter(({ state }) => ["starting", "ready", "stopping"].includes(state));

export const ready = (all: readonly Process[]): Process[] => all.filter(({ state }) => state === "ready");

/** Those that run as far as their rows say, and have missed two beats. */
export const late = (all: readonly Process[], lateSeconds: number): Process[] =>
  running(all).filter(({ beatSeconds }) => beatSeconds > lateSeconds / 2);

export const missing = (all: readonly Process[]): Process[] => all.filter(({ state }) => state === "missing");

/** Whether a process of the same role was started after the last beat of this one, and works. */
export const isReplaced = (one: Process, all: readonly Process[]): boolean =>
  ready(all).some(({ role, startSeconds }) => role === one.role && startSeconds < one.beatSeconds);

const HOUR_SECONDS = 3_600;

/** Those that ended with 78 within the hour, and that no process of their role followed which works. */
export const misconfigured = (all: readonly Process[]): Process[] =>
  all.filter(
    (one) => one.state === "misconfigured" && one.beatSeconds < HOUR_SECONDS && !isReplaced(one, all),
  );

/** Each process that seals with a key that others lack, with those others. */
export const keysThatDiffer = (all: readonly Process[]): { of: Process; lacking: Process[] }[] =>
  ready(all).flatMap((of) => {
    const lacking = ready(all).filter(({ keyIds }) => of.keyId !== null && !keyIds.includes(of.keyId));
    return lacking.length > 0 ? [{ of, lacking }] : [];
  });

/**
 * Since when no process has had one of these keys: the last beat of the last one that had it, ISO 8601. `undefined`: one
 * that runs has it, or those that had it ended more than a day ago.
 */
export function lackedSince(all: readonly Process[], keyIds: readonly string[]): string | undefined {
  const lost = keyIds.flatMap((keyId) => {
    const had = all.filter((each) => each.keyIds.includes(keyId));
    if (running(had).length > 0) return [];
    return had
      .map(({ lastBeatAt }) => lastBeatAt)
      .sort()
      .slice(-1);
  });
  return lost.sort()[0];
}

/**
 * When fewer than `expected` processes were left: the last beat of the one whose end made them too few, ISO 8601.
 * `undefined`: there were never so many, or it is more than a day ago.
 */
export function tooFewSince(all: readonly Process[], expected: number): string | undefined {
  const left = running(all);
  const ended = all
    .filter((each) => !left.includes(each))
    .sort((one, other) => one.beatSeconds - other.beatSeconds);
  return ended.find(({ beatSeconds }) => {
    const ran = all.filter(
      (each) => each.startSeconds > beatSeconds && (left.includes(each) || each.beatSeconds >= beatSeconds),
    );
    return ran.length >= expected;
  })?.lastBeatAt;
}

/** For how many seconds more than one build has run; 0: one runs. */
export function buildsBesideEachOther(all: readonly Process[]): { builds: string[]; seconds: number } {
  const oldest = new Map<string, number>();
  for (const each of ready(all))
    oldest.set(buildOf(each), Math.max(oldest.get(buildOf(each)) ?? 0, each.startSeconds));
  const builds = [...oldest.keys()].sort();
  return { builds, seconds: builds.length > 1 ? Math.min(...oldest.values()) : 0 };
}

/** Processes on one machine have one clock, and do not confirm each other. */
const agrees = ({ ahead }: Process) => ahead.database !== null && Math.abs(ahead.database) < APART_SECONDS;

/** The largest difference of clocks that a process has measured, if it is a fault. */
export function clocksApart(all: readonly Process[]): Apart | null {
  const measured = running(all);
  const found = measured.flatMap((each) => {
    const whose = `${named(each)}'s`;
    const { database, platform } = each.ahead;
    const confirming =
      platform === null && measured.find((other) => other.host !== each.host && agrees(other));
    if (database !== null && Math.abs(database) >= APART_SECONDS && confirming)
      return ofProcess(whose, `the database's and ${named(confirming)}'s`, -database);
    return apart(each.ahead, whose) ?? [];
  });
  return found.sort((one, other) => other.seconds - one.seconds)[0] ?? null;
}

/** The platform's calls that had a wrong password, since no call had the right one. */
export interface WrongCalls {
  count: number;
  /** Since the first of them. */
  seconds: number;
  /** Since the last call with the right password; `Infinity`: no process that runs has seen one. */
  rightAgoSeconds: number;
}

/** Older ones say nothing of today. */
const DAY_SECONDS = 24 * HOUR_SECONDS;

/** Whether the platform's calls come with a wrong password, as far as the processes that run have seen; `null`: no. */
export function wrongCalls(all: readonly Process[]): WrongCalls | null {
  const calls = running(all).map((each) => each.calls);
  const rightAgoSeconds = Math.min(
    Infinity,
    ...calls.flatMap(({ rightAgoSeconds: seconds }) => seconds ?? []),
  );
  // If another process has answered a call since, that one was the platform's, and these are a stranger's.
  const wrong = calls.filter(({ wrongAgoSeconds }) => (wrongAgoSeconds ?? Infinity) < rightAgoSeconds);
  const seconds = Math.max(0, ...wrong.map(({ wrongAgoSeconds }) => wrongAgoSeconds!));
  if (wrong.length === 0 || seconds > DAY_SECONDS) return null;
  return {
    count: wrong.reduce((sum, { wrongPasswords }) => sum + wrongPasswords, 0),
    seconds,
    rightAgoSeconds,
  };
}

const gauge = (name: string, help: string) => ({ name, help, type: "gauge" });

export const GAUGES_OF_PROCESSES = [
  gauge("addon_processes", "Web processes and workers by what they are at; those that ended do not count"),
  gauge("addon_processes_expected", "PROCESSES_EXPECTED, if it is set"),
  gauge(
    "addon_processes_misconfigured",
    "Processes that ended with 78 within the hour and were not replaced since",
  ),
  gauge(
    "addon_missing_beat_age_seconds",
    "Since the oldest last beat of a process that is missing; 0: none is, or for longer than an hour",
  ),
  gauge(
    "addon_platform_passwords_wrong",
    "Calls of the platform's user with a wrong password, if none had the right one since the first of them",
  ),
  gauge("addon_keys_differ", "Processes that seal with a key that another one cannot decrypt with"),
  gauge("addon_clocks_apart_seconds", "How far two clocks are apart, the most that a process has measured"),
];

/** These gauges; `expected`: PROCESSES_EXPECTED. */
export function samplesOfProcesses(all: readonly Process[], expected: number | undefined): Sample[] {
  const sample = (name: string, value: number, labels: Sample["labels"] = {}): Sample => ({
    sample: name,
    labels,
    value,
  });
  const counts = new Map<string, Sample>();
  for (const each of [...running(all), ...missing(all)]) {
    const { role, state, version, commit } = each;
    const key = [role, state, version, commit].join();
    const before = counts.get(key)?.value ?? 0;
    counts.set(key, sample("addon_processes", before + 1, { role, state, version, commit }));
  }
  return [
    ...counts.values(),
    ...(expected === undefined ? [] : [sample("addon_processes_expected", expected)]),
    sample("addon_processes_misconfigured", misconfigured(all).length),
    sample(
      "addon_missing_beat_age_seconds",
      Math.max(0, ...missing(all).map(({ beatSeconds }) => beatSeconds)),
    ),
    sample("addon_platform_passwords_wrong", wrongCalls(all)?.count ?? 0),
    sample("addon_keys_differ", keysThatDiffer(all).length),
    ...clockSamples(all),
  ];
}

function clockSamples(all: readonly Process[]): Sample[] {
  const most = new Map<Pair, number>();
  for (const { ahead } of running(all))
    for (const [pair, seconds] of Object.entries(pairsOf(ahead)) as [Pair, number | null][])
      if (seconds !== null) most.set(pair, Math.max(most.get(pair) ?? 0, seconds));
  return [...most].map(([between, value]) => ({
    sample: "addon_clocks_apart_seconds",
    labels: { between },
    value,
  }));
}
