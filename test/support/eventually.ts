import { setTimeout as sleep } from "node:timers/promises";

/**
 * Retries each 50 ms until `look` returns neither `false` nor `null` and does not throw, for at most `withinMs`; then
 * throws the last error. A machine that stands still uses up half a second of that. The limit is longer than the longest
 * lease (60 s): a claim that PostgreSQL has committed, and whose answer came too late, holds its row for so long.
 */
export async function eventually<Found>(
  look: () => Promise<Found> | Found,
  withinMs = 120_000,
): Promise<NonNullable<Found>> {
  for (let leftMs = withinMs; ;) {
    const begunMs = performance.now();
    let problem: unknown = new Error("It did not happen.");
    try {
      const found = await look();
      if (found !== false && found !== null) return found as NonNullable<Found>;
    } catch (error) {
      problem = error;
    }
    if (leftMs <= 0) throw problem;
    // Most of what is waited for happens at once.
    await sleep(Math.min(10 + (withinMs - leftMs) / 5, 50));
    leftMs -= Math.min(performance.now() - begunMs, 500);
  }
}
