/** Pseudo-random choices, repeatable by their seed. */
export interface Random {
  /** At least 0 and below 1. */
  next(): number;
  between(least: number, most: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  one<Item>(items: readonly Item[]): Item;
}

/** Mulberry32: small, quick, and good enough to pick faults. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    next,
    between: (least, most) => least + next() * (most - least),
    chance: (probability) => next() < probability,
    one: (items) => items[Math.floor(next() * items.length)]!,
  };
}
