import "./no-inspector.ts";
import type { AddonState } from "../packages/sandbox/index.ts";
import { BrokenStateFile } from "../packages/sandbox/world/state-file.ts";
import { StateFileInUse } from "../packages/sandbox/world/state-owner.ts";
import { type Config, readConfig } from "../src/config.ts";
import { Misconfigured } from "../src/errors.ts";
import { exitWith } from "../src/process/run-process.ts";
import { onSignals } from "../src/process/signals.ts";
import { createOwnScrubber } from "../src/secret.ts";
import { offer } from "../src/your-service/plans.ts";
import { colours } from "./colours.ts";
import { checkPort, PortBusy } from "./ports.ts";
import { installSample, livingAddon, untilSettled } from "./sample.ts";
import { type DevSettings, devSettings } from "./settings.ts";
import { setStage, type Stage } from "./stage.ts";
import { whatToTry } from "./what-to-try.ts";
import { took } from "./wording.ts";

// `npm run dev`: a platform in this process, the service in one of its own, which is restarted when its sources change,
// and a log of the calls between them in plain words.

const SETTLED_WITHIN_MS = 10_000;
/** A Ctrl-C this long after the first one, or later, is deliberate: the process exits at once. */
const FORCE_AFTER_MS = 5_000;
/** Errors that may prevent the start, whose message already says what to do. */
const IN_A_SENTENCE = [PortBusy, BrokenStateFile, StateFileInUse];
const startedAt = performance.now();
const inspect = process.argv.slice(2);
let settings: DevSettings;
let config: Config;
let scrub = (text: string) => text;
let stopping: Promise<void> | null = null;

try {
  const unknown = inspect.find((word) => !/^--inspect(-brk|-wait)?(=|$)/.test(word));
  if (unknown)
    throw new Misconfigured(
      `npm run dev knows no ${unknown}, only --inspect, as in: npm run dev -- --inspect`,
    );
  settings = devSettings();
  config = readConfig(settings.environment);
  scrub = createOwnScrubber(config).scrub;
  await checkPort(settings.sandboxPort, "the platform", "SANDBOX_PORT", "127.0.0.1");
  await checkPort(config.port, "your service", "PORT");
  introduce(settings, config.port);
  await play(await setStage(config, settings, inspect));
} catch (error) {
  if (IN_A_SENTENCE.some((kind) => error instanceof kind)) {
    console.error((error as Error).message);
    process.exit(1);
  }
  if (!stopping) exitWith(error, scrub);
}

async function play(stage: Stage): Promise<void> {
  const { sandbox, service, databaseUrl, logFile } = stage;
  const stop = () => (stopping ??= stage.stop());
  onSignals(
    process,
    ["SIGTERM", "SIGINT", "SIGHUP"],
    {
      first: () => void end(stop),
      again: (signal) => void (signal === "SIGINT" && process.exit(130)),
    },
    FORCE_AFTER_MS,
  );
  const how = await service.first;
  if (stopping) return;
  if (how !== "ready") {
    await stop();
    process.exit(how);
  }
  console.log(`Both are up after ${took(performance.now() - startedAt)}.\n`);
  const survivor = livingAddon(sandbox.control);
  const id = survivor?.id ?? (await installSample(sandbox.control, offer.defaultPlan));
  if (survivor) {
    console.log(
      `Going on where the last run stopped: ${survivor.name} (${survivor.plan.name}) is installed on the app "${survivor.app.name}";\nthis run installs nothing more.`,
    );
  }
  const isAlive = sandbox.control.addon(id).state !== "deprovisioned";
  const isSettled =
    isAlive && (await untilSettled({ url: databaseUrl, ca: config.databaseCa }, id, SETTLED_WITHIN_MS));
  // Ctrl-C was pressed meanwhile, so there is nothing left to try.
  if (stopping) return;
  const addon = sandbox.control.addon(id);
  console.log(`\n${outcome(isSettled, addon)}`);
  console.log(
    whatToTry({
      ...{ offer, logFile, kitNeeds: kitNeeds(), settingsFile: `${settings.dataDir}/dev.env` },
      operators: settings.environment["OPERATOR_ACCOUNTS"]!,
      // Deleting the folder would not empty another database, whose data nobody could then decrypt.
      startOver: settings.hasOwnDatabase ? `rm -rf ${settings.dataDir}` : null,
      serviceUrl: `http://localhost:${config.port}`,
      platformUrl: sandbox.url,
      addon: addon.state === "deprovisioned" ? null : addon,
    }),
  );
  console.log(`\nReady. The story goes on below; Ctrl-C ends it.\n`);
}

function introduce({ hasOwnDatabase, dataDir, isFirstRun, sandboxPort }: DevSettings, port: number): void {
  const database = hasOwnDatabase
    ? `a PostgreSQL of its own in ${dataDir}`
    : "the PostgreSQL of DATABASE_URL";
  console.log(
    [
      `The platform, played by packages/sandbox/, starts on port ${sandboxPort}.`,
      `Your service, that is src/ with what src/your-service sells, starts on port ${port} with ${database}.`,
      `Their settings ${isFirstRun ? "were generated and are" : "are, as before,"} in ${dataDir}/dev.env.`,
    ].join("\n"),
  );
}

function outcome(isSettled: boolean, { state, name, tokens }: AddonState): string {
  const token = tokens.at(-1);
  if (isSettled && token?.state === "valid") {
    const until = new Date(token.expires_at).toTimeString().slice(0, 5);
    const time = took(performance.now() - startedAt);
    return colours.green(`✓ ${name} is ${state}, its token is good until ${until}: ${time} after the start.`);
  }
  if (state === "deprovisioned")
    return colours.red("✗ The add-on was not installed; the answer above says why.");
  return colours.yellow(`${name} is not finished yet; whatever follows appears here.`);
}

/** What precedes a command of the kit so that it finds the service: DATA_DIR, or with a database of yours all settings. */
function kitNeeds(): string {
  if (!settings.hasOwnDatabase) {
    const others = ["#", "DATABASE_URL=", ...settings.overridden.map((name) => `${name}=`)];
    return `env $(grep -vE '^(${others.join("|")})' ${settings.dataDir}/dev.env) `;
  }
  return process.env["DATA_DIR"] ? `DATA_DIR=${settings.dataDir} ` : "";
}

async function end(stop: () => Promise<void>): Promise<void> {
  console.log("\nStopping: calls in flight finish first.");
  await stop().catch((error: unknown) => exitWith(error, scrub));
  console.log("Stopped. npm run dev goes on from here.");
  process.exit(0);
}
