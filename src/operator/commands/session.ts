import { randomUUID } from "node:crypto";
import { once } from "node:events";
import os from "node:os";
import { Command } from "commander";
import { type Config, readConfig, type SettingName } from "../../config.ts";
import type { OpenContext, Parts } from "../../context.ts";
import type { Database } from "../../database/database.ts";
import { type Environment, readEnvironment } from "../../environment.ts";
import { messageOf } from "../../errors.ts";
import { PACE } from "../../pace.ts";
import { takeWarnings } from "../../process/node-process.ts";
import { onSignals } from "../../process/signals.ts";
import type { Offer } from "../../resources/contract.ts";
import { createOwnScrubber, type Scrubber, type Secret } from "../../secret.ts";
import { readUuid } from "../../values.ts";
import { orNullAfter } from "../../within.ts";
import { UsedWrongly } from "../errors.ts";
import type { How } from "../work-through.ts";
import { askYes, createProgress, type Host, paintOf, readSecret } from "./host.ts";
import { DONE, type Outcome, safe, safeLines } from "./outcome.ts";

/** Whose service the command works for: its parts, and the reading of its settings. */
export interface Seller {
  parts: Partial<Parts>;
  config(environment: Environment, only?: readonly SettingName[]): Config;
}

export const YOURS: Seller = { parts: {}, config: readConfig };

/** What a command may use; it is closed when the command has ended. */
export type Session = ReturnType<typeof createSession>;

/** Makes of what a command does the action that commander calls. */
export type Act = <Args extends unknown[]>(
  run: (session: Session, ...args: Args) => Promise<Outcome>,
) => (...args: Args) => Promise<void>;

/** `changes`: the command changes something, and is in the audit trail; one that reveals secrets is there anyway. */
interface Opening {
  changes?: boolean;
}

const END_PATIENCE_MS = 2_000;
/** A slow statement that is sent twice, as it is by a command, has ended by then. */
const SLOW_TWICE_MS = 4_000;
const STOPPING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export function createSession(
  host: Host,
  { parts, config: read }: Seller,
  typed: readonly string[],
  json: boolean,
) {
  const progress = createProgress(host.stderr, !json);
  progress.begin();
  const closers: (() => Promise<void>)[] = [];
  const stopping = new AbortController();
  let isStoppedInOrder = false;
  let isStoppedQuietly = false;
  let scrubber: Scrubber | null = null;
  let tokensStored = () => Promise.resolve();
  let entry: Awaited<ReturnType<typeof beginEntry>> | null = null;

  const scrub = (text: string) => scrubber?.scrub(text) ?? text;
  const paint = (stream: "stdout" | "stderr" = "stderr") => paintOf(host, stream);
  /** On standard error, for people; nothing under --json. */
  const say = (line: string): void => void (json || progress.say(line));
  const warn = (what: string, error: unknown): void =>
    progress.say(`${paint().yellow("!")} ${what}: ${safeLines(scrub(messageOf(error)), "  ")}`);
  takeWarnings((warning) => json || warn("Node warns", warning));

  /** Throws `Misconfigured` for faults; with `only`, just for those of the named settings. */
  function settings(only?: readonly SettingName[]): Config {
    const config = read(readEnvironment(host.env, host.cwd()), only);
    scrubber ??= createOwnScrubber(config);
    return config;
  }

  async function openContext(config: Config): Promise<OpenContext> {
    const { openContext: open } = await import("../../open-context.ts");
    const { refreshesSettled } = await import("../../credentials/pools.ts");
    // No traces: what a command does is in the audit trail.
    const quiet = { logLevel: json ? "silent" : "warn", otlpEndpoint: undefined } as const;
    const logTo = { write: (line: string) => say(readable(line)) };
    const context = await open({ ...config, ...quiet }, { ...parts, logTo, isPatient: true });
    scrubber = context.scrubber;
    tokensStored = () => refreshesSettled(context);
    closers.push(context.close);
    return context;
  }

  /** The same, after the checks of a service's start: all of them, or without that of the keys. */
  async function context({ changes = false, keys = true }: Opening & { keys?: boolean } = {}) {
    const opened = await openContext(settings());
    await begin(opened.db, changes);
    const { checkStored } = await import("../../process/start-up.ts");
    if (keys) await checkStored(opened);
    return opened;
  }

  /** The database alone, after the check of its migrations: for commands that must work when keys are missing. */
  async function database({ changes = false }: Opening = {}): Promise<Database> {
    const { databaseUrl, databaseCa, databasePool } = settings(["databaseUrl", "databaseCa", "databasePool"]);
    const { openDatabase } = await import("../../database/database.ts");
    const db = openDatabase({
      url: databaseUrl.reveal(),
      ca: databaseCa,
      poolSize: databasePool,
      isPatient: true,
    });
    closers.push(db.close);
    await begin(db, changes);
    return db;
  }

  /** Checks the migrations (while the database is unreachable it waits 3 s, less than a service), and begins the audit entry. */
  async function begin(db: Database, changes: boolean): Promise<void> {
    const { checkMigrations } = await import("../../database/migration-comparison.ts");
    const { retryWhileUnreachable } = await import("../../database/retry.ts");
    await retryWhileUnreachable(() => checkMigrations(db), { upToMs: 3_000, graceMs: SLOW_TWICE_MS });
    const isRevealing = typed.includes("--reveal");
    if (!changes && !isRevealing) return;
    try {
      entry = await beginEntry(db, typed, scrub);
    } catch (error) {
      // Nothing is revealed without an audit entry.
      if (isRevealing) throw error;
      warn("This is not in the audit trail", error);
    }
  }

  const kill = (signal: NodeJS.Signals) => {
    progress.end();
    for (const each of STOPPING) host.removeAllListeners(each);
    host.kill(host.pid, signal);
  };
  onSignals(host, STOPPING, {
    first(signal) {
      if (!isStoppedQuietly) say("Stopping: in-flight calls finish first. Ctrl-C again stops at once.");
      stopping.abort();
      // The pair of tokens that a call in progress brings may be the only valid one.
      if (!isStoppedInOrder)
        void tokensStored().finally(() => endInterrupted(signal).finally(() => kill(signal)));
    },
    again: kill,
  });

  /** Not for long: whoever sent the signal waits. */
  async function endInterrupted(signal: NodeJS.Signals): Promise<void> {
    const ended = entry?.end({ state: "interrupted", message: `It was ended by ${signal}.` });
    await orNullAfter(END_PATIENCE_MS, ended ?? Promise.resolve()).catch(() => undefined);
  }

  async function withoutProgress<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    progress.end();
    const answer = await ask();
    progress.begin();
    return answer;
  }

  /** Throws `UsedWrongly` if no person can be asked. `isInputTaken`: standard input is for something else. */
  function mustBeAsked(isInputTaken = false): void {
    if (json || isInputTaken || !host.stdin.isTTY || !host.stderr.isTTY)
      throw new UsedWrongly(
        "Nothing was changed: there is no terminal to ask on. Add --yes to do it without the question.",
      );
  }

  /**
   * What long work needs: it is aborted by SIGINT (Ctrl-C), SIGTERM or SIGHUP, and must end soon after that. `isQuiet`: it
   * only reads, until it is stopped.
   */
  function how({ isQuiet = false } = {}): How {
    isStoppedInOrder = true;
    isStoppedQuietly = isQuiet;
    return { signal: stopping.signal, onProgress };
  }

  function onProgress(done: number, total: number): void {
    progress.update(done, total);
    entry?.onProgress(done, total);
  }

  return {
    host,
    isJson: json,
    pace: { ...PACE, ...parts.pace },
    say,
    paint,
    settings,
    openContext,
    context,
    database,
    scrub,
    how,
    onProgress,
    mustBeAsked,
    offer: async (): Promise<Offer> => parts.offer ?? (await import("../../your-service/plans.ts")).offer,
    endProgress: progress.end,
    user: systemUser,
    /** On standard error, whatever the form of the result. */
    complain: (line: string): void => progress.say(`${paint().red("✗")} ${safeLines(scrub(line), "  ")}`),
    /**
     * Writes a line of a result that is too long to be held, when the reader takes it. False: the reader has gone
     * (`| head`), which is no error.
     */
    async write(line: string): Promise<boolean> {
      const { stdout } = host;
      if (!stdout.writable) return false;
      if (stdout.write(`${line}\n`)) return true;
      const heard = new AbortController();
      const taken = ["drain", "close"].map((name) => once(stdout, name, { signal: heard.signal }));
      await Promise.race(taken).catch(() => undefined);
      heard.abort();
      await Promise.allSettled(taken);
      return stdout.writable;
    },
    /** Asks the person at the terminal. Throws `not_confirmed` unless they say yes, and `UsedWrongly` if there is none. */
    async confirm(question: string): Promise<void> {
      mustBeAsked();
      await withoutProgress(() => askYes(host, question));
    },
    secret: (what: string): Promise<Secret> => withoutProgress(() => readSecret(host, what)),
    async end({ exitCode = DONE, message }: Outcome): Promise<void> {
      const state = exitCode === DONE ? "done" : stopping.signal.aborted ? "interrupted" : "failed";
      const ended = entry?.end({ state, message: message === undefined ? null : scrub(message) });
      await ended?.catch((error: unknown) => warn("Its end is not in the audit trail", error));
      for (const close of closers.reverse())
        await close().catch((error: unknown) => warn("Something could not be closed at the end", error));
    },
  };
}

/** Writes a command into the audit trail, as it was typed but for values, which may be secrets. */
async function beginEntry(db: Database, typed: readonly string[], scrub: (text: string) => string) {
  const words = typed
    .filter((word) => word !== "--json")
    .map((word, at, all) => (all[at - 1] === "--data" ? "…" : masked(word)));
  const action = scrub(["kit", ...words].join(" ")).slice(0, 2_000);
  const [uuid = null, ...others] = new Set(words.flatMap((word) => readUuid(word.split("=").at(-1)) ?? []));
  const operator = { name: systemUser(), account: null, address: os.hostname() };
  const form = `kit-${randomUUID()}`;
  const { beginAction, followAction } = await import("../audit.ts");
  const about = { action, uuid: others.length === 0 ? uuid : null, operator };
  return followAction(db, (await beginAction(db, { ...about, form, requestId: form })).id);
}

/** Without a value, but for the uuid of an option, and without a log drain's token or an address in a path. */
function masked(word: string): string {
  const shown = word.replace(/[^/=]*%3A%2F%2F[^/]*|(?<=\/log-drains\/)[^/?]+/gi, "…");
  const [, name, value] = /^([^=]*=)(.*)$/s.exec(shown) ?? [];
  return name && !(name.startsWith("--") && readUuid(value)) ? `${name}…` : shown;
}

/** A line of the log for people: what it says, of which resource, and why. */
function readable(line: string): string {
  const { level, msg, uuid, reason, error } = JSON.parse(line) as LogLine;
  return safe([level, msg, uuid, reason ?? error?.message].filter(Boolean).join(": "));
}
type LogLine = Record<"level" | "msg", string> & {
  uuid?: string;
  reason?: string;
  error?: { message: string };
};

/** In a container the user may have no name. */
function systemUser(): string {
  try {
    return os.userInfo().username;
  } catch {
    return "unknown";
  }
}

export class KitCommand extends Command {
  readonly #act: Act;

  constructor(act: Act, name?: string) {
    super(name);
    this.#act = act;
  }

  override createCommand(name?: string): KitCommand {
    return new KitCommand(this.#act, name);
  }

  does<Args extends unknown[]>(run: (session: Session, ...args: Args) => Promise<Outcome>): this {
    return this.action(this.#act(run));
  }
}
