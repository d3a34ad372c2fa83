import "./no-inspector.ts";
import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Sandbox } from "../packages/sandbox/index.ts";
import { Misconfigured } from "../src/errors.ts";
import { isOnSale, plansOnSale } from "../src/offer.ts";
import { exitWith } from "../src/process/run-process.ts";
import { offer } from "../src/your-service/plans.ts";
import { type DemoStage, demoStage } from "./demo/stage.ts";
import { answerInWords } from "./wording.ts";

// `npm run sandbox:run -- COMMAND`: a platform, this service and a resource on it, for as long as COMMAND runs. COMMAND
// gets the resource's config vars and all addresses in its environment. This process exits with COMMAND's exit code.

const words = process.argv.slice(2);
if (words.length === 0 || words[0] === "--help") {
  console.error(
    "How it is used: npm run sandbox:run -- COMMAND [ARGUMENT…]\n" +
      `For example:    npm run sandbox:run -- sh -c 'echo "$${offer.configVars[0] ?? "RESOURCE_UUID"}"'\n\n` +
      "COMMAND finds the add-on's config vars in its environment, and SANDBOX_URL, SERVICE_URL, RESOURCE_UUID, ADDON_ID,\n" +
      "ADDON_PASSWORD, CLIENT_SECRET and the three PLATFORM_…_URL. SANDBOX_RUN_PLAN names another plan than the usual one.",
  );
  process.exit(words.length === 0 ? 2 : 0);
}

// Until the stage is set, nothing is installed, so a signal ends the process at once.
let isSet = false;
/** The signal that stopped this process. */
let stoppedBy: NodeJS.Signals | null = null;
let child: ChildProcess | null = null;
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(name, () => {
    if (!isSet) process.exit(128 + constants.signals[name]);
    stoppedBy ??= name;
    // A terminal sends Ctrl-C to COMMAND itself; a second SIGINT could make it skip its clean-up.
    if (name !== "SIGINT" || !process.stdin.isTTY) child?.kill(name);
  });

const plan = wantedPlan();
const stage = await demoStage().catch((error: unknown) => exitWith(error));
isSet = true;
let code = 1;
try {
  const { sandbox, service } = stage;
  const uuid = await install(stage, plan);
  try {
    code = await run({ ...addresses(sandbox, service.url!, uuid), ...configOf(sandbox, uuid) });
  } finally {
    await deprovision(sandbox, uuid);
  }
} catch (error) {
  console.error([`✗ ${(error as Error).message}`, ...stage.yourErrors()].join("\n"));
  code ||= 1;
} finally {
  await stage.close();
}
process.exit(code);

function wantedPlan(): string {
  const wanted = process.env["SANDBOX_RUN_PLAN"] || offer.defaultPlan;
  if (isOnSale(offer, wanted)) return wanted;
  const names = plansOnSale(offer)
    .map(([name]) => name)
    .join(", ");
  return exitWith(
    new Misconfigured(`SANDBOX_RUN_PLAN must be one of your plans, which are ${names}, and not ${wanted}.`),
  );
}

/** Installs a resource and waits until the platform has provisioned it and its grant was exchanged. */
async function install({ sandbox: { control }, untilYours }: DemoStage, plan: string): Promise<string> {
  const { addon, response } = await control.install({ plan });
  if (response.status !== 200 && response.status !== 202)
    throw new Error(`The provision was answered with ${answerInWords(response)}`);
  await untilYours(() => {
    const { state, grant } = control.addon(addon.id);
    if (state !== "provisioned" || grant?.state !== "exchanged")
      throw new Error(`The resource is still ${state}, its grant ${grant?.state}.`);
  });
  return addon.id;
}

function addresses({ url, settings }: Sandbox, serviceUrl: string, uuid: string): Record<string, string> {
  return {
    ...{ SANDBOX_URL: url, SERVICE_URL: serviceUrl, RESOURCE_UUID: uuid },
    ...{ PLATFORM_API_URL: url, PLATFORM_AUTH_URL: url, PLATFORM_STATUS_URL: url },
    ...{
      ADDON_ID: settings.addonId,
      ADDON_PASSWORD: settings.addonPassword,
      CLIENT_SECRET: settings.clientSecret,
    },
  };
}

/** The config vars as the customer's app would have them. */
function configOf({ control }: Sandbox, uuid: string): Record<string, string> {
  return control.configVars(control.addon(uuid).app.name) as Record<string, string>;
}

/**
 * Runs COMMAND with the streams of this process and returns its exit code: 128 plus the number if a signal ended it.
 */
async function run(environment: Record<string, string>): Promise<number> {
  if (stoppedBy) return 128 + constants.signals[stoppedBy];
  const [command, ...args] = words;
  child = spawn(command!, args, { stdio: "inherit", env: { ...process.env, ...environment } });
  return new Promise((resolve, reject) => {
    child!.once("error", (error) => reject(new Error(`${command} cannot be run: ${error.message}`)));
    child!.once("close", (exitCode, signal) => resolve(exitCode ?? 128 + constants.signals[signal!]));
  });
}

/** Deprovisions the resource. Throws if the service does not accept that. */
async function deprovision({ control }: Sandbox, uuid: string): Promise<void> {
  const { response } = await control.deprovision(uuid);
  const { status } = response;
  if (status === null || status >= 300)
    throw new Error(`The deprovision was answered with ${status ?? "nothing"}.`);
}
