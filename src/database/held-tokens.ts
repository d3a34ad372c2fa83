import { isFaultOfAddress, isFaultOfData, isPassing } from "./failure.ts";
import { waitingForDatabase } from "./waiting.ts";

/**
 * How long tokens are held in memory while they cannot be stored. Those of a grant are the only ones there will ever be,
 * and so is a refresh token that came in place of the one we have: they are held as long as the process lives; stopping
 * ends that after 25 s. Any other refresh can be repeated.
 */
const KEEP_ONLY_TOKENS_MS = 3_600_000;
const KEEP_TOKENS_MS = 20_000;

/**
 * Stores tokens that the platform has just issued, and holds them until the database takes them. `areOnlyOnes`: losing
 * them cannot be mended by another call; then whatever hinders the database may be mended while they are held, all but
 * values that it will never take, and `onTrouble` is told once of what does not pass by itself.
 *
 * Resolves to what `store` says, which must be idempotent. Throws what `waitingForDatabase` throws.
 */
export function storeHeldTokens(
  store: () => Promise<boolean>,
  { areOnlyOnes, onTrouble }: { areOnlyOnes: boolean; onTrouble(error: unknown): void },
): Promise<boolean> {
  if (!areOnlyOnes) return waitingForDatabase(store, { upToMs: KEEP_TOKENS_MS });
  let isTold = false;
  return waitingForDatabase(store, {
    upToMs: KEEP_ONLY_TOKENS_MS,
    isCurable(error) {
      if (isFaultOfData(error)) return false;
      const needsSomebody = !isPassing(error) || isFaultOfAddress(error);
      if (needsSomebody && !isTold) onTrouble(error);
      isTold ||= needsSomebody;
      return true;
    },
  });
}
