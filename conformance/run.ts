import { writeFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import picocolors from "picocolors";
import { judge } from "./judge.ts";
import { type Options, readOptions, UsedWrongly } from "./options.ts";
import { createProgress } from "./progress.ts";
import { readSettings } from "./read-settings.ts";
import { humanReport } from "./report/human.ts";
import { jsonReport } from "./report/json.ts";
import { junitReport } from "./report/junit.ts";
import { isFit, type Report } from "./report/report.ts";
import type { Rule } from "./rule.ts";
import { chosenRules, groups } from "./rules/index.ts";
import { answers, startService } from "./service-process.ts";
import type { Settings } from "./settings.ts";
import { openStage } from "./stage/stage.ts";

/** The same numbers as those of the command line `kit`. */
const DONE = 0;
const FAILED = 1;
const USED_WRONGLY = 2;

/** Runs the command to its end and answers what to exit with. */
export async function runConformance(words: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  try {
    const options = readOptions(words);
    if (!options) return DONE;
    const rules = rulesOf(options);
    if (options.list) return print(listed(rules), DONE);
    const settings = await readSettings(options, env, () =>
      process.stdin.isTTY ? Promise.resolve("") : text(process.stdin),
    );
    const report = await check(options, settings, rules);
    if (options.junit) writeFileSync(options.junit, junitReport(report));
    const paint = picocolors.createColors(process.stdout.isTTY && picocolors.isColorSupported);
    const shown = options.json ? JSON.stringify(jsonReport(report)) : humanReport(report, paint);
    return print(shown, isFit(report) ? DONE : FAILED);
  } catch (error) {
    const isUsage = error instanceof UsedWrongly;
    const message = (error as Error).message;
    if (words.includes("--json"))
      print(JSON.stringify({ id: isUsage ? "used_wrongly" : "not_checked", message }), FAILED);
    else console.error(`✗ ${message}${isUsage ? "\n  How it is used: npm run conformance -- --help" : ""}`);
    return isUsage ? USED_WRONGLY : FAILED;
  }
}

async function check(options: Options, settings: Settings, rules: readonly Rule[]): Promise<Report> {
  const started = performance.now();
  const stage = await openStage(settings).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error;
    throw new UsedWrongly(
      `Port ${settings.platformPort}, where the platform was to be played, is in use (by npm run dev, or a sandbox?). ` +
        "Stop that, or choose another with --platform-port and tell your service.",
    );
  });
  const end = onSignals();
  const progress = createProgress(process.stderr, rules.length, !options.json);
  let service: Awaited<ReturnType<typeof startService>> | null = null;
  try {
    if (options.command) service = await startService(options.command, settings, stage.platformUrl);
    else if (!(await answers(settings.url))) throw new Error(`Nobody answers at ${settings.url}.`);
    else if (!options.json)
      console.error(`The platform is played on ${stage.platformUrl}; your service must call it there.`);
    end.andThen(() => service?.stop());
    const verdicts = await judge(stage, rules, progress.step);
    return { url: settings.url, verdicts, ms: Math.round(performance.now() - started) };
  } finally {
    progress.end();
    await stage.close();
    await service?.stop();
    end.forget();
  }
}

/** Nothing that was started stays when somebody stops us. */
function onSignals() {
  let work: () => unknown = () => undefined;
  const stop = () => void Promise.resolve(work()).finally(() => process.exit(130));
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, stop);
  return {
    andThen: (next: () => unknown) => void (work = next),
    forget: () => ["SIGINT", "SIGTERM"].forEach((name) => process.off(name, stop)),
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
