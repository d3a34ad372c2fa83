import { counter, type Family } from "./families.ts";

/** A counter without labels. */
export interface Counter {
  /** Adds 1, or `by`. */
  count(by?: number): void;
  family(): Family;
}

/** A counter with one label. */
export interface LabelledCounter {
  /** Adds 1 to the series of a label's value. */
  count(word: string): void;
  family(): Family;
}

/**
 * Makes a counter. The series of each of `words` starts at 0, so that its first increment is visible as one; a word that
 * is not among them gets a series with its first increment.
 */
export function createLabelledCounter(
  name: string,
  help: string,
  label: string,
  words: readonly string[],
): LabelledCounter {
  const counts = new Map(words.map((word) => [word, 0]));
  return {
    count(word) {
      counts.set(word, (counts.get(word) ?? 0) + 1);
    },
    family: () => counter(name, help, [...counts], ([word, value]) => [{ [label]: word }, value]),
  };
}

/** Makes a counter of one series, from 0. */
export function createCounter(name: string, help: string): Counter {
  let sum = 0;
  return {
    count(by = 1) {
      sum += by;
    },
    family: () => counter(name, help, [sum], (value) => [{}, value]),
  };
}
