import { setTimeout as sleep } from "node:timers/promises";
import {
  checkMigrations,
  DATABASE_UNREACHABLE,
  isDatabaseAway,
  isConnectionConfigError,
  throwInWords,
} from "../database/database.ts";
import { KitError, messageOf, Misconfigured } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import { expectBeats } from "../metrics/store.ts";
import { HOW_TO_FIX_NODE, missingNodeFixes } from "../node-version.ts";
import { checkKeys } from "../vault/store.ts";
import type { Readiness } from "../app.ts";
import { hasMetrics, hasOperator } from "../config.ts";
import type { OpenContext } from "../open-context.ts";
import { within } from "../within.ts";
import { KeyMissing, SealBroken } from "../vault/errors.ts";
import { build } from "../version.ts";

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
  await expectBeats(services.db, services.jobs.names);
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

/** A running service: the web process, or a worker, which does not listen. */
export interface RunningService {
  services: OpenContext;
  /** Where it listens; null for a worker. */
  url: string | null;
  /** Resolves when it can work; rejects with `Misconfigured` if it never will. */
  ready: Promise<void>;
  /**
   * Stops in good order: from now on no work is claimed and no new connection accepted; the results of calls that were
   * sent are awaited and stored, and requests on open connections are answered. A second call returns the same promise.
   * Rejects with the first failure after everything was stopped; further ones are logged.
   */
  stop(): Promise<void>;
}

export function once(work: () => Promise<void>): () => Promise<void> {
  let begun: Promise<void> | null = null;
  return () => (begun ??= work());
}

/**
 * Checks the database as soon as it answers, and then starts the jobs: by the timetable only `withSweeps`. `stopping`
 * ends the wait.
 */
export function becomeReady(
  services: OpenContext,
  stopping: AbortSignal,
  withSweeps: boolean,
): Promise<void> {
  services.watch();
  const ready = checkDatabase(services, stopping).then(() => {
    if (stopping.aborted) return;
    if (hasOperator(services.config) || hasMetrics(services.config)) services.totals.start();
    services.jobs.start(withSweeps ? services.config.sweepCron : null);
    if (withSweeps) services.jobs.wakeAll();
    services.log.info({ sweeps: withSweeps }, "Ready");
  });
  ready.catch(() => undefined);
  return ready;
}

/** How long the check waits for the client secret, whose table another session may have locked. */
const SECRET_PATIENCE_MS = 1_000;

/**
 * `unavailable` if provisions cannot be answered: the service has not started, or the database is unreachable or takes
 * no writes. `degraded` if an operator should look: the client secret cannot be read or is rejected, for which no
 * provision waits, or clocks are more than a minute apart.
 */
export async function readiness(
  { db, credentials, clocks }: OpenContext,
  ready: Promise<void>,
): Promise<Readiness> {
  try {
    await within(0, ready, notReady);
    await db.ping();
  } catch {
    return "unavailable";
  }
  const isAccepted = within(SECRET_PATIENCE_MS, credentials.secrets.current(), notReady).then(
    ({ isRejected }) => !isRejected,
    () => false,
  );
  return (await isAccepted) && clocks.trouble() === null ? "ready" : "degraded";
}
