import type { Family } from "./families.ts";

/** A counter with one label, or with none. */
export interface Counter {
  /** Adds 1, or `by`, to the series of a label's value. */
  count(word: string, by?: number): void;
  family(): Family;
}

/**
 * Makes a counter. The series of each of `words` starts at 0, so that its first increment is visible as one. Without a
 * `label` there is one series, whatever the word.
 */
export function createCounter(name: string, help: string, words: readonly string[], label?: string): Counter {
  const counts = new Map(words.map((word) => [word, 0]));
  return {
    count(word, by = 1) {
      counts.set(word, (counts.get(word) ?? 0) + by);
    },
    family: () => ({
      ...{ name, help, type: "counter", aggregator: "sum" },
      values: [...counts].map(([word, value]) => ({ labels: label ? { [label]: word } : {}, value })),
    }),
  };
}
