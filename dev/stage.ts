import path from "node:path";
import { migrate } from "../src/database/database.ts";
import { Secret } from "../src/secret.ts";
import { startPostgresql } from "./postgresql.ts";
import { startSandbox, type LedgerEntry } from "../sandbox/index.ts";
import type { Config } from "../src/config.ts";
import { addonManifest } from "../src/operator/addon-manifest.ts";
import { runWeb } from "../src/process/run-web.ts";
import type { RunningService } from "../src/process/running-service.ts";
import { offer } from "../src/your-service/plans.ts";
import { meaningOf } from "./meaning.ts";
import { createNarrator, type Narrator } from "./narrator.ts";
import { oauthClient } from "./oauth-client.ts";
import { openServiceLog } from "./service-log.ts";
import type { DevSettings } from "./settings.ts";
import { tellCall, tellWarning } from "./story.ts";
import type { Control, Sandbox } from "../sandbox/index.ts";

/** The platform and the service, both running, and the narrator that prints the calls between them. */
export interface Stage {
  sandbox: Sandbox;
  service: RunningService;
  narrator: Narrator;
  logFile: string;
  /** Stops the service first, so that the platform can still answer its last calls. */
  stop(): Promise<void>;
}

/**
 * Starts both in this process, the platform first: the service calls it as soon as its database answers, and the
 * platform's state file is the lock on the folder.
 */
export async function setStage(
  config: Config,
  { dataDir, sandboxPort, hasOwnDatabase, keepAddresses }: DevSettings,
): Promise<Stage> {
  const narrator = createNarrator(
    (text) => console.log(text),
    (entry) => tellCall(entry, meaningOf(entry, config.resourcesPath, known(sandbox.control, entry))),
  );
  const logFile = path.join(dataDir, "service.log");
  const log = openServiceLog(logFile, (...warning) => narrator.print(tellWarning(...warning)));
  const sandbox = await startSandbox({
    port: sandboxPort,
    // Not the address of the last run: another process may listen there now, and the platform may call at once.
    partnerUrl: `http://localhost:${config.port}`,
    statePath: path.join(dataDir, "sandbox.json"),
    addonManifest: addonManifest(config.addonId, offer),
    addonId: config.addonId,
    addonPassword: config.addonPassword.reveal(),
    resourcesPath: config.resourcesPath,
    ...(config.clientSecret && { clientSecret: config.clientSecret.reveal() }),
    ssoSalt: config.ssoSalt?.reveal() ?? null,
    onEntry: narrator.call,
  });
  const client = oauthClient(sandbox.control, config);
  const postgresql = hasOwnDatabase
    ? await startPostgresql(path.join(dataDir, "postgresql-18"), config.databaseUrl.reveal(), {
        isDurable: true,
      })
    : null;
  const databaseUrl = postgresql ? new Secret(postgresql.url) : config.databaseUrl;
  await migrate({ url: (config.migrationDatabaseUrl ?? databaseUrl).reveal(), ca: config.databaseCa });
  const service = await runWeb({ ...config, databaseUrl, ...client }, { logTo: log });
  keepAddresses({
    ...(postgresql && { DATABASE_URL: postgresql.url }),
    OAUTH_CLIENT_ID: client.oauthClientId!,
    OAUTH_CLIENT_SECRET: client.oauthClientSecret!.reveal(),
  });
  sandbox.control.partner({ partnerUrl: service.url! });

  return {
    ...{ sandbox, service, narrator, logFile },
    async stop() {
      await service.stop();
      await sandbox.close();
      await postgresql?.stop();
      narrator.close();
      await log.close();
    },
  };
}

/** What the platform knows about the resource that a call concerns. */
function known(control: Control, { path, request }: LedgerEntry) {
  const uuid =
    /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(path)?.[0] ?? (request.body as { uuid?: string } | null)?.uuid;
  const addon = control.state().addons.find(({ id }) => id === uuid);
  return addon && { name: addon.name, app: addon.app.name, isExchanged: addon.grant?.state === "exchanged" };
}
