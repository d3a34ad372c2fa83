import type { Queryable } from "../database/database.ts";
import { retryWhileDatabaseAway } from "../database/retry.ts";
import { createGrantOutcomes } from "./grant-outcomes.ts";
import { AFTER_CALL, releaseLease, type Lease } from "./lease.ts";
import { createMarkSent } from "./mark-sent.ts";
import { createQuarantine } from "./quarantine.ts";
import { createRefreshOutcomes } from "./refresh-outcomes.ts";
import { createStoreTokens } from "./store-tokens.ts";

/**
 * What is written around a call to the token endpoint, in this order: claim, mark sent, call, store; a fresh claim of a
 * token pair is its own mark. The mark is fenced by the lease number; so is storing, except for tokens that cannot be
 * issued again (store-tokens.ts). Both are collected into one statement for all rows that are ready at the same moment:
 * at several thousand tokens a second the database's commits, not the calls, would be the limit.
 */
export function createCredentialStore(db: Queryable) {
  return {
    /**
     * Marks that a call goes out now. False: the lease is not ours any more, or ends too soon; then nothing may be
     * sent.
     */
    markSent: createMarkSent(db),
    /** False: not stored, for another claim came between, or the resource is gone. */
    storeTokens: createStoreTokens(db),
    /** Releases a row as it was: nothing was sent, or the outcome says nothing about the row. */
    release: (row: Lease & { dueBefore?: Date | null }) =>
      retryWhileDatabaseAway(() => releaseLease(db, row, row.dueBefore ?? null, false), AFTER_CALL),
    ...createGrantOutcomes(db),
    ...createRefreshOutcomes(db),
    ...createQuarantine(db),
  };
}

export type CredentialStore = ReturnType<typeof createCredentialStore>;
