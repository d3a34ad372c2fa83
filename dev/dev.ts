import type { AddonState } from "../sandbox/index.ts";
import { BrokenStateFile } from "../sandbox/world/state-file.ts";
import { StateFileInUse } from "../sandbox/world/state-owner.ts";
import { readConfig, type Config } from "../src/config.ts";
import { exitWith, runProcess } from "../src/process/run-process.ts";
import { offer } from "../src/your-service/plans.ts";
import { colours } from "./colours.ts";
import { checkPort, PortBusy } from "./ports.ts";
import { installSample, livingAddon, untilSettled } from "./sample.ts";
import { devSettings, type DevSettings } from "./settings.ts";
import { setStage, type Stage } from "./stage.ts";
import { whatToTry } from "./what-to-try.ts";
import { took } from "./wording.ts";

// `npm run dev`: a platform and the service in one process, and a log of the calls between them in plain words.

const SETTLED_WITHIN_MS = 10_000;
/** Errors that may prevent the start, whose message already says what to do. */
const IN_A_SENTENCE = [PortBusy, BrokenStateFile, StateFileInUse];
const startedAt = performance.now();
let settings: DevSettings;
let stage: Stage;
let isStopping = false;

await runProcess(readSettings, async (config) => {
  try {
    await checkPort(settings.sandboxPort, "the platform", "SANDBOX_PORT", "127.0.0.1");
    await checkPort(config.port, "your service", "PORT");
    introduce(settings, config.port);
    stage = await setStage(config, settings);
  } catch (error) {
    if (!IN_A_SENTENCE.some((kind) => error instanceof kind)) throw error;
    console.error((error as Error).message);
    process.exit(1);
  }
  return { ...stage.service, stop };
});
await play().catch((error: unknown) => {
  if (!isStopping) exitWith(error, stage.service.services.scrubber.scrub);
});

function readSettings(): Config {
  settings = devSettings();
  return readConfig(settings.environment);
}

async function play(): Promise<void> {
  if (isStopping) return;
  const { sandbox, service, logFile } = stage;
  console.log(`Both are up after ${took(performance.now() - startedAt)}.\n`);
  const survivor = livingAddon(sandbox.control);
  const id = survivor?.id ?? (await installSample(sandbox.control, offer.defaultPlan));
  if (survivor) {
    console.log(
      `Going on where the last run stopped: ${survivor.name} (${survivor.plan.name}) is installed on the app "${survivor.app.name}";\nthis run installs nothing more.`,
    );
  }
  const isAlive = sandbox.control.addon(id).state !== "deprovisioned";
  const isSettled = isAlive && (await untilSettled(service.services.db, id, SETTLED_WITHIN_MS));
  // Ctrl-C was pressed meanwhile, so there is nothing left to try.
  if (isStopping) return;
  const addon = sandbox.control.addon(id);
  console.log(`\n${outcome(isSettled, addon)}`);
  console.log(
    whatToTry({
      ...{ offer, logFile, kitNeeds: kitNeeds(), settingsFile: `${settings.dataDir}/dev.env` },
      operators: settings.environment["OPERATOR_ACCOUNTS"]!,
      // Deleting the folder would not empty another database, whose data nobody could then decrypt.
      startOver: settings.hasOwnDatabase ? `rm -rf ${settings.dataDir}` : null,
      serviceUrl: service.url!,
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
      `The platform, played by sandbox/, starts on port ${sandboxPort}.`,
      `Your service, that is src/ with what src/your-service sells, starts on port ${port} with ${database}.`,
      `Their settings ${isFirstRun ? "were made up and are" : "are, as before,"} in ${dataDir}/dev.env.`,
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

async function stop(): Promise<void> {
  isStopping = true;
  console.log("\nStopping: what was sent is finished first.");
  await stage.stop();
  console.log("Stopped. npm run dev goes on from here.");
}
