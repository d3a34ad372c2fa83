import { statement, type Queryable } from "../database/database.ts";
import { LEASE_SECONDS } from "./claims.ts";

/** A lease: which row, and the number of the claim. */
export interface Lease {
  uuid: string;
  lease: number;
}

/**
 * How long storing the outcome of a call is tried while the database is away. If it were not stored, the row would stay
 * claimed until the lease ends.
 */
export const AFTER_CALL = { upToMs: 15_000 };

// Restores the due time from before the claim ($3), unless the row was made due meanwhile: for a new client secret, or
// with another grant.
const release = statement(
  "release_credential",
  `UPDATE credentials SET
     leased_until = NULL, sent_at = NULL, outcome_unknown = outcome_unknown OR $4,
     due_at = CASE WHEN due_at = leased_until - interval '${LEASE_SECONDS} seconds' THEN coalesce($3, due_at) ELSE due_at END
   WHERE uuid = $1 AND lease = $2`,
);

/**
 * Gives a row back as it was. `dueBefore`: when it was due before the claim; null: as it is. `isUnknown`: whether the
 * outcome of the call is unknown. Nothing happens if the lease is not ours any more.
 */
export async function releaseLease(
  db: Queryable,
  { uuid, lease }: Lease,
  dueBefore: Date | null,
  isUnknown: boolean,
): Promise<void> {
  await db.query(release, [uuid, lease, dueBefore, isUnknown]);
}

/** For each row, in order, whether the database returned it: two rows of one batch may be of the same resource. */
export function areAmong(rows: readonly Lease[], answered: readonly Lease[]): boolean[] {
  const leases = new Set(answered.map(({ uuid, lease }) => `${uuid} ${lease}`));
  return rows.map(({ uuid, lease }) => leases.has(`${uuid} ${lease}`));
}
