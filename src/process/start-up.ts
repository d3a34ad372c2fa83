import { setTimeout as sleep } from "node:timers/promises";
import {
  checkMigrations,
  DATABASE_UNREACHABLE,
  isDatabaseAway,
  isConnectionConfigError,
  statement,
  throwInWords,
} from "../database/database.ts";
import { KitError, messageOf, Misconfigured } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import { HOW_TO_FIX_NODE, missingNodeFixes } from "../node-version.ts";
import { checkKeys } from "../resources/keys.ts";
import type { OpenContext } from "../open-context.ts";
import { KeyMissing, SealBroken } from "../vault/errors.ts";
import { build } from "../version.ts";

// Each job gets a heartbeat at the first start of all, so that one which never completes a run is noticed as late too.
const expectBeats = statement(
  "expect_beats",
  `INSERT INTO heartbeats (name, at) SELECT name, now() FROM unnest($1::text[]) AS name ON CONFLICT DO NOTHING`,
);

/** Far less than a request waits: a request that comes after a failed check is answered once the next one succeeds. */
const MOST_PAUSE_MS = 1_000;

export const notReady = (): Error => new NotReady();

/** The service has just started and waits for its database. */
class NotReady extends KitError {
  constructor() {
    super("not_ready", "The service has just started and waits for its database.");
  }
}

/** Logs which build starts on which Node, and a warning if that lacks security fixes. */
export function announce(log: Log): void {
  log.info(build, "Starting");
  const missing = missingNodeFixes();
  if (missing) log.warn(`${missing} ${HOW_TO_FIX_NODE}`);
}

/**
 * Runs the checks that need the database, as soon as it answers: migrations, keys, client secret. Waits for a
 * database that is away, for as long as it takes, until `signal` is aborted; then it throws. Throws {@link Misconfigured}
 * if the address is at fault, or migrations or keys are missing, before any row is written.
 */
export async function checkDatabase(services: OpenContext, signal: AbortSignal): Promise<void> {
  for (let pauseMs = 250; ; pauseMs = Math.min(pauseMs * 2, MOST_PAUSE_MS)) {
    try {
      return await check(services);
    } catch (error) {
      if (signal.aborted || isConnectionConfigError(error) || !isDatabaseAway(error)) throwInWords(error);
      const about = { cause: DATABASE_UNREACHABLE, reason: messageOf(error) };
      services.log.warn(about, "The database does not answer yet; waiting for it");
      await sleep(pauseMs, undefined, { signal });
    }
  }
}

async function check(services: OpenContext): Promise<void> {
  await checkMigrations(services.db);
  await checkStored(services);
  await services.credentials.secrets.current().catch(tellTheCure);
  await services.db.query(expectBeats, [services.jobs.names]);
  for (const remark of services.config.remarks) services.log.warn(remark);
}

/**
 * Checks the keys, and imports `CLIENT_SECRET` if it is new. Callers that need a client secret check that there is one.
 */
export async function checkStored({ db, vault, credentials, config, log }: OpenContext): Promise<void> {
  await checkKeys(db, vault);
  if (config.clientSecret && (await credentials.secrets.importOnce(config.clientSecret))) {
    log.info("CLIENT_SECRET is new and was imported");
  }
}

function tellTheCure(error: unknown): never {
  if (!(error instanceof SealBroken || error instanceof KeyMissing)) throw error;
  throw new Misconfigured(
    `${error.message}\nMend the keys, or give the client secret anew: npm run --silent kit -- secret set`,
    { cause: error },
  );
}
