import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";
import { messageOf, Misconfigured } from "./errors.ts";

/** Variables by name, as in `process.env`. */
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

/** The names of the settings that `npm run dev` made up because neither the environment nor `.env` gives them. */
export function madeUpNames(env: Environment = process.env, folder = process.cwd()): string[] {
  const chosen = readChosenEnvironment(env, folder);
  return Object.keys(madeByDev(chosen, folder)).filter((name) => chosen[name] === undefined);
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

function madeByDev(chosen: Environment, folder: string): Environment {
  if (chosen["DATABASE_URL"]) return {};
  return fileSettings(path.resolve(folder, chosen["DATA_DIR"] || DEFAULT_DATA_DIR, "dev.env"));
}

function fileSettings(file: string): Environment {
  if (!existsSync(file)) return {};
  const text = textOf(file);
  const values = parseEnv(text) as Environment;
  refuseCutValues(file, text, values);
  return values;
}

/** Such a file may be a folder (a Python environment is often named `.env`), or another user's. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new Misconfigured(`${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

/**
 * Throws {@link Misconfigured} if a value was cut: outside quotes any # begins a comment, even in the middle of a
 * secret. The text is parsed once more with every # that follows a non-space replaced, except where the whole value is
 * a comment (`NAME=# …`); a value that then differs was cut at its #.
 */
function refuseCutValues(file: string, text: string, values: Environment): void {
  const other = "\u{F0023}";
  const whole = Object.entries(
    parseEnv(text.replace(/(?<=\S)#(?<!^[^=\n]*=#(?=\s))/gm, other)) as Environment,
  );
  const cut = whole
    .map((pair) => pair.map((part = "") => part.replaceAll(other, "#")) as [string, string])
    .flatMap(([name, value]) => (values[name] === value ? [] : [name]));
  if (cut.length === 0) return;
  throw new Misconfigured(
    `${cut.join(", ")} in ${file}: outside quotes, a value ends before its #. Put it in quotes, or a space before a comment.`,
  );
}
