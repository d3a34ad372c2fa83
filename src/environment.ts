import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
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

/** The settings in a file of lines `NAME=value`; none if it is not there. Throws {@link Misconfigured}. */
export function fileSettings(file: string): Environment {
  return existsSync(file) ? settingsIn(textOf(file), file) : {};
}

/** Such a file may be a folder (a Python environment is often named `.env`), or another user's. */
function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new Misconfigured(`${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

const NOTHING = /[^\S\n]*(?:#.*)?(?:\n|$)/y;
const NAME = /[^\S\n]*(?:export[^\S\n]+)?([\w.-]+)[^\S\n]*=/y;
/** In quotes; a comment alone; or plain, without a # and without quotes at its ends. */
const VALUE =
  /[^\S\n]*(?:(?:"([^"]*)"|'([^']*)'|`([^`]*)`)[^\S\n]*(?:#.*)?|#\s.*|([^\s"'`#](?:[^#\n]*[^\s"'`#])?)?(?:[^\S\n]+#.*|[^\S\n]*))(?:\n|$)/y;

/**
 * The settings in lines `NAME=value`, as Node reads them, but alike in each version of it; in double quotes, `\n` is a
 * line end. Throws {@link Misconfigured} for a line that does not say clearly what it means: a password without its end
 * would be sent all the same.
 */
function settingsIn(text: string, file: string): Environment {
  const rest = text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n");
  const settings: Record<string, string> = {};
  let at = 0;
  const take = (what: RegExp) => {
    what.lastIndex = at;
    const found = what.exec(rest);
    if (found) at = what.lastIndex;
    return found;
  };
  while (at < rest.length) {
    if (take(NOTHING)) continue;
    const where = `${file}, line ${rest.slice(0, at).split("\n").length}`;
    const name = take(NAME)?.[1];
    if (!name) throw new Misconfigured(`${where}: this is neither NAME=value nor a comment.`);
    const value = take(VALUE);
    if (!value)
      throw new Misconfigured(
        `${where}: put the value of ${name}, which has a quote or a # in it, into quotes.`,
      );
    const [, double, single, back, plain] = value;
    settings[name] = double?.replaceAll("\\n", "\n") ?? single ?? back ?? plain ?? "";
  }
  return settings;
}
