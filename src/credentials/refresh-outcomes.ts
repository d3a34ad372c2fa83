import { statement, type Queryable } from "../database/database.ts";
import { retryWhileDatabaseAway } from "../database/retry.ts";
import { AFTER_CALL, type Lease } from "./lease.ts";

// Takes effect once for each claim, as for a grant (grant-outcomes.ts).
const putOffRefresh = statement(
  "put_off_refresh",
  `WITH put_off AS (
     UPDATE credentials c SET
       attempts = attempts + 1, last_error = $4,
       rejected_at = CASE WHEN $5 THEN coalesce(rejected_at, now()) ELSE rejected_at END,
       state = $6, reason = CASE WHEN $6 = 'needs_reauth' THEN 'refresh_token_rejected' END,
       due_at = now() + make_interval(secs => $3::float8), leased_until = NULL, sent_at = NULL
     FROM (SELECT uuid, state AS before FROM credentials WHERE uuid = $1) old
     WHERE c.uuid = $1 AND c.uuid = old.uuid AND c.lease = $2 AND c.leased_until IS NOT NULL AND c.state IN ('active', 'needs_reauth')
     RETURNING c.uuid, c.state <> old.before AS turned
   ), told AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'needs_reauth' FROM put_off WHERE turned
   )
   SELECT uuid, turned FROM put_off`,
);

/** Stores what became of a refresh that brought no tokens. */
export function createRefreshOutcomes(db: Queryable) {
  return {
    /** True if this turned the row into `needs_reauth`. */
    async putOffRefresh(
      row: Lease,
      again: { againInSeconds: number; rejected: boolean; state: string; error: string },
    ): Promise<boolean> {
      const values = [row.uuid, row.lease, again.againInSeconds, again.error, again.rejected, again.state];
      const putOff = () => db.query<{ turned: boolean }>(putOffRefresh, values);
      return (await retryWhileDatabaseAway(putOff, AFTER_CALL))[0]?.turned ?? false;
    },
  };
}
