/** "1 row", "2 rows". */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** Rows are counted up to this number; beyond it the exact number does not matter. */
export const MOST_COUNTED = 10_000;

/** "1 row", "2 rows", "10000 rows or more". */
export function countedToMost(count: number, thing: string): string {
  return count < MOST_COUNTED ? counted(count, thing) : `${counted(MOST_COUNTED, thing)} or more`;
}

/** A tombstone has no plan if the platform only ever sent a deprovision for it. */
export function planInWords(plan: string): string {
  return plan === "" ? "never provisioned" : plan;
}

/** A length of time in one unit: 40 s, 12 min, 3 h, 4 days. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} h` : `${Math.round(seconds / 86_400)} days`;
}

/** At most this many items of a list are shown. */
const MOST_SHOWN = 20;

/** The first items of a list, each as text by `tell`, and how many more there are. */
export function some<Item>(items: readonly Item[], tell: (item: Item) => string): string[] {
  const more = items.length - MOST_SHOWN;
  return [...items.slice(0, MOST_SHOWN).map(tell), ...(more > 0 ? [`  … and ${more} more`] : [])];
}
