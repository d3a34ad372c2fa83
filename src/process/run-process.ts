import { performance } from "node:perf_hooks";
import { type Config, readConfig } from "../config.ts";
import { readEnvironment } from "../environment.ts";
import { Misconfigured } from "../errors.ts";
import type { Role } from "../processes/store.ts";
import { createOwnScrubber } from "../secret.ts";
import { alarmWhenExhausted } from "./descriptors.ts";
import { takeOverNode, takeWarnings } from "./node-process.ts";
import { noteMisconfigured } from "./note-misconfigured.ts";
import { onSignals } from "./signals.ts";
import type { RunningService } from "./start-up.ts";

/** `EX_CONFIG` of sysexits.h. */
export const EXIT_MISCONFIGURED = 78;
/** The platform kills a process 30 s after it has asked it to stop. */
const LONGEST_STOP_MS = 25_000;
/** How long to wait for the last alarm to be counted, as the database itself may hang. */
const LAST_COUNT_MS = 1_000;
/** A Ctrl-C this long after the first one, or later, is deliberate: the process exits at once. */
const FORCE_AFTER_MS = 5_000;

/**
 * Runs a service as this process. An error that ends the start is printed without the secrets of the settings; if a
 * setting is at fault, the process's row says so, too.
 */
export async function runProcess(
  role: Role,
  start: (config: Config) => Promise<RunningService>,
): Promise<void> {
  takeOverNode();
  let scrub = (text: string) => text;
  let service: RunningService | undefined;
  try {
    const config = readConfig(readEnvironment());
    scrub = createOwnScrubber(config).scrub;
    service = await start(config);
    scrub = service.services.scrubber.scrub;
    logWarnings(service);
    const isStopping = stopOnSignals(service);
    stopOnBug(service);
    alarmWhenBlocked(service);
    alarmWhenExhausted(service);
    await service.ready.catch((error: unknown) => {
      if (!isStopping()) throw error;
    });
  } catch (error) {
    takeWarnings(({ name, message }) => process.stderr.write(`${scrub(`${name}: ${message}`)}\n`));
    if (error instanceof Misconfigured)
      await noteMisconfigured(role, scrub(error.message), service?.services.presence.id);
    exitWith(error, scrub);
  }
}

/** Logs Node's warnings, a sample of each kind. The stack shows which code is at fault. */
function logWarnings({ services: { log } }: RunningService): void {
  takeWarnings((warning) => {
    const { name, code, message: reason, stack } = warning as NodeJS.ErrnoException;
    log.warn({ name, code, reason, stack }, "Node warns");
  });
}

export function exitWith(error: unknown, scrub = (text: string) => text): never {
  const isMisconfigured = error instanceof Misconfigured;
  const why = error instanceof Error ? (!isMisconfigured && error.stack) || error.message : String(error);
  process.stderr.write(`${scrub(why)}\n`);
  process.exit(isMisconfigured ? EXIT_MISCONFIGURED : 1);
}

/** Stops the service on the first signal. Returns a function that returns whether stopping has begun. */
function stopOnSignals(service: RunningService): () => boolean {
  const { credentials, log, presence, totals } = service.services;
  let isStopping = false;
  const first = (signal: NodeJS.Signals) => {
    isStopping = true;
    log.info({ signal }, "Stopping: in-flight calls finish first");
    stopAndExit(service, () => {
      // Issued tokens that could not be stored end with the process.
      const lost = [...credentials.held.keys()];
      const about = { alarm: "stop_incomplete", ...(lost.length > 0 && { tokensLost: lost }) };
      log.error(about, "Stopping took longer than 25 s; the next process continues the unfinished work");
      // Stores the metrics, which count this alarm, and the end of this process.
      void Promise.all([totals.stop(), presence.end("its stop took too long")]).then(() => process.exit());
      setTimeout(() => process.exit(), LAST_COUNT_MS);
    });
  };
  const again = (signal: NodeJS.Signals) => void (signal === "SIGINT" && process.exit(130));
  onSignals(process, ["SIGTERM", "SIGINT", "SIGHUP"], { first, again }, FORCE_AFTER_MS);
  return () => isStopping;
}

function stopAndExit({ stop, services: { log } }: RunningService, late: () => void): void {
  setTimeout(late, LONGEST_STOP_MS).unref();
  stop().then(
    () => process.exit(),
    (error: unknown) => {
      log.error({ error }, "Stopping failed");
      process.exit(1);
    },
  );
}

/**
 * After an uncaught error the state of the process is uncertain. The process logs the error (scrubbed), stores the results
 * of in-flight calls, and exits with 1, so that the next process takes over.
 */
function stopOnBug(service: RunningService): void {
  const onBug = (error: unknown) => {
    service.services.log.fatal({ alarm: "crash", error }, "An error was not caught; stopping");
    service.services.hasCrashed = true;
    // Also if a signal has begun the stop.
    process.exitCode = 1;
    stopAndExit(service, () => process.exit());
  };
  process.on("uncaughtException", onBug);
  process.on("unhandledRejection", onBug);
  // A closed reader of the log, or of what a library prints, does not stop the service.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
}

const LOOK_EVERY_MS = 250;
/** The platform wants an answer within 3 s, so a second in which no other code could run is reported. */
const BLOCKED_MS = 1_000;

/**
 * Raises an alarm when code, such as a vendor's function, has blocked the event loop and with it every answer. A process that
 * was suspended while it was idle, or whose machine slept, was not blocked.
 */
function alarmWhenBlocked({ services: { log } }: RunningService): void {
  let used = performance.eventLoopUtilization();
  const look = () => {
    const busyMs = performance.eventLoopUtilization(used).active;
    used = performance.eventLoopUtilization();
    if (busyMs <= BLOCKED_MS + LOOK_EVERY_MS) return;
    const about = { alarm: "event_loop_blocked", ms: Math.round(busyMs) };
    log.error(about, "The event loop was blocked; no request was answered during that time");
  };
  setInterval(look, LOOK_EVERY_MS).unref();
}
