import type { Command } from "commander";
import { readConfig, type Config, type SettingName } from "../../config.ts";
import type { Database } from "../../database/database.ts";
import { refreshesSettled } from "../../credentials/sweeps.ts";
import { readEnvironment, type Environment } from "../../environment.ts";
import { createOwnScrubber, type Scrubber } from "../../logging/scrubber.ts";
import type { OpenContext, Parts } from "../../open-context.ts";
import { onSignals } from "../../process/signals.ts";
import type { Offer } from "../../resources/contract.ts";
import type { Secret } from "../../secret.ts";
import { UsedWrongly } from "../errors.ts";
import type { How } from "../work-through.ts";
import { screenOf, type Host } from "./host.ts";
import { askYes, readSecret } from "./input.ts";
import type { Failure, Outcome } from "./outcome.ts";
import { createProgress } from "./progress.ts";
import { counted, safe, wrapped } from "./text.ts";
import { createTrail } from "./trail.ts";

/** Whose service the command works for: its parts, and the reading of its settings. */
export interface Seller {
  parts: Partial<Parts>;
  config(environment: Environment, only?: readonly SettingName[]): Config;
}

/** The service of `src/your-service`. */
export const YOURS: Seller = { parts: {}, config: readConfig };

/** What a command may use. What it opens is closed when the command has ended. */
export type Session = ReturnType<typeof createSession>;

/** Turns the function of a command into the action that commander calls. */
export type Act = <Args extends unknown[]>(
  run: (session: Session, ...args: Args) => Promise<Outcome>,
) => (...args: Args) => Promise<void>;

const STOPPING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const DATABASE_SETTINGS = ["databaseUrl", "databaseCa", "databasePool"] as const;

export function createSession(
  host: Host,
  { parts, config: read }: Seller,
  { command, json }: { command: Command; json: boolean },
) {
  const progress = createProgress(host.stderr, { isWanted: !json });
  progress.begin();
  const closers: (() => Promise<void>)[] = [];
  const stopping = new AbortController();
  let isStoppedInOrder = false;
  let scrubber: Scrubber | null = null;
  let tokensStored = () => Promise.resolve();

  const screen = () => screenOf(host, "stderr");
  const scrub = (text: string) => scrubber?.scrub(text) ?? text;
  /** Writes a line to standard error, for people; nothing under --json. */
  const say = (line: string): void => {
    if (!json) progress.say(wrapped(line, screen().columns, "  "));
  };
  const trail = createTrail(command, {
    scrub,
    warn: (reason) => {
      const line = `${screen().paint.yellow("!")} This is not in the audit trail: ${scrub(safe(reason))}`;
      progress.say(wrapped(line, screen().columns, "  "));
    },
  });

  /** Reads the settings. Throws `Misconfigured` for faults; with `only`, just for those of the named settings. */
  function settings(only?: readonly SettingName[]): Config {
    const config = read(readEnvironment(host.env, host.cwd()), only);
    scrubber ??= createOwnScrubber(config);
    return config;
  }

  /** All parts of the service, without any check. */
  async function openContext(config: Config): Promise<OpenContext> {
    const { openContext: open } = await import("../../open-context.ts");
    const isQuiet = ["trace", "debug", "info"].includes(config.logLevel);
    const logLevel = json ? "silent" : isQuiet ? "warn" : config.logLevel;
    const logTo = { write: (line: string) => say(readableLogLine(line)) };
    // No traces: what a command does is in the audit trail.
    const context = await open({ ...config, logLevel, otlpEndpoint: undefined }, { ...parts, logTo });
    scrubber = context.scrubber;
    tokensStored = () => refreshesSettled(context);
    closers.push(context.close);
    return context;
  }

  /** The same, with the check of the migrations but not of the keys. */
  async function contextWithoutKeys(): Promise<OpenContext> {
    const context = await openContext(settings());
    await checkSoon(context.db);
    await trail.begin(context.db);
    return context;
  }

  /** The same, after all checks of a service's start. */
  async function context(): Promise<OpenContext> {
    const opened = await contextWithoutKeys();
    const { checkStored } = await import("../../process/start-up.ts");
    await checkStored(opened);
    return opened;
  }

  /** The database alone, after the check of its migrations: for commands that must work when keys are missing. */
  async function database(): Promise<Database> {
    const { databaseUrl, databaseCa, databasePool } = settings(DATABASE_SETTINGS);
    const { openDatabase } = await import("../../database/database.ts");
    const db = openDatabase({ url: databaseUrl.reveal(), ca: databaseCa, poolSize: databasePool });
    closers.push(db.close);
    await checkSoon(db);
    await trail.begin(db);
    return db;
  }

  const kill = (signal: NodeJS.Signals) => {
    progress.end();
    for (const each of STOPPING) host.removeAllListeners(each);
    host.kill(host.pid, signal);
  };
  onSignals(host, STOPPING, {
    first(signal) {
      say("Stopping: what was sent is finished first. Ctrl-C again stops at once.");
      stopping.abort();
      // The pair of tokens that a call in progress brings may be the only valid one.
      if (!isStoppedInOrder) void tokensStored().finally(() => kill(signal));
    },
    again: kill,
  });

  /** Throws `UsedWrongly` if there is nobody to be asked: a script must give --yes. */
  function checkMayAsk(): void {
    if (json || !host.stdin.isTTY || !host.stderr.isTTY)
      throw new UsedWrongly("Nothing was changed: nobody is here to be asked. Say --yes to do it.");
  }

  async function withoutProgress<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    progress.end();
    const answer = await ask();
    progress.begin();
    return answer;
  }

  /** What long work needs: it is aborted by SIGINT (Ctrl-C), SIGTERM or SIGHUP, and must end soon after that. */
  function how(): How {
    isStoppedInOrder = true;
    return { signal: stopping.signal, onProgress };
  }

  function onProgress(done: number, total: number): void {
    progress.update(done, total);
    trail.onProgress(done, total);
  }

  return {
    ...{ host, say, settings, openContext, contextWithoutKeys, context, database, checkMayAsk, scrub },
    /** What people see who run it, on standard error. */
    screen,
    /** What the service sells. */
    offer: async (): Promise<Offer> => parts.offer ?? (await import("../../your-service/plans.ts")).offer,
    ...{ how, onProgress },
    /** Ends the progress bar, so that it does not disturb a person who types. */
    endProgress: progress.end,
    /** Asks the person at the terminal. Throws `NotConfirmed` unless they say yes, and what `checkMayAsk` throws. */
    async confirm(question: string): Promise<void> {
      checkMayAsk();
      await withoutProgress(() => askYes(host, question));
    },
    secret: (what: string, mostBytes: number): Promise<Secret> =>
      withoutProgress(() => readSecret(host, what, mostBytes)),
    /** Writes the end of the command to the audit trail. */
    async end(result: Outcome | Failure): Promise<void> {
      const isSet = readEnvironment(host.env, host.cwd())["DATABASE_URL"];
      await trail.end(result, async () => (isSet ? database() : undefined));
    },
    /** Closes what was opened, in reverse order. Answers what failed. */
    async close(): Promise<unknown[]> {
      progress.end();
      const failed: unknown[] = [];
      for (const close of closers.reverse()) await close().catch((error: unknown) => failed.push(error));
      return failed;
    },
  };
}

/**
 * If the database is unreachable, a command waits 3 seconds for it, less than a service would. Its later statements have
 * no such limit.
 */
async function checkSoon(db: Database): Promise<void> {
  const { checkMigrations, retryWhileDatabaseAway } = await import("../../database/database.ts");
  await retryWhileDatabaseAway(() => checkMigrations(db), { upToMs: 3_000 });
}

/** A line of the log as a sentence for people, with its resource and its cause. */
export function readableLogLine(line: string): string {
  const { level, msg, uuid, error, reason, incident, leftOut } = JSON.parse(line) as {
    level: string;
    msg?: string;
    uuid?: string;
    error?: { message?: string };
    reason?: string;
    incident?: { title: string };
    leftOut?: number;
  };
  const trouble = incident && `the platform reports: ${incident.title}`;
  const about = [uuid, error?.message ?? reason, trouble].filter(Boolean).join(": ");
  const more = leftOut ? `; ${counted(leftOut, "line")} like it left out` : "";
  return safe(`${level}: ${msg ?? ""}${about && ` (${about})`}${more}`);
}
