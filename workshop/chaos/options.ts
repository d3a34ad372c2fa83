import { randomInt } from "node:crypto";
import { existsSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";

/** The options of a run. */
export interface Options {
  minutes: number;
  seed: number;
  resources: number;
  /** The folder of programs (`dist/`) of the release before; the service begins with them, and is updated in the run. */
  before: string | null;
}

/** Reads the command line. Throws an error whose message is meant for the operator. */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: "string", default: "3" },
      seed: { type: "string", default: String(randomInt(1_000_000)) },
      resources: { type: "string", default: "60" },
      before: { type: "string" },
    },
  });
  const { before = null } = values;
  if (before !== null && !existsSync(path.join(before, "kit.js")))
    throw new Error(`--before must be the folder of a build (dist/), not ${before}`);
  const whole = (name: "seed" | "resources", least: number) =>
    read(name, `a whole number of at least ${least}`, (it) => Number.isSafeInteger(it) && it >= least);
  return {
    minutes: read("minutes", "a number above 0", (it) => it > 0 && it < Infinity),
    seed: whole("seed", 0),
    resources: whole("resources", 1),
    before,
  };

  function read(
    name: "minutes" | "seed" | "resources",
    wanted: string,
    isRight: (number: number) => boolean,
  ): number {
    const number = values[name].trim() === "" ? NaN : Number(values[name]);
    if (!isRight(number)) throw new Error(`--${name} must be ${wanted}, not ${values[name]}`);
    return number;
  }
}
