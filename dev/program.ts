import path from "node:path";
import { fileURLToPath } from "node:url";

const SUFFIX = path.extname(import.meta.url);
const IS_COMPILED = SUFFIX === ".js";
const fileOf = (file: string) => fileURLToPath(new URL(`../${file}`, import.meta.url));

/** What follows `node` to run this file of the project: compiled if this one is, else compiled by tsx at the start. */
export function programWords(file: string): string[] {
  const tsx = IS_COMPILED ? [] : ["--import", import.meta.resolve("tsx")];
  return [...tsx, fileOf(file.replace(/\.ts$/, SUFFIX))];
}

/** The variables that such a program needs in any working folder, so that the pages are compiled. */
export const programEnvironment = IS_COMPILED ? {} : { TSX_TSCONFIG_PATH: fileOf("tsconfig.json") };

/** The folder that holds `src/` and `dev/`, compiled or not. */
export const PROJECT = fileOf("");
