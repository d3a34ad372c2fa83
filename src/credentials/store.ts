import type { Credential } from "../database/client/client.ts";
import { areAmong, groupCommit } from "../database/group-commit.ts";
import { columnsOf, type Queryable, type RowOf, statement } from "../database/statement.ts";
import { PAUSED, whereGone } from "../ledgers/store.ts";
import { keyIdInSql } from "../vault/vault.ts";
import type { Lease, Owner, State } from "./states.ts";

// Stores and reads token pairs.

export interface SealedTokens extends Lease, Pick<Credential, "generation" | "secretVersion"> {
  /** The tokens came from a grant. Tokens of a refresh keep the row's refresh token if they bring none. */
  first: boolean;
  access: Uint8Array;
  refresh: Uint8Array | null;
  /** The generation whose refresh token the platform has replaced; `null` if the row's token is still valid. */
  replaces: Credential["generation"] | null;
  lifeSeconds: number;
  share: number;
}

// Stores token pairs. For the first pair of a grant it also makes the waiting steps due, and writes a discover step and an
// event. Tokens that arrive after their lease was lost are stored if the platform does not issue them twice.
const storePairs = statement<{ rows: Omit<SealedTokens, "generation">[] }, Lease>("store_tokens", {
  uuid: "uuid",
  lease: "int",
  first: "bool",
  access: "bytea",
  refresh: "bytea",
  lifeSeconds: "float8",
  share: "float8",
  secretVersion: "int",
  replaces: "int",
}).sql(
  `WITH stored AS (
     UPDATE credentials c SET
       state = CASE c.owner WHEN 'person' THEN 'signed_in' ELSE 'active' END, reason = NULL,
       sealed_grant_code = NULL, grant_deadline = NULL, grant_expires_at = NULL,
       sealed_access_token = i.access,
       sealed_refresh_token = coalesce(i.refresh, CASE WHEN NOT i.first THEN c.sealed_refresh_token END),
       -- sent_at is at most a second older than the call.
       issued_at = coalesce(c.sent_at, now()),
       expires_at = coalesce(c.sent_at, now()) + make_interval(secs => i.life_seconds),
       due_at = CASE
         WHEN coalesce(i.refresh, CASE WHEN NOT i.first THEN c.sealed_refresh_token END) IS NULL THEN NULL
         WHEN ${whereGone("c.uuid")} THEN ${PAUSED}
         -- A newer client secret was set during the call.
         WHEN i.secret_version < (SELECT max(version) FROM client_secrets) THEN now()
         ELSE coalesce(c.sent_at, now()) + make_interval(secs => i.life_seconds * i.share) END,
       generation = c.generation + 1, lease = c.lease + 1, secret_version = i.secret_version,
       leased_until = NULL, sent_at = NULL, attempts = 0, outcome_unknown = false, rejected_at = NULL,
       last_error = NULL, flags = CASE WHEN i.first AND i.refresh IS NULL THEN '{no_refresh_token}'::text[] ELSE '{}' END
     FROM :rows AS i
     WHERE c.uuid = i.uuid AND (
       (c.lease = i.lease AND c.state IN ('grant_pending', 'active', 'needs_reauth', 'signed_in', 'quarantined'))
       -- Lease lost: the tokens of a grant are stored while the row still waits for tokens.
       OR (i.first AND (c.state IN ('grant_pending', 'needs_reauth') OR (c.state = 'quarantined' AND c.sealed_grant_code IS NOT NULL)))
       -- Lease lost: a refresh token that replaced the row's is stored unless another pair was stored since.
       OR (i.replaces = c.generation AND (c.state IN ('active', 'needs_reauth', 'signed_in', 'quarantined')
         OR (c.state = 'needs_sign_in' AND c.reason = 'refresh_token_rejected')))
       -- A lost grant of a failed provision takes no tokens. The deadline is checked too, because a statement that waited for
       -- the failing transaction sees the new credential row but the old resource row. The failure clears the deadline.
       OR (i.first AND c.state = 'grant_lost' AND c.grant_deadline IS NOT NULL AND NOT EXISTS (
         SELECT 1 FROM resources r WHERE r.uuid = c.uuid AND r.state = 'failed')))
     RETURNING c.uuid, i.lease, i.first, c.request_id, c.traceparent
   ), woken AS (
     UPDATE steps s SET due_at = now() FROM stored WHERE s.uuid = stored.uuid AND stored.first AND s.due_at IS NULL
   ), discovery AS (
     INSERT INTO steps (uuid, kind, due_at, request_id, traceparent)
     SELECT uuid, 'discover', now(), request_id, traceparent FROM stored WHERE first
   ), noted AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'tokens_issued' FROM stored WHERE first
   )
   SELECT uuid, lease FROM stored`,
);
// Finds tokens that an earlier attempt has stored whose acknowledgement was lost. Ciphertexts are unique, so an equal
// ciphertext is from that attempt. A separate statement, because the snapshot of store_tokens may be older than that commit.
const findStored = statement<{ rows: Pick<SealedTokens, "uuid" | "lease" | "access">[] }, Lease>(
  "find_stored_tokens",
  { uuid: "uuid", lease: "int", access: "bytea" },
).sql(
  `SELECT i.uuid, i.lease FROM :rows AS i
   JOIN credentials c ON c.uuid = i.uuid AND c.sealed_access_token = i.access`,
);

/** Stores a token pair, even late. Returns `false` if the row was claimed by another process or has ended. */
export const storeTokens = groupCommit<Queryable, SealedTokens, boolean>({
  async write(db, rows) {
    // Of two pairs for one row, only that of the newer lease is written.
    const byLease = rows.toSorted((one, other) => one.lease - other.lease);
    const newest = [...new Map(byLease.map((row) => [row.uuid, row])).values()];
    const stored = await db.query(storePairs, { rows: newest });
    const isStored = areAmong(rows, stored);
    const others = rows.filter((_, i) => !isStored[i]);
    if (others.length === 0) return isStored;
    return areAmong(rows, [...stored, ...(await db.query(findStored, { rows: others }))]);
  },
});

const PAIR = columnsOf<Credential>()(
  "c",
  "uuid",
  "lease",
  "owner",
  "state",
  "generation",
  "sealedAccessToken",
);

export interface TokenRow extends RowOf<typeof PAIR> {
  owner: Owner;
  state: State;
  isExpired: boolean;
  canRefresh: boolean;
}

const readPairs = statement<{ uuids: string[] }, TokenRow>("read_tokens").sql(
  `SELECT ${PAIR}, coalesce(c.expires_at <= now(), true) AS "isExpired",
     c.state = 'active' AND c.sealed_refresh_token IS NOT NULL AS "canRefresh"
   FROM credentials c WHERE c.uuid = ANY(:uuids::uuid[]) AND c.owner = 'resource'`,
);

/** Reads a resource's tokens. One statement serves all callers of the same moment, because dozens of steps run at once. */
export const readTokens = groupCommit<Queryable, string, TokenRow | undefined>({
  async write(db, uuids) {
    const byUuid = new Map((await db.query(readPairs, { uuids })).map((row) => [row.uuid, row]));
    return uuids.map((uuid) => byUuid.get(uuid));
  },
});

// Reopens rows whose key is in the ring again. The values in the row show its former state. At most 1000 rows at a time,
// far from the statement's time limit: a process without a key may have quarantined many thousands.
const reopen = statement<{ keyIds: readonly string[] }, { uuid: string; owner: Owner }>(
  "reopen_quarantined",
).sql(
  `WITH reopened AS (
     UPDATE credentials SET reason = NULL,
       due_at = CASE WHEN sealed_grant_code IS NOT NULL OR sealed_refresh_token IS NOT NULL THEN now() END,
       state = CASE WHEN owner = 'person' THEN 'signed_in' WHEN sealed_grant_code IS NULL THEN 'active' ELSE 'grant_pending' END
     WHERE state = 'quarantined' AND uuid = ANY(ARRAY(
       SELECT uuid FROM credentials WHERE state = 'quarantined' AND reason = 'key_missing' AND NOT EXISTS (
         SELECT 1 FROM unnest(ARRAY[sealed_grant_code, sealed_access_token, sealed_refresh_token]) AS sealed
         WHERE sealed IS NOT NULL AND ${keyIdInSql("sealed")} <> ALL (:keyIds::text[]))
       LIMIT 1000))
     RETURNING uuid, owner
   ), noted AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'reopened' FROM reopened WHERE owner = 'resource'
   )
   SELECT uuid, owner FROM reopened`,
);

export const reopenSome = (db: Queryable, keyIds: readonly string[]) => db.query(reopen, { keyIds });
