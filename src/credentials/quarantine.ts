import { createApplies, statement, type Queryable } from "../database/database.ts";
import { keyIdInSql } from "../vault/key-id-in-sql.ts";

// Only while the row holds what did not open: another process may have stored a fresh pair, or another code, meanwhile.
const quarantine = statement(
  "quarantine",
  `WITH put_aside AS (
     UPDATE credentials SET state = 'quarantined', reason = $3, due_at = NULL, leased_until = NULL, sent_at = NULL
     WHERE uuid = $1 AND ($2::int IS NULL OR lease = $2) AND state NOT IN ('erased', 'quarantined')
       AND ($4::bytea IS NULL OR $4 IN (sealed_grant_code, sealed_access_token, sealed_refresh_token)) RETURNING uuid
   ), told AS (
     INSERT INTO events (uuid, type, detail) SELECT uuid, 'quarantined', jsonb_build_object('reason', $3::text) FROM put_aside
   )
   SELECT uuid FROM put_aside`,
);

// When a key is back in the ring, what the row holds says which state it had. So many at a time that no time limit is
// near: a process that lacked a key for a while may have quarantined many thousands.
const MOST_REOPENED = 1_000;
const reopen = statement(
  "reopen_quarantined",
  `WITH reopened AS (
     UPDATE credentials SET reason = NULL,
       due_at = CASE WHEN sealed_grant_code IS NOT NULL OR sealed_refresh_token IS NOT NULL THEN now() END,
       state = CASE WHEN sealed_grant_code IS NULL THEN 'active' ELSE 'grant_pending' END
     WHERE state = 'quarantined' AND uuid = ANY(ARRAY(
       SELECT uuid FROM credentials WHERE state = 'quarantined' AND reason = 'key_missing' AND NOT EXISTS (
         SELECT 1 FROM unnest(ARRAY[sealed_grant_code, sealed_access_token, sealed_refresh_token]) AS sealed
         WHERE sealed IS NOT NULL AND ${keyIdInSql("sealed")} <> ALL ($1::text[]))
       LIMIT ${MOST_REOPENED}))
     RETURNING uuid
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'reopened' FROM reopened RETURNING uuid`,
);

/** Puts rows aside whose secrets do not open, and takes them back. */
export function createQuarantine(db: Queryable) {
  const applies = createApplies(db);
  return {
    /**
     * Quarantines a row whose secret `sealed` does not open (null: which lacks a secret it should hold); without a
     * lease, whichever process holds the row. False: it was quarantined already, or holds something else by now.
     */
    quarantine: (
      { uuid, lease }: { uuid: string; lease?: number },
      sealed: Uint8Array | null,
      reason: string,
    ) => applies(quarantine, [uuid, lease ?? null, reason, sealed]),
    /** Reopens rows whose missing keys are in the ring now; returns their uuids. */
    reopen: async (keyIds: readonly string[]) =>
      (await db.query<{ uuid: string }>(reopen, [keyIds])).map(({ uuid }) => uuid),
  };
}
