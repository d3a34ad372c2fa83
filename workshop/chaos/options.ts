import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";

/** The options of a run. */
export interface Options {
  minutes: number;
  seed: number;
  resources: number;
}

/** Reads the command line. Throws an error whose message is meant for the operator. */
export function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: "string", default: "3" },
      seed: { type: "string", default: String(randomInt(1_000_000)) },
      resources: { type: "string", default: "60" },
    },
  });
  const whole = (name: "seed" | "resources", least: number) =>
    read(name, `a whole number of at least ${least}`, (it) => Number.isSafeInteger(it) && it >= least);
  return {
    minutes: read("minutes", "a number above 0", (it) => it > 0 && it < Infinity),
    seed: whole("seed", 0),
    resources: whole("resources", 1),
  };

  function read(name: keyof Options, wanted: string, isRight: (number: number) => boolean): number {
    const number = values[name].trim() === "" ? NaN : Number(values[name]);
    if (!isRight(number)) throw new Error(`--${name} must be ${wanted}, not ${values[name]}`);
    return number;
  }
}
