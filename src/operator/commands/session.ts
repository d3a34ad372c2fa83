import { closeAll } from "../../close-all.ts";
import { readConfig, type Config, type SettingName } from "../../config.ts";
import { readEnvironment, type Environment } from "../../environment.ts";
import type { Database } from "../../database/database.ts";
import { createOwnScrubber, type Scrubber } from "../../logging/scrubber.ts";
import type { Offer } from "../../resources/contract.ts";
import type { Parts, OpenContext } from "../../open-context.ts";
import { onSignals } from "../../process/stop-signals.ts";
import type { Host } from "./host.ts";
import { readableLogLine } from "./log-lines.ts";
import type { Progress } from "./progress.ts";
import { screenOf } from "./screen.ts";
import { counted, wrapped } from "./text.ts";

/** Whose service the command works for: its parts, and the reading of its settings. */
export interface Seller {
  parts: Partial<Parts>;
  config(environment: Environment, only?: readonly SettingName[]): Config;
}

/** The service of `src/your-service`. */
export const YOURS: Seller = { parts: {}, config: readConfig };

/** What a command may use. Each part is opened on demand, and closed when the command has ended. */
export interface Session {
  /** The process it runs in; what it prints is its outcome, or goes through `say`. */
  host: Host;
  /** What the service sells. */
  offer(): Promise<Offer>;
  /** Reads the settings. Throws `Misconfigured` for faults; with `only`, just for those of the named settings. */
  settings(only?: readonly SettingName[]): Config;
  /** The database alone, after the check of its migrations: for commands that must work when keys are missing. */
  database(): Promise<Database>;
  /** The same, where a database is set; a command that needs none may run without. */
  openDatabaseIfSet(): Promise<unknown>;
  /** All parts of the service, after the checks of a service's start. */
  services(): Promise<OpenContext>;
  /** The same, with the check of the migrations but not of the keys. */
  servicesWithoutKeys(): Promise<OpenContext>;
  /** The same, without any check. */
  openServices(config: Config): Promise<OpenContext>;
  /**
   * A signal that is aborted by SIGINT (Ctrl-C), SIGTERM or SIGHUP. A command that takes it must end soon after the
   * abort.
   */
  stopSignal(): AbortSignal;
  /** Starts the progress bar, for a command that opens no part of the service. */
  begin(): void;
  onProgress(done: number, total: number): void;
  /** If a stop left resources undone, says how many, and how to continue. */
  sayWhatIsLeft(left: number | undefined, howToGoOn: string): void;
  /** Ends the progress bar, so that it does not disturb a person who types. */
  letThemType(): void;
  /** Writes a line to standard error, for people; nothing under --json. */
  say(line: string): void;
  /** Throws what `confirm` would throw if there is nobody to ask. */
  checkMayAsk(): Promise<void>;
  /** Asks the person at the terminal. Throws `UsedWrongly` if there is none: a script must give --yes. */
  confirm(question: string): Promise<boolean>;
  /** Redacts this process's secrets in a text. */
  scrub(text: string): string;
  /** Closes what was opened, in reverse order. Throws the first failure; `onLater` is called with the others. */
  close(onLater: (error: unknown) => void): Promise<void>;
}

/** A wait shorter than this is not mentioned. */
const TELL_AFTER_MS = 200;
const STOPPING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const DATABASE_SETTINGS = ["databaseUrl", "databaseCa", "databasePool"] as const;

export function createSession(
  host: Host,
  { parts, config: read }: Seller,
  { json, progress, onOpen }: { json: boolean; progress: Progress; onOpen(db: Database): Promise<void> },
): Session {
  const closers: (() => Promise<void>)[] = [];
  const stopping = new AbortController();
  let isStoppedInOrder = false;
  let ownScrubber: Scrubber | undefined;
  let scrubber: Scrubber | undefined;
  const say = (line: string) => void (json || progress.say(line));
  const settings = (only?: readonly SettingName[]) => {
    const config = read(readEnvironment(host.env, host.cwd()), only);
    ownScrubber = createOwnScrubber(config);
    return config;
  };

  async function openServices(config: Config): Promise<OpenContext> {
    progress.begin();
    const { openContext } = await import("../../open-context.ts");
    const logLevel = json ? "silent" : quiet(config.logLevel);
    const { columns } = screenOf(host, "stderr");
    const logTo = { write: (line: string) => say(wrapped(readableLogLine(line), columns, "  ")) };
    const services = await openContext({ ...config, logLevel }, { ...parts, logTo });
    scrubber = services.scrubber;
    closers.push(services.close);
    endOnSignals(services);
    return services;
  }

  /**
   * Ends the process at a signal, but waits for a token call in progress: the pair that it brings may be the only valid
   * one.
   */
  function endOnSignals({ credentials }: OpenContext): void {
    const end = (signal: NodeJS.Signals) => {
      progress.end();
      for (const each of STOPPING) host.removeAllListeners(each);
      host.kill(host.pid, signal);
    };
    onSignals(host, STOPPING, {
      first(signal) {
        if (isStoppedInOrder) return;
        const told = setTimeout(() => say("A token is on its way and is stored first. Ctrl-C again stops at once."), TELL_AFTER_MS); // prettier-ignore
        void credentials.refresh.settled().finally(() => {
          clearTimeout(told);
          end(signal);
        });
      },
      again(signal) {
        if (!isStoppedInOrder) end(signal);
      },
    });
  }

  async function servicesWithoutKeys(): Promise<OpenContext> {
    const services = await openServices(settings());
    await checkSoon(services.db);
    await onOpen(services.db);
    return services;
  }

  async function database(): Promise<Database> {
    const { databaseUrl, databaseCa, databasePool } = settings(DATABASE_SETTINGS);
    progress.begin();
    const { openDatabase } = await import("../../database/database.ts");
    const db = openDatabase({ url: databaseUrl.reveal(), ca: databaseCa, poolSize: databasePool });
    closers.push(db.close);
    await checkSoon(db);
    await onOpen(db);
    return db;
  }

  return {
    host,
    offer: async () => parts.offer ?? (await import("../../your-service/plans.ts")).offer,
    settings,
    openServices,
    say,
    async services() {
      const services = await servicesWithoutKeys();
      const { checkStored } = await import("../../process/start-up.ts");
      await checkStored(services);
      return services;
    },
    servicesWithoutKeys,
    database,
    openDatabaseIfSet: async () =>
      readEnvironment(host.env, host.cwd())["DATABASE_URL"] ? database() : undefined,
    stopSignal() {
      isStoppedInOrder = true;
      onSignals(host, STOPPING, {
        first() {
          say("Stopping: what was sent is finished first. Ctrl-C again stops at once.");
          stopping.abort();
        },
        again() {
          progress.end();
          host.exit(1);
        },
      });
      return stopping.signal;
    },
    begin: progress.begin,
    onProgress: progress.update,
    sayWhatIsLeft(left, howToGoOn) {
      if (left) say(`Stopped: ${counted(left, "resource")} left. ${howToGoOn}`);
    },
    letThemType: progress.end,
    async checkMayAsk() {
      const { checkSomebodyIsThere } = await import("./yes-or-no.ts");
      checkSomebodyIsThere(host, { mayAsk: !json });
    },
    async confirm(question) {
      progress.end();
      const { askYesOrNo } = await import("./yes-or-no.ts");
      const isYes = await askYesOrNo(host, question, { mayAsk: !json });
      progress.begin();
      return isYes;
    },
    scrub: (text) => (scrubber ?? ownScrubber)?.scrub(text) ?? text,
    close: (onLater) => closeAll([...closers.reverse(), () => progress.end()], onLater),
  };
}

/**
 * If the database is away, a command waits 3 seconds for it, less than a service would. Its later statements have no
 * such limit.
 */
async function checkSoon(db: Database): Promise<void> {
  const { checkMigrations, retryWhileDatabaseAway } = await import("../../database/database.ts");
  await retryWhileDatabaseAway(() => checkMigrations(db), { upToMs: 3_000 });
}

/** The log level under a command's output: at least `warn`. */
function quiet(level: Config["logLevel"]): Config["logLevel"] {
  return level === "trace" || level === "debug" || level === "info" ? "warn" : level;
}
