import path from "node:path";
import { type Control, type LedgerEntry, type Sandbox, startSandbox } from "../packages/sandbox/index.ts";
import type { Config } from "../src/config.ts";
import { migrate } from "../src/database/migrate.ts";
import { messageOf } from "../src/errors.ts";
import { addonManifest } from "../src/offer.ts";
import type { Offer } from "../src/resources/contract.ts";
import { offer } from "../src/your-service/plans.ts";
import { meaningOf } from "./meaning.ts";
import { createNarrator } from "./narrator.ts";
import { oauthClient } from "./oauth-client.ts";
import { startPostgresql } from "./postgresql.ts";
import { type Service, startService } from "./service.ts";
import { openServiceLog } from "./service-log.ts";
import type { DevSettings } from "./settings.ts";
import { tellCall, tellWarning } from "./story.ts";

/** The platform, running, and the service, which starts; the calls between them are printed. */
export interface Stage {
  sandbox: Sandbox;
  service: Service;
  databaseUrl: string;
  logFile: string;
  /** Stops the service first, so that the platform can still answer its last calls. */
  stop(): Promise<void>;
}

/**
 * Starts the platform, then the service: it calls the platform as soon as its database answers, and the platform's state
 * file is the lock on the folder. `inspect` are options of Node for the service.
 */
export async function setStage(
  config: Config,
  { environment, dataDir, sandboxPort, hasOwnDatabase, keepAddresses }: DevSettings,
  inspect: readonly string[],
): Promise<Stage> {
  const narrator = createNarrator(
    (text) => console.log(text),
    (entry) => tellCall(entry, meaningOf(entry, config.resourcesPath, known(sandbox.control, entry))),
  );
  const logFile = path.join(dataDir, "service.log");
  const log = openServiceLog(logFile, (...warning) => narrator.print(tellWarning(...warning)));
  const partner = (sold: Offer) => ({
    // Not the address of the last run: another process may listen there now, and the platform may call at once.
    partnerUrl: `http://localhost:${config.port}`,
    addonManifest: addonManifest(config.addonId, sold),
    addonId: config.addonId,
    addonPassword: config.addonPassword.reveal(),
    resourcesPath: config.resourcesPath,
    ssoSalt: config.ssoSalt?.reveal() ?? null,
  });
  const sandbox = await startSandbox({
    ...partner(offer),
    port: sandboxPort,
    statePath: path.join(dataDir, "sandbox.json"),
    ...(config.clientSecret && { clientSecret: config.clientSecret.reveal() }),
    onEntry: narrator.call,
  });
  const { oauthClientId, oauthClientSecret } = oauthClient(sandbox.control, config);
  const postgresql = hasOwnDatabase
    ? await startPostgresql(path.join(dataDir, "postgresql-18"), config.databaseUrl.reveal(), {
        isDurable: true,
      })
    : null;
  const databaseUrl = postgresql?.url ?? config.databaseUrl.reveal();
  const migrationUrl = config.migrationDatabaseUrl?.reveal() ?? databaseUrl;
  const migrated = () => migrate({ url: migrationUrl, ca: config.databaseCa, say: narrator.print });
  await migrated();
  const addresses = {
    ...(postgresql && { DATABASE_URL: databaseUrl }),
    OAUTH_CLIENT_ID: oauthClientId!,
    OAUTH_CLIENT_SECRET: oauthClientSecret!.reveal(),
  };
  keepAddresses(addresses);
  const listener = {
    log: log.write,
    print: narrator.print,
    /** What it sells may have changed: the platform reads it again. */
    ready(sold: Offer) {
      try {
        sandbox.control.partner(partner(sold));
      } catch (error) {
        narrator.print(`The platform does not accept src/your-service/plans.ts: ${messageOf(error)}`);
      }
    },
  };
  const service = startService({ ...environment, ...addresses }, inspect, listener, migrated);

  return {
    ...{ sandbox, service, databaseUrl, logFile },
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
