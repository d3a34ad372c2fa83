import { closeAll } from "../close-all.ts";
import { readConfig, readEnvironment, type Config, type SettingName } from "../config.ts";
import type { Database } from "../database/database.ts";
import { Misconfigured } from "../errors.ts";
import { createOwnScrubber } from "../own-secrets.ts";
import type { Scrubber } from "../scrubber.ts";
import type { Services } from "../services.ts";
import { onSignals } from "../stop-signals.ts";
import { createLogLines } from "./log-lines.ts";
import type { Progress } from "./progress.ts";
import { screenOf } from "./screen.ts";
import { counted } from "./text.ts";

/** What a command may use. Everything is opened when it is asked for, and closed when the command has ended. */
export interface Session {
  /** The settings. Throws `Misconfigured`; with `only`, just about those. */
  settings(only?: readonly SettingName[]): Config;
  /** The database alone, migrated: for what must work when keys are missing. */
  database(): Promise<Database>;
  /** All parts of the service, after the checks that a start would make. */
  services(): Promise<Services>;
  /** The same with migrations checked, but not whether all keys are there. */
  servicesWithoutKeys(): Promise<Services>;
  /** The same without any check. */
  openServices(config: Config): Promise<Services>;
  /** Aborted by Ctrl-C, or when the terminal hangs up. Whoever asks for it must end soon after. */
  stopSignal(): AbortSignal;
  /** Shows that work goes on, where it takes long: for a command that opens nothing here. */
  begin(): void;
  onProgress(done: number, total: number): void;
  /** Where a stop left some of the resources, says how many, and how to go on. */
  sayWhatIsLeft(left: number | undefined, howToGoOn: string): void;
  /** From here on somebody types: no bar gets in their way. */
  letThemType(): void;
  /** Writes a line to standard error, for people; nothing under --json. */
  say(line: string): void;
  /** Throws what `confirm` would throw where there is nobody to ask. */
  checkMayAsk(): Promise<void>;
  /** Asks a person at the terminal. Throws `UsedWrongly` where there is nobody to ask: then --yes must say it. */
  confirm(question: string): Promise<boolean>;
  /** Takes secrets of this process out of a text. */
  scrub(text: string): string;
  /** Closes what was opened, in reverse order. */
  close(): Promise<void>;
}

/** What ends sooner needs no word. */
const TELL_AFTER_MS = 200;
const STOPPING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const DATABASE_SETTINGS = ["databaseUrl", "databaseCa", "databasePool", "dataDir"] as const;

export function createSession({ json, progress }: { json: boolean; progress: Progress }): Session {
  const closers: (() => Promise<void>)[] = [];
  const stopping = new AbortController();
  let isStoppedInOrder = false;
  let ownScrubber: Scrubber | undefined;
  let scrubber: Scrubber | undefined;
  const say = (line: string) => void (json || progress.say(line));
  const settings = (only?: readonly SettingName[]) => {
    const config = readConfig(readEnvironment(), only);
    ownScrubber = createOwnScrubber(config);
    return config;
  };

  async function openServices(config: Config): Promise<Services> {
    progress.begin();
    const { createServices } = await import("../services.ts");
    const logLevel = json ? "silent" : quiet(config.logLevel);
    const logTo = createLogLines(say, screenOf(process.stderr).columns);
    closers.push(() => Promise.resolve(logTo.end()));
    const services = await createServices({ ...config, logLevel }, "guest", { logTo });
    scrubber = services.scrubber;
    closers.push(services.close);
    endOnSignals(services);
    return services;
  }

  /** Ends at once, but for a token that is on its way: it may be the only one there is. */
  function endOnSignals({ credentials }: Services): void {
    const end = (signal: NodeJS.Signals) => {
      progress.end();
      for (const each of STOPPING) process.removeAllListeners(each);
      process.kill(process.pid, signal);
    };
    onSignals(STOPPING, {
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

  async function servicesWithoutKeys(): Promise<Services> {
    const config = settings();
    await checkThereIsADatabase(config);
    const services = await openServices(config);
    await checkSoon(services.db);
    return services;
  }

  return {
    settings,
    openServices,
    say,
    async services() {
      const services = await servicesWithoutKeys();
      const { checkStored } = await import("../start-up.ts");
      await checkStored(services);
      return services;
    },
    servicesWithoutKeys,
    async database() {
      const config = settings(DATABASE_SETTINGS);
      const { databaseUrl, databaseCa, databasePool, dataDir } = config;
      await checkThereIsADatabase(config);
      progress.begin();
      const { openDatabase } = await import("../database/database.ts");
      const db = await openDatabase({
        ...{ url: databaseUrl?.reveal(), ca: databaseCa, poolSize: databasePool, dataDir },
        role: "guest",
      });
      closers.push(db.close);
      await checkSoon(db);
      return db;
    },
    stopSignal() {
      isStoppedInOrder = true;
      onSignals(STOPPING, {
        first() {
          say("Stopping: what was sent is finished first. Ctrl-C again stops at once.");
          stopping.abort();
        },
        again() {
          progress.end();
          process.exit(1);
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
      checkSomebodyIsThere({ mayAsk: !json });
    },
    async confirm(question) {
      progress.end();
      const { askYesOrNo } = await import("./yes-or-no.ts");
      const isYes = await askYesOrNo(question, { mayAsk: !json });
      progress.begin();
      return isYes;
    },
    scrub: (text) => (scrubber ?? ownScrubber)?.scrub(text) ?? text,
    close: () => closeAll([...closers.reverse(), () => progress.end()]),
  };
}

/** Only `kit migrate` makes a database, and says where. */
async function checkThereIsADatabase(config: Config): Promise<void> {
  const { noDatabase } = await import("../operator/no-database.ts");
  const missing = noDatabase(config);
  if (missing) throw new Misconfigured(`${missing.message}\n${missing.fix}`);
}

/** A command waits a moment for a database that is away, not as long as a service would. What it reads then may take long. */
async function checkSoon(db: Database): Promise<void> {
  const { checkMigrations, waitingForDatabase } = await import("../database/database.ts");
  await waitingForDatabase(() => checkMigrations(db), { upToMs: 3_000 });
}

/** Under a command's output only what is worth a look is logged. */
function quiet(level: Config["logLevel"]): Config["logLevel"] {
  return level === "trace" || level === "debug" || level === "info" ? "warn" : level;
}
