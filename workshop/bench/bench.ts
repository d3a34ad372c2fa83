import { cpus } from "node:os";
import path from "node:path";
import { createDatabases, type Database, type Databases } from "./databases.ts";
import { pinApart } from "./pinning.ts";
import { type Platform, startPlatform } from "./platform-process.ts";
import { startPostgres } from "./postgres.ts";
import type { End, Program, Settings } from "./program.ts";
import { endAll, floorWords, runFor, runProgram, startProgram } from "./program.ts";
import { ADDON } from "./provisions.ts";

export interface Options {
  /** The folder of the built service. */
  dist: string;
  /** Shorter rounds and fewer rows: everything in about three minutes. */
  quick: boolean;
  /** How long a round of answering lasts. */
  roundMs: number;
  /** The part of the usual rows that is made: less than 1 for tests of the bench, which look at no figure. */
  scale: number;
  /** Growth is measured among so many resources, instead of up to a million. */
  resources?: number | undefined;
  databaseUrl?: string | undefined;
}

/** What every work gets: the service, its floors, and what both need. */
export interface Bench {
  options: Options;
  /** Sentences about the machine, for the head of the report. */
  says: string[];
  platform: Platform;
  databases: Databases;
  /** The beginning of a command that runs on all processors; the bench itself, and what it starts, leaves out the service's. */
  onAllProcessors: readonly string[];
  /** How many rows a work makes: so many with --quick, or so many without. */
  rows(quick: number, usual: number): number;
  /** The settings of a service on this database. */
  settingsFor(database: Pick<Database, "url">, more?: Settings): Settings;
  /** Starts the built service as a process of its own. `free`: it may run on any processor. */
  startService(kind: "web" | "worker", settings: Settings, where?: "pinned" | "free"): Promise<Program>;
  /** Starts a floor that listens as the service does. */
  startFloor(name: string, settings: Settings): Promise<Program>;
  /** Runs a floor to its end and answers the JSON that it printed. */
  runFloor<Answer>(name: string, settings: Settings): Promise<Answer>;
  /** Runs a command of the built service and answers the JSON that it printed. */
  runKit<Answer>(command: string, settings: Settings): Promise<Answer>;
  /**
   * Runs a command beside the measurement at the lowest priority, as if on another machine. Answers how it ended; null
   * if it was stopped after `forMs`.
   */
  runKitAside(command: string, settings: Settings, forMs: number): Promise<End | null>;
  /** Kills the processes that a work left running. */
  endAll(): Promise<void>;
  close(): Promise<void>;
}

/** The key that seals everything in a bench, so that the checks can open what is stored. */
export const ENCRYPTION_KEY = "a-key-of-the-bench-with-more-than-32-characters";
/** The key that alternates with it where keys are rotated. */
export const OTHER_KEY = "another-key-of-the-bench-with-more-than-32-characters";

export async function createBench(options: Options): Promise<Bench> {
  const pinning = pinApart();
  const platform = await startPlatform();
  const server = await startPostgres(options.databaseUrl);
  const base: Settings = {
    ADDON_ID: ADDON.id,
    ADDON_PASSWORD: ADDON.password,
    CLIENT_SECRET: "a-client-secret-for-the-bench-only",
    ENCRYPTION_KEY,
    PLATFORM_API_URL: platform.url,
    PLATFORM_AUTH_URL: platform.url,
    PLATFORM_STATUS_URL: platform.url,
    ALLOW_INSECURE_PLATFORM: "on",
  };
  const settingsFor: Bench["settingsFor"] = ({ url }, more = {}) => ({ ...base, DATABASE_URL: url, ...more });
  const databases = await createDatabases(server.url, options.dist, base);
  return {
    options,
    says: [`node ${process.versions.node}`, server.says, processors(), pinning.says],
    platform,
    databases,
    onAllProcessors: pinning.forAnybody,
    rows: (quick, usual) => Math.ceil((options.quick ? quick : usual) * options.scale),
    settingsFor,
    startService: (kind, settings, where = "pinned") =>
      startProgram(
        [path.join(options.dist, `${kind}.js`)],
        settings,
        where === "pinned" ? pinning.forService : pinning.forAnybody,
      ),
    startFloor: (name, settings) => startProgram(floorWords(name), settings, pinning.forService),
    runFloor: async (name, settings) =>
      JSON.parse(await runProgram(floorWords(name), settings, pinning.forService)) as never,
    runKit: async (command, settings) =>
      JSON.parse(await runProgram(kitWords(options, command), settings, pinning.forService)) as never,
    runKitAside: (command, settings, forMs) =>
      runFor(forMs, kitWords(options, command), settings, ["nice", "-n", "19"]),
    endAll,
    async close() {
      await endAll();
      platform.stop();
      await databases.close().finally(server.stop);
    },
  };
}

/** What the machine says of its processors: with another one, the ratios differ too (README.md). */
function processors(): string {
  const all = cpus();
  return `${all.length} × ${all[0]?.model.trim() ?? "an unknown processor"}`;
}

function kitWords({ dist }: Options, command: string): string[] {
  return [path.join(dist, "kit.js"), ...command.split(" "), "--json"];
}
