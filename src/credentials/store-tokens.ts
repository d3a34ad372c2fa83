import { statement, type Queryable } from "../database/database.ts";
import { createGroupCommit } from "../database/group-commit.ts";
import { BESIDE_CALLS } from "./beside-calls.ts";
import { areAmong, type Lease } from "./lease.ts";

// Success. The lease decides, except for tokens that cannot be issued again: those of a grant are stored without it as
// long as the row still waits for some, and a refresh token that replaced the row's, as long as the row's generation is
// still the replaced one. A failed provision takes no tokens: its failure clears the deadline of its lost grant, which
// this statement sees even if it began before the failure and waited for it. A first pair also wakes the steps that
// waited for it and inserts a `discover` step. The token's life is counted from the mark, at most a second before the
// call; tokens that an older client secret issued while a newer one was set are due at once.
const storeTokens = statement(
  "store_tokens",
  `WITH incoming AS (
     SELECT * FROM unnest($1::uuid[], $2::int[], $3::bool[], $4::bytea[], $5::bytea[], $6::float8[], $7::float8[], $8::int[], $9::text[], $10::int[])
       AS i(uuid, lease, first, access, refresh, life, share, secret_version, flags, replaces)
   ), stored AS (
     UPDATE credentials c SET
       state = 'active', reason = NULL,
       sealed_grant_code = NULL, grant_deadline = NULL, grant_expires_at = NULL,
       sealed_access_token = i.access,
       sealed_refresh_token = coalesce(i.refresh, CASE WHEN NOT i.first THEN c.sealed_refresh_token END),
       issued_at = coalesce(c.sent_at, now()),
       expires_at = coalesce(c.sent_at, now()) + make_interval(secs => i.life),
       due_at = CASE
         WHEN coalesce(i.refresh, CASE WHEN NOT i.first THEN c.sealed_refresh_token END) IS NULL THEN NULL
         WHEN i.secret_version < (SELECT max(version) FROM client_secrets) THEN now()
         ELSE coalesce(c.sent_at, now()) + make_interval(secs => i.life * i.share) END,
       generation = c.generation + 1, lease = c.lease + 1, secret_version = i.secret_version,
       leased_until = NULL, sent_at = NULL, attempts = 0, outcome_unknown = false, rejected_at = NULL,
       last_error = NULL, flags = array_remove(string_to_array(i.flags, ','), '')
     FROM incoming i
     WHERE c.uuid = i.uuid AND (
       (c.lease = i.lease AND c.state IN ('grant_pending', 'active', 'needs_reauth', 'quarantined'))
       OR (i.first AND (c.state IN ('grant_pending', 'needs_reauth') OR (c.state = 'quarantined' AND c.sealed_grant_code IS NOT NULL)))
       OR (i.replaces = c.generation AND c.state IN ('active', 'needs_reauth', 'quarantined'))
       OR (i.first AND c.state = 'grant_lost' AND c.grant_deadline IS NOT NULL AND NOT EXISTS (
         SELECT 1 FROM resources r WHERE r.uuid = c.uuid AND r.state = 'failed')))
     RETURNING c.uuid, i.lease, i.first, c.request_id
   ), woken AS (
     UPDATE steps s SET due_at = now() FROM stored WHERE s.uuid = stored.uuid AND stored.first AND s.due_at IS NULL
   ), discovery AS (
     INSERT INTO steps (uuid, kind, due_at, request_id) SELECT uuid, 'discover', now(), request_id FROM stored WHERE first
   ), told AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'tokens_issued' FROM stored WHERE first
   )
   SELECT uuid, lease FROM stored`,
);

// For tokens that were not stored: the same ones may have been stored by a commit whose acknowledgement was lost. No
// two ciphertexts are alike, so a match is ours. A statement of its own, because the one above may have waited for that
// very commit.
const findStored = statement(
  "find_stored_tokens",
  `SELECT i.uuid, i.lease FROM unnest($1::uuid[], $2::int[], $3::bytea[]) AS i(uuid, lease, access)
   JOIN credentials c ON c.uuid = i.uuid AND c.sealed_access_token = i.access`,
);

/** Sealed tokens on their way into a row. */
export interface SealedTokens extends Lease {
  /** Whether they came from a grant; a refresh keeps the old refresh token if none was sent. */
  first: boolean;
  access: Uint8Array;
  refresh: Uint8Array | null;
  /** The generation whose refresh token the platform has replaced by this one; null: the row's token is still valid. */
  replaces: number | null;
  lifeSeconds: number;
  share: number;
  secretVersion: number;
  flags: readonly string[];
}

/** Stores tokens, with one statement for all rows that are ready at the same moment. */
export function createStoreTokens(db: Queryable): (tokens: SealedTokens) => Promise<boolean> {
  // Stored however late, even if the caller has given up: these rows must never have a `deadlineOf`.
  return createGroupCommit<SealedTokens, boolean>({
    ...BESIDE_CALLS,
    async write(rows) {
      const stored = await db.query<Lease>(storeTokens, columnsOf(newestOfEachRow(rows)));
      const isStored = areAmong(rows, stored);
      const others = rows.filter((_, i) => !isStored[i]);
      if (others.length === 0) return isStored;
      return areAmong(rows, [...stored, ...(await storedBefore(db, others))]);
    },
  });
}

/** Of two pairs for one row, the one of the older lease is late: only the other is written. */
function newestOfEachRow(rows: readonly SealedTokens[]): SealedTokens[] {
  const newest = new Map<string, SealedTokens>();
  for (const row of rows) if ((newest.get(row.uuid)?.lease ?? -1) < row.lease) newest.set(row.uuid, row);
  return [...newest.values()];
}

function columnsOf(rows: readonly SealedTokens[]): unknown[] {
  return [
    rows.map((row) => row.uuid),
    rows.map((row) => row.lease),
    rows.map((row) => row.first),
    rows.map((row) => row.access),
    rows.map((row) => row.refresh),
    rows.map((row) => row.lifeSeconds),
    rows.map((row) => row.share),
    rows.map((row) => row.secretVersion),
    rows.map((row) => row.flags.join(",")),
    rows.map((row) => row.replaces),
  ];
}

function storedBefore(db: Queryable, rows: readonly SealedTokens[]): Promise<Lease[]> {
  return db.query<Lease>(findStored, [
    rows.map(({ uuid }) => uuid),
    rows.map(({ lease }) => lease),
    rows.map(({ access }) => access),
  ]);
}
