import { createRequire } from "node:module";
import type * as Core from "@zxcvbn-ts/core";
import type * as Common from "@zxcvbn-ts/language-common";

// How many guesses a password takes, as an estimator of such things counts them: it knows common passwords, dates, rows of
// the keyboard, sequences and repetitions. Loading it takes 50 ms and 20 MB, so a password that was plainly generated is
// not shown to it.

/** Twelve random characters, or four random words: for a password that is tried against a running service. */
const GUESSES_AT_A_DOOR = 1e11;
/** Twenty random characters: for a key that is tried against a copy of the database. */
const GUESSES_AT_HOME = 1e20;

export const isEasyPassword = (text: string): boolean => isEasy(text, GUESSES_AT_A_DOOR);
export const isEasyKey = (text: string): boolean => isEasy(text, GUESSES_AT_HOME);

/** Words that whoever guesses a password of this service tries first. */
const OUR_WORDS =
  "addon add-on operator metrics platform service sandbox customer admin production staging secret salt encryption key";

type Estimate = (text: string) => { guesses: number };
let loaded: Estimate | undefined;

function isEasy(text: string, leastGuesses: number): boolean {
  return !isGenerated(text) && (loaded ??= estimator())(text).guesses < leastGuesses;
}

/** Settings are read at once, and an `import` would make everything wait that reads them. */
function estimator(): Estimate {
  const load = createRequire(import.meta.url);
  const { ZxcvbnFactory } = load("@zxcvbn-ts/core") as typeof Core;
  const common = load("@zxcvbn-ts/language-common") as typeof Common;
  const known = new ZxcvbnFactory({ graphs: common.adjacencyGraphs, dictionary: common.dictionary });
  return (text) => known.check(text, OUR_WORDS.split(" "));
}

/**
 * As `openssl rand` writes it, in hex or base64: long, without repetitions, and neither in blocks of letters and digits nor
 * in strict turns. What is not certain the estimator decides.
 */
function isGenerated(text: string): boolean {
  const kinds = [/[a-z]/, /[A-Z]/, /\d/].map((kind) => kind.test(text));
  if (text.length < 24 || !(/^[\da-f]+$/.test(text) || (/^[\w+/=-]+$/.test(text) && !kinds.includes(false))))
    return false;
  const start = text.slice(0, 64);
  const pairs = Array.from({ length: start.length - 1 }, (_, at) => start.slice(at, at + 2));
  const turns = pairs.filter(([one, next]) => kindOf(one!) !== kindOf(next!)).length / pairs.length;
  return new Set(pairs).size > 0.75 * pairs.length && turns > 0.25 && turns < 0.8;
}

const kindOf = (letter: string) => [/[a-z]/, /[A-Z]/, /\d/].findIndex((kind) => kind.test(letter));
