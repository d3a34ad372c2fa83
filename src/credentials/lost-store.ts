import type { Credential } from "../database/client/client.ts";
import { anyRow, columnsOf, oneRow, statement, type Queryable, type RowOf } from "../database/statement.ts";
import { GRANT_SECONDS } from "./states.ts";

// Grants that were lost, and the ones that take their place. A lost grant with a `due_at` is one that the service itself
// asks for again; until that has come to an end, its put-off provision does not fail (resources/end-store.ts).

const MAY_HAVE_ANOTHER = `(c.state IN ('grant_lost', 'no_grant', 'needs_reauth') OR (c.state = 'active' AND c.rejected_at IS NOT NULL))`;

/** SQL condition: a credential `c` of a resource `r` may get another grant. A put-off provision still waits for one. */
export const IS_RECOVERABLE = `(r.state = 'provisioned' AND ${MAY_HAVE_ANOTHER}
  OR r.state = 'provisioning' AND r.answer_status IS NOT NULL AND c.state IN ('grant_lost', 'no_grant'))`;

// The statement checks the state again, so that two commands at the same moment, or a command and a redelivery, result in
// one grant.
//
//   resources (locked) ─▶ credentials: the code, as for a repeated provision ─▶ events: + grant_recovered
const recover = statement<NewGrant, Pick<Credential, "uuid">>("recover_grant").sql(
  `WITH wanted AS (
     -- The lock keeps the provision from failing before this commits.
     SELECT r.uuid FROM resources r JOIN credentials c USING (uuid) WHERE r.uuid = :uuid AND ${IS_RECOVERABLE} FOR SHARE OF r
   ), recovered AS (
     -- Tokens stay until others replace them: an access token may still work after its refresh token was refused.
     UPDATE credentials c SET state = 'grant_pending', reason = NULL,
       sealed_grant_code = :sealedGrantCode, grant_expires_at = :grantExpiresAt,
       grant_number = c.grant_number + 1, grant_deadline = now() + interval '${GRANT_SECONDS} seconds',
       -- The platform has long had our answer, so that the code is good at once.
       due_at = now(),
       attempts = 0, outcome_unknown = false, sent_at = NULL, rejected_at = NULL, last_error = NULL
     FROM wanted w WHERE c.uuid = w.uuid AND ${MAY_HAVE_ANOTHER} RETURNING c.uuid
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'grant_recovered' FROM recovered RETURNING uuid`,
);

export type NewGrant = Pick<Credential, "uuid" | "sealedGrantCode" | "grantExpiresAt">;

/** False, and nothing is stored: the grant is not wanted any more. */
export const storeRecovered = (db: Queryable, grant: NewGrant) => anyRow(db, recover, grant);

const recoverable = statement<Pick<Credential, "uuid">>("is_grant_recoverable").sql(
  `SELECT 1 FROM credentials c JOIN resources r USING (uuid) WHERE c.uuid = :uuid AND ${IS_RECOVERABLE}`,
);
export const isRecoverable = (db: Queryable, uuid: string) => anyRow(db, recoverable, { uuid });

const LOST = columnsOf<Credential>()("c", "uuid", "reason", "requestId");
export type LostGrant = RowOf<typeof LOST>;

/** After a call that came to nothing, a lost grant is asked for again. */
const AGAIN = "interval '1 minute'";
// The due time is also the lease: the call ends long before the next one.
const claim = statement<object, LostGrant>("claim_lost_grant").sql(
  `UPDATE credentials c SET due_at = now() + ${AGAIN} WHERE c.uuid = (
     SELECT uuid FROM credentials WHERE state = 'grant_lost' AND due_at <= now()
     ORDER BY due_at, uuid LIMIT 1 FOR UPDATE SKIP LOCKED)
   RETURNING ${LOST}`,
);
/** The one that has waited longest. */
export const claimLost = (db: Queryable) => oneRow(db, claim);

const nextLost = statement<object, { seconds: number | null }>("next_lost_grant").sql(
  `SELECT extract(epoch FROM min(due_at) - now())::float8 AS seconds FROM credentials WHERE state = 'grant_lost'`,
);
/** Seconds until a lost grant is to be asked for; null: none is. */
export const nextLostInSeconds = async (db: Queryable) => (await oneRow(db, nextLost))?.seconds ?? null;

const stop = statement<{ uuid: string | null; error: string | null }, LostGrant>("stop_recovering").sql(
  `UPDATE credentials c SET due_at = NULL, last_error = coalesce(:error, c.last_error)
   WHERE c.state = 'grant_lost' AND c.due_at IS NOT NULL AND c.uuid = coalesce(:uuid, c.uuid)
   RETURNING ${LOST}`,
);
/** Asks for one no more, or (null) for none of them; returns which. */
export const stopRecovering = (db: Queryable, uuid: string | null, error: string | null = null) =>
  db.query(stop, { uuid, error });
