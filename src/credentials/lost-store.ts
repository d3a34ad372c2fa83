import { statement, type Database, type Queryable } from "../database/database.ts";
import { GRANT_SECONDS } from "./states.ts";

// Grants that were lost, and the ones that take their place. A lost grant with a `due_at` is one that the service itself
// asks for again; until that has come to an end, its put-off provision does not fail (resources/end-store.ts).

const MAY_HAVE_ANOTHER = `(c.state IN ('grant_lost', 'no_grant', 'needs_reauth') OR (c.state = 'active' AND c.rejected_at IS NOT NULL))`;

/** SQL condition: a credential `c` of a resource `r` may get another grant. A put-off provision still waits for one. */
export const IS_RECOVERABLE = `(r.state = 'provisioned' AND ${MAY_HAVE_ANOTHER}
  OR r.state = 'provisioning' AND r.answer_status IS NOT NULL AND c.state IN ('grant_lost', 'no_grant'))`;

// As for a repeated provision, but due at once: the platform has long had our answer. The statement checks the state
// again, so that two commands at the same moment, or a command and a redelivery, result in one grant. The resource is
// locked first, so that its provision does not fail meanwhile. Existing tokens stay until new ones replace them: an
// access token may still work after its refresh token was refused.
const recover = statement(
  "recover_grant",
  `WITH wanted AS (
     SELECT r.uuid FROM resources r JOIN credentials c USING (uuid) WHERE r.uuid = $1 AND ${IS_RECOVERABLE} FOR SHARE OF r
   ), recovered AS (
     UPDATE credentials c SET state = 'grant_pending', reason = NULL, sealed_grant_code = $2, grant_expires_at = $3,
       grant_number = c.grant_number + 1, grant_deadline = now() + interval '${GRANT_SECONDS} seconds', due_at = now(),
       attempts = 0, outcome_unknown = false, sent_at = NULL, rejected_at = NULL, last_error = NULL
     FROM wanted w WHERE c.uuid = w.uuid AND ${MAY_HAVE_ANOTHER} RETURNING c.uuid
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'grant_recovered' FROM recovered RETURNING uuid`,
);

/** False, and nothing is stored: the grant is not wanted any more. */
export const storeRecovered = async (db: Queryable, uuid: string, sealed: Uint8Array, expires: Date | null) =>
  (await db.query(recover, [uuid, sealed, expires])).length > 0;

const recoverable = statement(
  "is_grant_recoverable",
  `SELECT 1 FROM credentials c JOIN resources r USING (uuid) WHERE c.uuid = $1 AND ${IS_RECOVERABLE}`,
);
export const isRecoverable = async (db: Queryable, uuid: string) =>
  (await db.query(recoverable, [uuid])).length > 0;

export interface LostGrant {
  uuid: string;
  reason: string | null;
  requestId: string | null;
}

/** After a call that came to nothing, a lost grant is asked for again. */
const AGAIN = "interval '1 minute'";
// The due time is also the lease: the call ends long before the next one.
const claim = statement(
  "claim_lost_grant",
  `UPDATE credentials SET due_at = now() + ${AGAIN} WHERE uuid = (
     SELECT uuid FROM credentials WHERE state = 'grant_lost' AND due_at <= now()
     ORDER BY due_at, uuid LIMIT 1 FOR UPDATE SKIP LOCKED)
   RETURNING uuid, reason, request_id AS "requestId"`,
);
/** The one that has waited longest. */
export const claimLost = async (db: Queryable): Promise<LostGrant | null> =>
  (await db.query<LostGrant>(claim))[0] ?? null;

const nextLost = statement(
  "next_lost_grant",
  `SELECT extract(epoch FROM min(due_at) - now())::float8 AS seconds FROM credentials WHERE state = 'grant_lost'`,
);
/** Seconds until a lost grant is to be asked for; null: none is. */
export const nextLostInSeconds = async (db: Queryable) =>
  (await db.query<{ seconds: number | null }>(nextLost))[0]?.seconds ?? null;

const stop = statement(
  "stop_recovering",
  `UPDATE credentials SET due_at = NULL, last_error = coalesce($2, last_error)
   WHERE state = 'grant_lost' AND due_at IS NOT NULL AND uuid = coalesce($1, uuid)
   RETURNING uuid, reason, request_id AS "requestId"`,
);
/** Asks for one no more, or (null) for none of them; returns which. */
export const stopRecovering = (db: Database, uuid: string | null, error: string | null = null) =>
  db.query<LostGrant>(stop, [uuid, error]);
