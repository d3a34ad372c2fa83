import { createApplies, statement, type Queryable } from "../database/database.ts";
import { retryWhileDatabaseAway } from "../database/retry.ts";
import { AFTER_CALL, releaseLease, type Lease } from "./lease.ts";
import { ASK_AGAIN_DAILY_SECONDS } from "./verdict.ts";

// Takes effect once for each claim: a retry after a lost acknowledgement finds that the lease is given back. The first
// refusal is dated a day back: it only marks the code as refused, and if the row returns to `needs_reauth`,
// mass-refusal must not count it as a refresh token refused just now.
const putOffGrant = statement(
  "put_off_grant",
  `UPDATE credentials SET
     attempts = attempts + 1, outcome_unknown = $4, last_error = $5,
     rejected_at = CASE WHEN $6 THEN coalesce(rejected_at, now() - interval '1 day') ELSE rejected_at END,
     due_at = least(now() + make_interval(secs => $3::float8), grant_deadline),
     leased_until = NULL, sent_at = NULL
   WHERE uuid = $1 AND lease = $2 AND leased_until IS NOT NULL AND grant_number = $7 AND state = 'grant_pending'
   RETURNING uuid`,
);

// A lost grant that was to replace a refused refresh token leaves that token behind: it is tried once a day, as before.
// Its refusal is dated a day back, as mass-refusal must not count it as of now.
const HAS_OLDER = `sealed_refresh_token IS NOT NULL`;
const loseGrant = statement(
  "lose_grant",
  `WITH lost AS (
     UPDATE credentials SET sealed_grant_code = NULL, leased_until = NULL, sent_at = NULL,
       state = CASE WHEN ${HAS_OLDER} THEN 'needs_reauth' ELSE 'grant_lost' END,
       reason = CASE WHEN ${HAS_OLDER} THEN 'refresh_token_rejected' ELSE $3 END,
       due_at = CASE WHEN ${HAS_OLDER} THEN now() + make_interval(secs => ${ASK_AGAIN_DAILY_SECONDS}) END,
       rejected_at = CASE WHEN ${HAS_OLDER} THEN coalesce(rejected_at, now() - interval '1 day') ELSE rejected_at END,
       grant_deadline = CASE WHEN ${HAS_OLDER} THEN NULL ELSE grant_deadline END
     WHERE uuid = $1 AND lease = $2 AND state = 'grant_pending' AND grant_deadline <= now() RETURNING uuid
   ), told AS (
     INSERT INTO events (uuid, type, detail) SELECT uuid, 'grant_lost', jsonb_build_object('reason', $3::text) FROM lost
   )
   SELECT uuid FROM lost`,
);

/** Stores what became of a grant that was not exchanged. */
export function createGrantOutcomes(db: Queryable) {
  const applies = createApplies(db);
  return {
    /** Puts the grant off until its next try, or until its deadline, if that is sooner: then it ends without a try. */
    async putOffGrant(
      row: Lease & { grantNumber: number },
      again: { againInSeconds: number; outcomeUnknown: boolean; refused: boolean; error: string },
    ): Promise<void> {
      const { againInSeconds, outcomeUnknown, refused, error } = again;
      const values = [row.uuid, row.lease, againInSeconds, outcomeUnknown, error, refused, row.grantNumber];
      await retryWhileDatabaseAway(async () => {
        // If a newer code arrived while the older one was tried, only an unknown outcome of the older one counts: the
        // newer one may be the same code, delivered again.
        if (!(await applies(putOffGrant, values))) await releaseLease(db, row, null, outcomeUnknown);
      }, AFTER_CALL);
    },
    /** Ends a grant whose deadline has passed. False: the row has got another grant, or is gone. */
    loseGrant: ({ uuid, lease }: Lease, reason: string) => applies(loseGrant, [uuid, lease, reason]),
  };
}
