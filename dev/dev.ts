import { exitWith, runProcess } from "../src/process.ts";
import { offer } from "../src/your-service/plans.ts";
import { colours } from "./colours.ts";
import { PortBusy } from "./ports.ts";
import { installSample, livingAddon, untilSettled } from "./sample.ts";
import { devSettings, type DevSettings } from "./settings.ts";
import { setStage, type Stage } from "./stage.ts";
import { whatToTry } from "./what-to-try.ts";
import { took } from "./wording.ts";

/** `npm run dev`: a platform and the service in one process, and the story of what they say to each other. */
const SETTLED_WITHIN_MS = 20_000;
const startedAt = performance.now();
let settings: DevSettings;
let stage: Stage;

await runProcess(async () => {
  try {
    settings = devSettings();
    console.log("Starting the platform, your service and its database …\n");
    stage = await setStage(settings);
  } catch (error) {
    if (!(error instanceof PortBusy)) throw error;
    console.error(error.message);
    process.exit(1);
  }
  return { ...stage.service, stop };
});
await play().catch(exitWith);

async function play(): Promise<void> {
  const { sandbox, service, logFile } = stage;
  const survivor = livingAddon(sandbox.control);
  const { id } = survivor ?? (await installSample(sandbox.control, offer.defaultPlan));
  if (survivor) {
    console.log(
      `Going on where the last run stopped: ${survivor.name} (${survivor.plan.name}) is installed on the app "${survivor.app.name}".`,
    );
  }
  const isSettled = await untilSettled(service.services.db, id, SETTLED_WITHIN_MS);
  const addon = sandbox.control.state().addons.find((each) => each.id === id)!;
  console.log(`\n${outcome(isSettled, addon.state)}`);
  console.log(
    whatToTry({
      ...{ offer, logFile, dataDir: settings.dataDir, kitNeeds: kitNeeds() },
      serviceUrl: service.url!,
      platformUrl: sandbox.url,
      addon: addon.state === "deprovisioned" ? null : addon,
    }),
  );
  console.log(`\nReady. The story goes on below; Ctrl-C ends it.\n`);
}

function outcome(isSettled: boolean, state: string): string {
  const time = took(performance.now() - startedAt);
  if (isSettled) return colours.green(`✓ Installed, exchanged and in use, ${time} after the start.`);
  if (state === "deprovisioned")
    return colours.red("✗ The add-on could not be installed; the answer above says why.");
  return colours.yellow("The add-on is not finished yet; what follows appears here.");
}

/** The command line finds the service by DATA_DIR, and on PostgreSQL by the settings themselves. */
function kitNeeds(): string {
  if (settings.environment["DATABASE_URL"]) return `env $(grep -v '^#' ${settings.dataDir}/dev.env) `;
  return process.env["DATA_DIR"] ? `DATA_DIR=${settings.dataDir} ` : "";
}

async function stop(): Promise<void> {
  console.log("\nStopping: what was sent is finished first.");
  await stage.stop();
  console.log("Stopped. npm run dev goes on from here.");
}
