import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Sandbox, startSandbox } from "../../packages/sandbox/index.ts";
import { readConfig, yourEnvironment } from "../../src/config.ts";
import { positional } from "../../src/database/statement.ts";
import type { Environment } from "../../src/environment.ts";
import { addonManifest } from "../../src/offer.ts";
import { runWeb } from "../../src/process/run-web.ts";
import type { RunningService } from "../../src/process/start-up.ts";
import { addonId, offer } from "../../src/your-service/plans.ts";
import { newUrl } from "../postgresql.ts";
import { temporaryDatabase } from "../temporary-database.ts";
import { runKit } from "./kit.ts";
import { createYourErrors } from "./your-errors.ts";

/** A platform, a service and its database in a folder of their own. */
export interface DemoStage {
  sandbox: Sandbox;
  readonly service: RunningService;
  /** Everything the service has logged. */
  logged(): string;
  /** What functions of yours threw since the last call, in words. */
  yourErrors(): string[];
  /**
   * Retries until `look` no longer throws, for the time that your functions may take. Throws its last error, or at once if
   * one of them fails the same way again and again.
   */
  untilYours<Found>(look: () => Promise<Found> | Found): Promise<Found>;
  /** Rows of the service's database. */
  rows<Row>(text: string, ...values: unknown[]): Promise<Row[]>;
  /** Runs an operator's command in a process of its own, and returns its JSON. */
  kit<Answer>(args: string[], input?: string): Promise<Answer>;
  /** Stops the service and starts it again with changed settings, which stay in effect. */
  restart(change: Environment): Promise<void>;
  encryptionKey(): string;
  /**
   * Deprovisions what was installed and closes everything. Returns false, and prints what is left, if your
   * `deprovision` did not finish in time.
   */
  close(): Promise<boolean>;
}

/** How long to wait for your functions, in ms: they may call your own service, and be retried. */
const YOURS_WITHIN_MS = 60_000;

/**
 * Opens a stage. Its folder is removed when this process ends, even after a failure. Throws `Misconfigured` for invalid
 * settings of yours.
 */
export async function demoStage(): Promise<DemoStage> {
  const folder = mkdtempSync(path.join(tmpdir(), "addon-demo-"));
  // A process that is ending may still write into the folder.
  process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  const sandbox = await startSandbox({
    addonManifest: addonManifest(addonId, offer),
    ssoSalt: randomBytes(20).toString("hex"),
  });
  // Settings of yours that are invalid are said before a database is made.
  readConfig({ ...environmentFor(sandbox), DATABASE_URL: newUrl() });
  const database = await temporaryDatabase();
  const lines: string[] = [];
  const yours = createYourErrors();
  const logTo = {
    write(line: string) {
      lines.push(line);
      yours.read(line);
    },
  };
  let environment: Environment = { ...environmentFor(sandbox), DATABASE_URL: database.url };
  let asked = 0;
  let closing: Promise<boolean> | undefined;

  async function start(): Promise<RunningService> {
    const started = await runWeb(readConfig(environment), { logTo, pace: { logAgainMs: 0 } });
    await started.ready;
    sandbox.control.partner({ partnerUrl: started.url! });
    return started;
  }
  let service = await start();

  return {
    sandbox,
    get service() {
      return service;
    },
    logged: () => lines.join(""),
    yourErrors: yours.inWords,
    untilYours: (look) => eventually(look, YOURS_WITHIN_MS, yours.check),
    rows: (text, ...values) => service.services.db.query(positional(`demo_${(asked += 1)}`, text), values),
    kit: (args, input) => runKit(args, environment, folder, input),
    async restart(change) {
      await service.stop();
      environment = { ...environment, ...change };
      service = await start();
    },
    encryptionKey: () => environment["ENCRYPTION_KEY"]!,
    close: () =>
      (closing ??= (async () => {
        const left = await takeDown(sandbox, service, yours.check).catch(() => installed(sandbox));
        if (left.length > 0)
          console.error(
            [
              `✗ Your deprovision has not taken down ${left.join(", ")}: look for what is left.`,
              ...yours.inWords(),
            ].join("\n"),
          );
        await service.stop();
        await sandbox.close();
        await database.remove();
        return left.length === 0;
      })()),
  };
}

const CLEAN_UPS = `SELECT uuid FROM steps WHERE kind = 'clean_up'`;

/**
 * Deprovisions everything, including resources still being provisioned, and waits for the clean-ups: in a vendor's own
 * database they would otherwise be left for good. Returns the uuids whose clean-up is not done.
 */
async function takeDown(
  { control }: Sandbox,
  { services }: RunningService,
  check: () => void,
): Promise<string[]> {
  for (const id of installed({ control })) await control.deprovision(id).catch(() => undefined);
  let left: { uuid: string }[] = [];
  const look = async () => {
    left = await services.db.query<{ uuid: string }>(positional("demo_left", CLEAN_UPS), []);
    if (left.length > 0) throw new Error("Clean-ups are left.");
  };
  await eventually(look, YOURS_WITHIN_MS, check).catch(() => undefined);
  return left.map(({ uuid }) => uuid);
}

/** The uuids of add-ons that are provisioned or being provisioned. */
function installed({ control }: Pick<Sandbox, "control">): string[] {
  const isThere = ({ state }: { state: string }) => state === "provisioned" || state === "provisioning";
  return control
    .state()
    .addons.filter(isThere)
    .map(({ id }) => id);
}

function environmentFor({ url, settings }: Sandbox): Environment {
  return {
    ...yourEnvironment(),
    PORT: "0",
    ADDON_ID: settings.addonId,
    ADDON_PASSWORD: settings.addonPassword,
    CLIENT_SECRET: settings.clientSecret,
    ENCRYPTION_KEY: randomBytes(32).toString("hex"),
    PLATFORM_API_URL: url,
    PLATFORM_AUTH_URL: url,
    PLATFORM_STATUS_URL: url,
    ALLOW_INSECURE_PLATFORM: "on",
    SSO_SALT: settings.ssoSalt!,
    // Sweeps every second, so that the demonstration does not wait for one.
    SWEEP_CRON: "* * * * * *",
  };
}

/**
 * Retries until `look` no longer throws, for at most `withinMs`; then throws its last error. What `check` throws ends the
 * wait before.
 */
export async function eventually<Found>(
  look: () => Promise<Found> | Found,
  withinMs = 15_000,
  check: () => void = () => undefined,
): Promise<Found> {
  const until = performance.now() + withinMs;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      check();
      if (performance.now() > until) throw error;
      await sleep(50);
    }
  }
}
