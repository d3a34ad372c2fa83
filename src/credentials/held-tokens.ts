import {
  isConnectionConfigError,
  isDataError,
  isTransient,
  retryWhileDatabaseAway,
} from "../database/database.ts";

/**
 * How long tokens that cannot be stored are held in memory and tried again. Those of a grant, and a refresh token that
 * replaced ours, cannot be had again: they are held for an hour, or until the process ends, 25 s after it was told to
 * stop. Any other refresh can be repeated.
 */
const KEEP_ONLY_TOKENS_MS = 3_600_000;
const KEEP_TOKENS_MS = 20_000;

/**
 * Stores tokens that the platform has just issued, and tries again until the database takes them. `areOnlyOnes`: no
 * other call can bring them again. Then every error is tried again, as an operator may remove its cause meanwhile,
 * except a fault of the values themselves; `onTrouble` is called once, for the first error that does not pass by
 * itself.
 *
 * Resolves with the result of `store`, which must be idempotent. Rejects as `retryWhileDatabaseAway` does.
 */
export function storeHeldTokens(
  store: () => Promise<boolean>,
  { areOnlyOnes, onTrouble }: { areOnlyOnes: boolean; onTrouble(error: unknown): void },
): Promise<boolean> {
  if (!areOnlyOnes) return retryWhileDatabaseAway(store, { upToMs: KEEP_TOKENS_MS });
  let isTold = false;
  return retryWhileDatabaseAway(store, {
    upToMs: KEEP_ONLY_TOKENS_MS,
    isCurable(error) {
      if (isDataError(error)) return false;
      const needsSomebody = !isTransient(error) || isConnectionConfigError(error);
      if (needsSomebody && !isTold) onTrouble(error);
      isTold ||= needsSomebody;
      return true;
    },
  });
}
