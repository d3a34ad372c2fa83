import type { Credential } from "../database/client/client.ts";
import type { Database } from "../database/database.ts";
import { anyRow, columnsOf, oneRow, type Queryable, type RowOf, statement } from "../database/statement.ts";
import type { Pace } from "../pace.ts";
import type { Grant } from "../resources/rows.ts";
import type { Secret } from "../secret.ts";
import { credentialSealContext, type Vault } from "../vault/vault.ts";
import { GRANT_SECONDS } from "./states.ts";

// The grants after the first one of a resource, which the statement of its provision stores (resources/store.ts): the
// grant of a repeated provision, and the one that the service requests for a lost grant.

const GRANT_COLUMNS = columnsOf<Credential>()("c", "state", "sealedGrantCode");
const readGrant = statement<{ uuid: string }, RowOf<typeof GRANT_COLUMNS>>("read_grant").sql(
  `SELECT ${GRANT_COLUMNS} FROM credentials c WHERE c.uuid = :uuid`,
);

type GivenGrant = Record<"requestId" | "traceparent", string | null> & {
  uuid: string;
  code: Uint8Array;
  expiresAt: Date | null;
  exchangeAfterSeconds: number;
};
// A new code replaces a code that was not exchanged, or a refresh token that was given up. Its five minutes start now.
// Tokens that work are kept.
const replaceGrant = statement<GivenGrant, { uuid: string }>("replace_grant").sql(
  `WITH alive AS (
     -- The lock serializes this statement with the one that stores the answer. A failed provision takes no code, because a
     -- repeated request gets the stored refusal.
     SELECT uuid, answer_status FROM resources WHERE uuid = :uuid AND state <> 'failed' FOR SHARE
   ), replaced AS (
     UPDATE credentials c SET state = 'grant_pending', reason = NULL, sealed_grant_code = :code, grant_expires_at = :expiresAt,
       grant_number = c.grant_number + 1, grant_deadline = now() + interval '${GRANT_SECONDS} seconds',
       -- The statement that stores the answer sets the due time of a grant that came before the answer.
       due_at = CASE WHEN alive.answer_status IS NOT NULL THEN now() + make_interval(secs => :exchangeAfterSeconds::float8) END,
       -- outcome_unknown is kept: the platform may have sent the same code again whose exchange had an unknown outcome.
       attempts = 0, rejected_at = NULL, last_error = NULL, request_id = :requestId, traceparent = :traceparent,
       sent_at = CASE WHEN c.state = 'grant_pending' THEN c.sent_at END
     FROM alive WHERE c.uuid = alive.uuid AND (c.state IN ('grant_pending', 'grant_lost', 'no_grant', 'needs_reauth')
       -- A credential that was quarantined before its first tokens held only the old code.
       OR (c.state = 'quarantined' AND c.generation = 0)) RETURNING c.uuid
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'grant_replaced' FROM replaced RETURNING uuid`,
);

/** Stores the grant of a repeated request. Returns `true` if it will be exchanged, `false` if it is not needed. */
export async function receiveGrant(
  { db, vault, pace }: { db: Database; vault: Vault; pace: Pace },
  uuid: string,
  grant: Grant,
  { requestId, traceparent }: Record<"requestId" | "traceparent", string | null>,
): Promise<boolean> {
  const row = await oneRow(db, readGrant, { uuid });
  if (row?.state === "grant_pending" && isSameCode(vault, uuid, row.sealedGrantCode, grant.code))
    return false;
  const exchangeAfterSeconds = pace.exchangeAfterMs / 1_000;
  const { expiresAt } = grant;
  const code = vault.seal(credentialSealContext("sealed_grant_code", uuid), grant.code);
  return anyRow(db, replaceGrant, { uuid, code, expiresAt, requestId, traceparent, exchangeAfterSeconds });
}

function isSameCode(vault: Vault, uuid: string, sealed: Buffer | null, code: Secret): boolean {
  if (!sealed) return false;
  try {
    return vault.open(credentialSealContext("sealed_grant_code", uuid), sealed).reveal() === code.reveal();
  } catch {
    return false;
  }
}

// The service itself requests a replacement for a lost grant with a `due_at`. Until that ends, the asynchronous provision of
// the grant does not fail (resources/end-store.ts).

const MAY_HAVE_ANOTHER = `(c.state IN ('grant_lost', 'no_grant', 'needs_reauth') OR (c.state = 'active' AND c.rejected_at IS NOT NULL))`;

/** SQL condition: the credential `c` of the resource `r`, provisioned or still provisioning, may get another grant. */
export const IS_RECOVERABLE = `(r.state = 'provisioned' AND ${MAY_HAVE_ANOTHER}
  OR r.state = 'provisioning' AND r.answer_status IS NOT NULL AND c.state IN ('grant_lost', 'no_grant'))`;

// Stores a recovered grant. The statement checks the state again, so that two concurrent commands, or a command and a
// repeated provision, store one grant.
const recover = statement<RecoveredGrant, Pick<Credential, "uuid">>("recover_grant").sql(
  `WITH wanted AS (
     -- The lock prevents that the provision fails before this statement commits.
     SELECT r.uuid FROM resources r JOIN credentials c USING (uuid) WHERE r.uuid = :uuid AND ${IS_RECOVERABLE} FOR SHARE OF r
   ), recovered AS (
     -- Tokens are kept until new ones replace them: an access token may still work after its refresh token was refused.
     UPDATE credentials c SET state = 'grant_pending', reason = NULL,
       sealed_grant_code = :sealedGrantCode, grant_expires_at = :grantExpiresAt,
       grant_number = c.grant_number + 1, grant_deadline = now() + interval '${GRANT_SECONDS} seconds',
       -- The platform registered the answer to the provision long ago, so it accepts the code now.
       due_at = now(),
       attempts = 0, outcome_unknown = false, sent_at = NULL, rejected_at = NULL, last_error = NULL
     FROM wanted w WHERE c.uuid = w.uuid AND ${MAY_HAVE_ANOTHER} RETURNING c.uuid
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'grant_recovered' FROM recovered RETURNING uuid`,
);

type RecoveredGrant = Pick<Credential, "uuid" | "sealedGrantCode" | "grantExpiresAt">;

/** Stores a recovered grant. Returns `false`, without storing it, if the credential no longer needs a grant. */
export const storeRecovered = (db: Queryable, grant: RecoveredGrant) => anyRow(db, recover, grant);

const recoverable = statement<Pick<Credential, "uuid">>("is_grant_recoverable").sql(
  `SELECT 1 FROM credentials c JOIN resources r USING (uuid) WHERE c.uuid = :uuid AND ${IS_RECOVERABLE}`,
);
export const isRecoverable = (db: Queryable, uuid: string) => anyRow(db, recoverable, { uuid });

const LOST = columnsOf<Credential>()("c", "uuid", "reason", "requestId");
export type LostGrant = RowOf<typeof LOST>;

/** The pause between two requests for the same lost grant. */
const RETRY_AFTER = "interval '1 minute'";
// No lease is needed: the call ends long before the row is due again.
const claim = statement<object, LostGrant>("claim_lost_grant").sql(
  `UPDATE credentials c SET due_at = now() + ${RETRY_AFTER} WHERE c.uuid = (
     SELECT uuid FROM credentials WHERE state = 'grant_lost' AND due_at <= now()
     ORDER BY due_at, uuid LIMIT 1 FOR UPDATE SKIP LOCKED)
   RETURNING ${LOST}`,
);
/** Claims the lost grant that has been due for longest. */
export const claimLost = (db: Queryable) => oneRow(db, claim);

const nextLost = statement<object, { seconds: number | null }>("next_lost_grant").sql(
  `SELECT extract(epoch FROM min(due_at) - now())::float8 AS seconds FROM credentials WHERE state = 'grant_lost'`,
);
/** Seconds until the next lost grant is to be requested; `null` if none is. */
export const nextLostInSeconds = async (db: Queryable) => (await oneRow(db, nextLost))?.seconds ?? null;

const stop = statement<{ uuid: string | null; error: string | null }, LostGrant>("stop_recovering").sql(
  `UPDATE credentials c SET due_at = NULL, last_error = coalesce(:error, c.last_error)
   WHERE c.state = 'grant_lost' AND c.due_at IS NOT NULL AND c.uuid = coalesce(:uuid, c.uuid)
   RETURNING ${LOST}`,
);
/** Ends the requests for one lost grant, or with `null` for all of them. Returns the grants. */
export const stopRecovering = (db: Queryable, uuid: string | null, error: string | null = null) =>
  db.query(stop, { uuid, error });
