import { GRANT_SECONDS } from "../credentials/states.ts";
import type { Credential } from "../database/client/client.ts";
import type { Database } from "../database/database.ts";
import { anyRow, columnsOf, oneRow, type RowOf, statement } from "../database/statement.ts";
import type { Pace } from "../pace.ts";
import type { Secret } from "../secret.ts";
import { credentialSealContext, type Vault } from "../vault/vault.ts";
import type { Grant } from "./rows.ts";

// Stores the new grant that a repeated provision brings.

export const sealCode = (vault: Vault, uuid: string, code: Secret) =>
  vault.seal(credentialSealContext("sealed_grant_code", uuid), code);

const GRANT_COLUMNS = columnsOf<Credential>()("c", "state", "sealedGrantCode");
const readGrant = statement<{ uuid: string }, RowOf<typeof GRANT_COLUMNS>>("read_grant").sql(
  `SELECT ${GRANT_COLUMNS} FROM credentials c WHERE c.uuid = :uuid`,
);

type NewGrant = Record<"requestId" | "traceparent", string | null> & {
  uuid: string;
  code: Uint8Array;
  expiresAt: Date | null;
  exchangeAfterSeconds: number;
};
// A new code replaces a code that was not exchanged, or a refresh token that was given up. Its five minutes start now.
// Tokens that work are kept.
const replaceGrant = statement<NewGrant, { uuid: string }>("replace_grant").sql(
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
  const code = sealCode(vault, uuid, grant.code);
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
