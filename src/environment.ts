import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";
import { messageOf, Misconfigured } from "./errors.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

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
  const written = Object.entries(fileSettings(path.join(folder, ".env"))).filter(([, value]) => value !== "");
  return { ...Object.fromEntries(written), ...env };
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
export function fileSettings(file: string): Environment {
  if (!existsSync(file)) return {};
  try {
    // Of `NAME= `, some versions of Node take the next line for the value.
    return parseEnv(readFileSync(file, "utf8").replace(/^\uFEFF|[ \t\r]+$/gm, ""));
  } catch (cause) {
    // Such a file may be a folder (a Python environment is often named `.env`), or another user's.
    throw new Misconfigured(`${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
}
