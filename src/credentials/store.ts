import type { ClientSecret, Credential } from "../database/client/client.ts";
import { type Database, READS_WHOLE } from "../database/database.ts";
import { areAmong, groupCommit } from "../database/group-commit.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import { anyRow, columnsOf, oneRow, type Queryable, type RowOf, statement } from "../database/statement.ts";
import { PAUSED, whereGone } from "../ledgers/store.ts";
import type { Lease, Owner, State } from "./states.ts";

// Token pairs and client secrets.

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

type Version = Pick<ClientSecret, "version">;

const CURRENT = columnsOf<ClientSecret>()("s", "version", "sealedSecret");
const readSecret = statement<object, RowOf<typeof CURRENT> & { isRejected: boolean; isPresumed: boolean }>(
  "read_client_secret",
).sql(
  `SELECT ${CURRENT}, s.rejected_at IS NOT NULL AS "isRejected",
     s.rejected_at IS NOT NULL AND s.is_presumed AS "isPresumed"
   FROM client_secrets s ORDER BY s.version DESC LIMIT 1`,
);
// The row lock gives the probe to one process.
const takeProbe = statement<Version, Version>("take_secret_probe").sql(
  `UPDATE client_secrets SET probe_at = now() + interval '60 seconds'
   WHERE version = :version AND rejected_at IS NOT NULL AND probe_at <= now() RETURNING version`,
);
const reject = statement<
  Pick<ClientSecret, "version" | "isPresumed">,
  { isNews: boolean; isCurrent: boolean | null }
>("reject_client_secret").sql(
  `WITH turned AS (
     UPDATE client_secrets SET rejected_at = now(), is_presumed = :isPresumed,
       probe_at = now() + CASE WHEN :isPresumed THEN interval '0' ELSE interval '60 seconds' END
     -- A presumed rejection may become a certain one, but not the reverse.
     WHERE version = :version AND (rejected_at IS NULL OR (is_presumed AND NOT :isPresumed::bool)) RETURNING version
   )
   SELECT EXISTS (SELECT 1 FROM turned) AS "isNews", max(version) = :version AS "isCurrent" FROM client_secrets`,
);
const accept = statement<Version, Version>("accept_client_secret").sql(
  `UPDATE client_secrets SET rejected_at = NULL, is_presumed = false, probe_at = NULL
   WHERE version = :version AND rejected_at IS NOT NULL RETURNING version`,
);

export const readClientSecret = (db: Queryable) => oneRow(db, readSecret);

export const takeSecretProbe = (db: Queryable, version: number) => anyRow(db, takeProbe, { version });

/** Stores a rejection. `isNews`: this call stored it first. `isCurrent`: no newer version is stored. */
export const rejectSecret = async (db: Queryable, version: number, isPresumed: boolean) =>
  (await oneRow(db, reject, { version, isPresumed }))!;

/** Clears a rejection. Returns `true` if the secret was rejected until now. */
export const acceptSecret = (db: Queryable, version: number) => anyRow(db, accept, { version });

const SECRET = columnsOf<ClientSecret>()("s", "version", "sealedSecret", "hash");
const readAll = statement<object, RowOf<typeof SECRET>>("read_client_secrets").sql(
  `SELECT ${SECRET} FROM client_secrets s ORDER BY s.version`,
);
// If two processes import the same new secret at once, the second waits for the lock and finds the secret stored.
const lock = statement("lock_client_secrets").sql(`LOCK TABLE client_secrets IN SHARE ROW EXCLUSIVE MODE`);
// The version is drawn before the row is written, because the secret is sealed for its version.
const nextVersion = statement<object, Version>("next_secret_version").sql(
  `SELECT nextval(pg_get_serial_sequence('client_secrets', 'version'))::int AS version`,
);
const insert = statement<Pick<ClientSecret, "version" | "sealedSecret" | "hash">>("insert_client_secret").sql(
  `INSERT INTO client_secrets (version, sealed_secret, hash) VALUES (:version, :sealedSecret, :hash)`,
);
// Grants that the older secret could not exchange may have seconds left. A grant without an attempt is left out: it may
// wait for the answer to its provision.
const wakeGrants = statement("wake_refused_grants").sql(
  `UPDATE credentials SET due_at = now() WHERE uuid = ANY(ARRAY(
     SELECT uuid FROM credentials WHERE state = 'grant_pending' AND attempts > 0 AND due_at > now() FOR UPDATE SKIP LOCKED))`,
);

export type StoredSecret = RowOf<typeof SECRET>;
type SealedSecret = Pick<ClientSecret, "sealedSecret" | "hash">;

/** Stores a new version and makes waiting grants due. Returns `null` if `isUnwanted` rejects the stored versions. */
export function addSecret(
  db: Database,
  seal: (version: number) => SealedSecret,
  isUnwanted: (stored: readonly StoredSecret[]) => boolean,
): Promise<number | null> {
  return db.transaction(async (tx) => {
    await tx.query(lock);
    if (isUnwanted(await tx.query(readAll))) return null;
    const { version } = (await oneRow(tx, nextVersion))!;
    const { sealedSecret, hash } = seal(version);
    await tx.query(insert, { version, sealedSecret, hash });
    await tx.query(wakeGrants);
    return version;
  });
}

// A new client secret makes the tokens due that an older one issued, because the reset ended their access tokens. 5000 rows
// at a time, so that a million rows neither hold locks for long nor exceed a time limit.

const IS_OLDER = `state IN ('active', 'needs_reauth') AND sealed_refresh_token IS NOT NULL
  AND (secret_version IS NULL OR secret_version < :version)` as const;
const IS_LEFT = `${IS_OLDER} AND due_at > now() AND (:isFirst OR attempts = 0)` as const;

/** One pass over the tokens of older secrets. */
type Spread = { version: number; isFirst: boolean };

const readUnspread = statement<object, Spread & { beganAt: string }>("read_unspread_secret").sql(
  `SELECT version, spread_at IS NULL AS "isFirst", now()::text AS "beganAt" FROM client_secrets
   WHERE spread_at IS NULL
     -- The second pass finds tokens that were locked during the first pass, or were stored by a statement that began before
     -- the secret was stored. It leaves out tokens whose refresh has failed since.
     OR (spread_at < created_at + interval '10 seconds' AND created_at < now() - interval '10 seconds')
   ORDER BY version DESC LIMIT 1`,
);
// Clears the refusals of due tokens: they were refused with the older secret.
const forgetRefusals = statement<Version, Pick<Credential, "uuid">>("forget_refusals").sql(
  `UPDATE credentials SET attempts = 0, rejected_at = NULL WHERE uuid = ANY(ARRAY(
     SELECT uuid FROM credentials WHERE ${IS_OLDER} AND state = 'active' AND rejected_at IS NOT NULL AND due_at <= now()
     LIMIT 5000 FOR UPDATE SKIP LOCKED)) RETURNING uuid`,
);
const makeDue = statement<Spread, Pick<Credential, "uuid">>("make_older_tokens_due").sql(
  `UPDATE credentials SET due_at = now(), attempts = 0,
     -- A token that was refused for good gets one more attempt. Its \`rejected_at\` stays, so another refusal is not reported.
     rejected_at = CASE WHEN state = 'needs_reauth' THEN rejected_at END
   WHERE uuid = ANY(ARRAY(
     SELECT uuid FROM credentials WHERE ${IS_LEFT} ORDER BY due_at LIMIT 5000 FOR UPDATE SKIP LOCKED)) RETURNING uuid`,
);
const markSpread = statement<Spread & { beganAt: string }>("mark_secret_spread").sql(
  `UPDATE client_secrets SET spread_at = :beganAt::timestamptz
   WHERE version <= :version AND (:isFirst::bool OR NOT EXISTS (SELECT FROM credentials WHERE ${IS_LEFT}))`,
);

/** Makes the tokens of older secrets due unless that is done. Returns how many. `signal` ends it between two batches. */
export async function makeOlderTokensDue(db: Queryable, signal?: AbortSignal): Promise<number> {
  const unspread = await oneRow(db, readUnspread);
  if (!unspread) return 0;
  const { version, isFirst } = unspread;
  let due = 0;
  for (let rows = isFirst ? -1 : 0; rows !== 0;) {
    if (signal?.aborted) return due;
    rows = (await db.query(forgetRefusals, { version })).length;
  }
  for (let rows = -1; rows !== 0; due += rows) {
    if (signal?.aborted) return due;
    rows = (await db.query(makeDue, { version, isFirst })).length;
  }
  await db.query(markSpread, unspread);
  return due;
}

// Reads all rows. An index would have to be updated at every refresh.
const countOlder = statement<Version, { stale: number; waiting: number }>("count_stale_tokens").sql(
  `SELECT count(*)::int AS stale, count(*) FILTER (WHERE state = 'active' AND due_at IS NOT NULL AND rejected_at IS NULL)::int AS waiting
   FROM credentials WHERE ${IS_OLDER}`,
);

/** `stale`: the pairs that an older secret issued. `waiting`: those of them that wait for a refresh without a refusal. */
export const countStale = (db: Database, version: number) =>
  retryWhileUnreachable(async () => (await db.readWhole(countOlder, { version }))[0]!, READS_WHOLE);
