import { setTimeout as sleep } from "node:timers/promises";
import type { Readiness } from "../app.ts";
import { hasOperator } from "../config.ts";
import type { OpenContext } from "../context.ts";
import { checkMigrations } from "../database/migration-comparison.ts";
import { isConnectionConfigError, isDatabaseUnreachable, throwAsMisconfigured } from "../database/retry.ts";
import { KitError, messageOf, Misconfigured } from "../errors.ts";
import { expectBeats } from "../metrics/store.ts";
import { noticeRestore } from "../processes/history.ts";
import type { Role } from "../processes/store.ts";
import { checkKeys } from "../vault/store.ts";
import { CannotDecrypt } from "../vault/vault.ts";
import { build } from "../version.ts";
import { within } from "../within.ts";

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

export function stopOnce(work: () => Promise<void>): () => Promise<void> {
  let begun: Promise<void> | null = null;
  return () => (begun ??= work());
}

/** Checks the database as soon as it answers, and then starts the jobs: by the timetable only `withSweeps`. */
export function becomeReady(
  ctx: OpenContext,
  role: Role,
  stopping: AbortSignal,
  withSweeps: boolean,
): Promise<void> {
  const { config, jobs, log, presence, totals } = ctx;
  log.info(build, "Starting");
  ctx.watch();
  stopping.addEventListener("abort", () => presence.become("stopping"));
  const ready = checkDatabase(ctx, role, stopping).then(() => {
    if (stopping.aborted) return;
    presence.become("ready");
    if (hasOperator(config) || config.metricsPassword) totals.start();
    jobs.start(withSweeps ? config.sweepCron : null);
    log.info({ sweeps: withSweeps }, "Ready");
  });
  ready.catch(() => undefined);
  return ready;
}

/** Far less than a request waits. */
const PAUSE_MS = 500;

/**
 * Runs the checks that need the database, as soon as it answers, until `signal` is aborted; then it throws. Throws
 * {@link Misconfigured} if the address is at fault, or migrations or keys are missing, before any row is written.
 */
async function checkDatabase(ctx: OpenContext, role: Role, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await checkMigrations(ctx.db);
      // Before it writes, and before it carries anything out.
      await noticeRestore(ctx, null);
      ctx.presence.start(role);
      await checkStored(ctx);
      await ctx.credentials.secrets.current().catch(throwWithAdvice);
      await expectBeats(ctx.db, ctx.jobs.names);
      for (const remark of ctx.config.remarks) ctx.log.warn(remark);
      return;
    } catch (error) {
      if (signal.aborted || isConnectionConfigError(error) || !isDatabaseUnreachable(error))
        throwAsMisconfigured(error);
      ctx.log.warn({ reason: messageOf(error) }, "The database does not answer yet; waiting for it");
      ctx.work.noteOutage();
      await sleep(PAUSE_MS, undefined, { signal });
    }
  }
}

/** Checks the keys, and imports `CLIENT_SECRET` if it is new. */
export async function checkStored({ db, vault, credentials, config, log }: OpenContext): Promise<void> {
  await checkKeys(db, vault);
  if (config.clientSecret && (await credentials.secrets.importOnce(config.clientSecret)))
    log.info("CLIENT_SECRET is new and was imported");
}

function throwWithAdvice(cause: unknown): never {
  if (!(cause instanceof CannotDecrypt)) throw cause;
  const advice = "Fix the keys, or set the client secret again: npm run --silent kit -- secret set";
  throw new Misconfigured(`${cause.message}\n${advice}`, { cause });
}

export const notReady = () =>
  new KitError("not_ready", "The service has just started and waits for its database.");

/** `degraded`: the client secret cannot be read or is rejected, for which no provision waits. */
export async function readiness(ctx: OpenContext, ready: Promise<void>): Promise<Readiness> {
  try {
    await within(0, ready, notReady);
    await ctx.db.ping();
  } catch {
    return "unavailable";
  }
  // Another session may have locked its table, and a probe waits for no lock.
  const secret = await within(1_000, ctx.credentials.secrets.current(), notReady).catch(() => null);
  return secret && !secret.isRejected ? "ready" : "degraded";
}
