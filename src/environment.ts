import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { readSettingsFile } from "./dot-env.ts";
import { messageOf, Misconfigured } from "./errors.ts";

/** What the `.env` file behind an environment has that was perhaps meant otherwise. A symbol: it is no variable. */
export const REMARKS = Symbol("remarks");

export type Environment = Readonly<Record<string, string | undefined>> & {
  readonly [REMARKS]?: readonly string[];
};

/** Where `npm run dev` keeps its files unless `DATA_DIR` says otherwise. */
export const DEFAULT_DATA_DIR = ".data";

/**
 * The environment; for what it lacks, the `.env` file in the working folder; and for what both lack, unless they name a
 * database, the settings that `npm run dev` made, so that the command line reaches the service that it started.
 */
export function readEnvironment(env: Environment = process.env, folder = process.cwd()): Environment {
  const chosen = readChosenEnvironment(env, folder);
  return { ...madeByDev(chosen, folder), ...chosen };
}

/**
 * As {@link readEnvironment}, without what `npm run dev` made: for what concerns another service than its own.
 *
 * An empty setting in `.env` counts as absent, as in a fresh copy of `.env.example`. An empty variable in the
 * environment overrides `.env` and what `npm run dev` made: the default applies.
 */
export function readChosenEnvironment(env: Environment = process.env, folder = process.cwd()): Environment {
  const { values, remarks } = readFile(path.join(folder, ".env"));
  const written = Object.entries(values).filter(([, value]) => value !== "");
  const chosen = { ...Object.fromEntries(written), ...env };
  return remarks.length > 0 ? { ...chosen, [REMARKS]: remarks } : chosen;
}

/** Puts variables with this prefix into `process.env`, where a library reads them by itself. */
export function exportVariables(prefix: string): void {
  for (const [name, value] of Object.entries(readChosenEnvironment()))
    if (name.startsWith(prefix)) process.env[name] ??= value;
}

function madeByDev(chosen: Environment, folder: string): Environment {
  if (chosen["DATABASE_URL"]) return {};
  return fileSettings(path.resolve(folder, chosen["DATA_DIR"] || DEFAULT_DATA_DIR, "dev.env"));
}

/** The settings in a file of lines `NAME=value`; none if it is not there. Throws {@link Misconfigured}. */
export const fileSettings = (file: string): Environment => readFile(file).values;

function readFile(file: string): ReturnType<typeof readSettingsFile> {
  if (!existsSync(file)) return { values: {}, remarks: [] };
  try {
    return readSettingsFile(file, readFileSync(file));
  } catch (cause) {
    if (cause instanceof Misconfigured) throw cause;
    // Such a file may be a folder (a Python environment is often named `.env`), or another user's.
    throw new Misconfigured(`${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
}
