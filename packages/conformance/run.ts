import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import picocolors from "picocolors";
import { judge, settled } from "./judge.ts";
import { type Options, readOptions, UsedWrongly } from "./options.ts";
import { createProgress, type Progress } from "./progress.ts";
import { whyNoAnswer, whyNotJudged } from "./reachable.ts";
import { readSettings } from "./read-settings.ts";
import { type ReportFiles, reportFiles } from "./report/files.ts";
import { humanReport, leftBehind } from "./report/human.ts";
import { jsonReport, rulesJson } from "./report/json.ts";
import { isFit, isStopped, type Report } from "./report/report.ts";
import type { Rule, Verdict } from "./rule.ts";
import { chosenRules, groups } from "./rules/index.ts";
import { Interrupted, type ServiceProcess, startService } from "./service-process.ts";
import type { Settings } from "./settings.ts";
import { MUTE_AFTER } from "./stage/inventory.ts";
import { openStage, type Stage } from "./stage/stage.ts";
import { createWaiting, type Waiting } from "./waiting.ts";

/** The same exit codes as the command line `kit`. */
const DONE = 0;
const FAILED = 1;
const USED_WRONGLY = 2;
/** The exit code of a shell for Ctrl-C. */
const INTERRUPTED = 130;

const STOPPING = "Stopping: what was installed is taken down first. Ctrl-C again stops at once.";
const STOPPED_AT_ONCE = "Stopped at once: nothing is judged, and what was installed is left at the service.";
const CLEANED_UP_WITHIN_MS = 60_000;
const NOT_CLEANED_UP = `Not all that follows a deprovision was done within ${CLEANED_UP_WITHIN_MS / 1000} s.`;

/** Whether the service has completed all work that follows a 204; given by callers that can find out. */
export type HasCleanedUp = () => Promise<boolean>;

/**
 * Runs the command to its end and returns the exit code. Everything that was installed is deprovisioned before, even if
 * the run is interrupted. A service that was started is stopped once `hasCleanedUp` returns true, or otherwise after
 * some seconds.
 */
export async function runConformance(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  hasCleanedUp?: HasCleanedUp,
): Promise<number> {
  let files: ReportFiles | null = null;
  const waiting = createWaiting();
  try {
    const options = readOptions(words);
    if (!options) return DONE;
    const rules = rulesOf(options);
    if (options.list) return print(options.json ? JSON.stringify(rulesJson(rules)) : listed(rules), DONE);
    const writable = reportFiles(options);
    writable.check();
    files = writable;
    const settings = await readSettings(options, env, () =>
      process.stdin.isTTY
        ? Promise.resolve("")
        : waiting.during("the add-on's password on standard input", text(process.stdin)),
    );
    const report = await check(options, settings, rules, waiting, stoppedAtOnce, hasCleanedUp);
    const unwritten = files.write(report);
    const paint = picocolors.createColors(process.stdout.isTTY && picocolors.isColorSupported);
    const shown = options.json ? JSON.stringify(jsonReport(report)) : humanReport(report, paint);
    for (const sentence of unwritten) console.error(`✗ ${sentence}`);
    if (isStopped(report)) return print(shown, INTERRUPTED);
    return print(shown, isFit(report) && unwritten.length === 0 ? DONE : FAILED);
  } catch (error) {
    return failed(error as Error);
  } finally {
    waiting.end();
  }

  function failed(error: Error): number {
    const { id, exitCode, next = "" } = endOf(error);
    const { message } = error;
    for (const sentence of files?.writeFailure(message) ?? []) console.error(`✗ ${sentence}`);
    if (words.includes("--json")) return print(JSON.stringify({ id, message }), exitCode);
    console.error(`✗ ${message}${next}`);
    return exitCode;
  }

  function stoppedAtOnce(): void {
    failed(new Interrupted(STOPPED_AT_ONCE));
  }
}

function endOf(error: unknown): { id: string; exitCode: number; next?: string } {
  const next = "\n  How it is used: --help";
  if (error instanceof UsedWrongly) return { id: "used_wrongly", exitCode: USED_WRONGLY, next };
  if (error instanceof Interrupted) return { id: "interrupted", exitCode: INTERRUPTED };
  return { id: "not_checked", exitCode: FAILED };
}

async function check(
  options: Options,
  settings: Settings,
  rules: readonly Rule[],
  waiting: Waiting,
  stoppedAtOnce: () => void,
  hasCleanedUp?: HasCleanedUp,
): Promise<Report> {
  const started = performance.now();
  const stage = await openStage(settings).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error;
    throw new UsedWrongly(
      `Port ${settings.platformPort}, where the platform was to be played, is in use (by npm run dev, a sandbox, or another check?). ` +
        "Stop that, or choose another with --platform-port and tell your service.",
    );
  });
  let progress: Progress | null = null;
  let service: ServiceProcess | null = null;
  const end = onSignals({
    stopping() {
      progress?.end();
      if (!options.json) console.error(STOPPING);
    },
    atOnce() {
      service?.kill();
      stoppedAtOnce();
    },
  });
  let left: string[];
  let verdicts: Verdict[] | null = null;
  const judged: Verdict[] = [];
  try {
    const { url } = settings;
    const reached = waiting.during(`an answer of ${url}`, whyNoAnswer(url));
    const whyNot = await Promise.race([reached, end.interrupted]);
    if (options.command && whyNot === null)
      throw new UsedWrongly(`Somebody answers at ${url} already, before the command is started.`);
    if (options.command)
      service = await waiting.during(
        `the started service to answer at ${url}`,
        startService(options.command, settings, stage.platformUrl, end.signal),
      );
    else if (whyNot !== null) throw new Error(whyNot);
    else if (!options.json)
      console.error(`The platform is played on ${stage.platformUrl}; your service must call it there.`);
    const endings = [end.interrupted, silence(stage), ...(service ? [service.ended] : [])];
    waiting.for(stage.waitsFor);
    const problem = await Promise.race([whyNotJudged(stage), ...endings]);
    if (problem !== null) throw new Error(problem);
    progress = createProgress(process.stderr, rules.length, !options.json);
    waiting.tellBy(progress.note);
    const onVerdict = (verdict: Verdict) => {
      judged.push(verdict);
      progress?.step();
    };
    verdicts = await Promise.race([judge(stage, rules, onVerdict), ...endings]);
  } catch (error) {
    // What was judged by then is reported; what ends with the run is not judged any more.
    if (!(error instanceof Interrupted) || judged.length === 0) throw error;
    const inOrder = judged.sort((one, other) => rules.indexOf(one.rule) - rules.indexOf(other.rule));
    verdicts = settled(inOrder);
  } finally {
    progress?.end();
    left = await waiting.during("the service to deprovision what was installed", stage.takeDown());
    if (verdicts === null) for (const line of leftBehind(left)) console.error(line);
    const isOver = service === null || service.hasEnded() || (await isCleanedUp(settings, hasCleanedUp));
    if (!isOver && !options.json) console.error(NOT_CLEANED_UP);
    // First, because a service that ends waits for calls, and some are answered late on purpose.
    await stage.close();
    await service?.stop();
    end.forget();
  }
  const ms = Math.round(performance.now() - started);
  return { url: settings.url, verdicts, unreached: rules.length - verdicts.length, ms, left };
}

/** How long a service that gives no answers any more may be away, to be started again after a crash, for example. */
const AWAY_FOR_MS = 10_000;

/** Rejects once the service gives no answer to anything any more: what is left would be waited for in vain. */
async function silence(stage: Stage): Promise<never> {
  for (let awaySince: number | null = null; ; await sleep(500, undefined, { ref: false })) {
    const isMute = stage.unanswered() >= MUTE_AFTER && Number.isFinite(stage.unanswered());
    const whyNot = isMute ? await whyNoAnswer(stage.settings.url) : null;
    awaySince = whyNot === null ? null : (awaySince ?? performance.now());
    if (awaySince !== null && performance.now() - awaySince >= AWAY_FOR_MS)
      throw new Error(
        `The service stopped answering in the middle of the run, after ${stage.books.replies.length} answers.`,
      );
  }
}

/** Waits for a clean-up that continues after the 204: what is interrupted there is left behind for good. */
async function isCleanedUp({ patience: { graceMs } }: Settings, ask?: HasCleanedUp): Promise<boolean> {
  if (!ask) return sleep(graceMs, true);
  for (const until = performance.now() + CLEANED_UP_WITHIN_MS; performance.now() < until; await sleep(200))
    if (await ask().catch(() => false)) return true;
  return false;
}

/**
 * A signal sooner than this after the first is the same one: npm forwards what the terminal has sent to the whole
 * process group.
 */
const SAME_SIGNAL_MS = 1_000;
const STOPPED_BY = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * The first signal ends the run, and deprovisions what it made; the second ends the process at once. A terminal that
 * hangs up may send SIGHUP twice, so a second SIGHUP is ignored.
 */
function onSignals({ stopping, atOnce }: { stopping(): void; atOnce(): void }) {
  const stop = new AbortController();
  const interrupted = once(stop.signal, "abort").then(() => Promise.reject(new Interrupted()));
  // Nobody may be waiting for it yet, or any more: this prevents an unhandled rejection.
  interrupted.catch(() => undefined);
  let firstAt = 0;
  function onSignal(name: NodeJS.Signals) {
    if (stop.signal.aborted) {
      if (name === "SIGHUP" || performance.now() - firstAt < SAME_SIGNAL_MS) return;
      atOnce();
      process.exit(INTERRUPTED);
    }
    firstAt = performance.now();
    stopping();
    stop.abort();
  }
  for (const name of STOPPED_BY) process.on(name, onSignal);
  return {
    signal: stop.signal,
    interrupted,
    forget: () => STOPPED_BY.forEach((name) => process.off(name, onSignal)),
  };
}

function rulesOf({ only }: Options): readonly Rule[] {
  try {
    return chosenRules(only);
  } catch (error) {
    throw new UsedWrongly((error as Error).message);
  }
}

function listed(rules: readonly Rule[]): string {
  const parts = groups.map(({ title, rules: own }) => {
    const lines = own
      .filter((rule) => rules.includes(rule))
      .map(({ id, severity, title }) => `  ${id.padEnd(9)}${severity.padEnd(8)}${title}`);
    return lines.length === 0 ? "" : [title, ...lines, ""].join("\n");
  });
  return parts.filter((part) => part !== "").join("\n");
}

function print(shown: string, exitCode: number): number {
  process.stdout.write(`${shown}\n`);
  return exitCode;
}
