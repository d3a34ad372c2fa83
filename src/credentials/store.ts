import type { ClientSecret, Credential } from "../database/client/client.ts";
import { READS_WHOLE, retryWhileUnreachable, type Database } from "../database/database.ts";
import { areAmong, groupCommit } from "../database/group-commit.ts";
import { anyRow, columnsOf, oneRow, statement, type Queryable, type RowOf } from "../database/statement.ts";
import { PAUSED, whereGone } from "../ledgers/store.ts";
import type { Lease, Owner, State } from "./states.ts";

// Token pairs, and the client secrets that they were issued with.

export interface SealedTokens extends Lease, Pick<Credential, "generation" | "secretVersion"> {
  /** Whether they came from a grant; a refresh keeps the old refresh token if none was sent. */
  first: boolean;
  access: Uint8Array;
  refresh: Uint8Array | null;
  /** The generation whose refresh token the platform has replaced by this one; null: the row's token is still valid. */
  replaces: Credential["generation"] | null;
  lifeSeconds: number;
  share: number;
}

// Tokens that come late are stored where the platform does not issue them again.
//
//   :rows ─▶ credentials: the pair ─▶ of a first pair only:
//                                       steps: those that waited for it are due
//                                       steps: + discover
//                                       events: + tokens_issued
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
       -- The mark is at most a second older than the call.
       issued_at = coalesce(c.sent_at, now()),
       expires_at = coalesce(c.sent_at, now()) + make_interval(secs => i.life_seconds),
       due_at = CASE
         WHEN coalesce(i.refresh, CASE WHEN NOT i.first THEN c.sealed_refresh_token END) IS NULL THEN NULL
         WHEN ${whereGone("c.uuid")} THEN ${PAUSED}
         -- Another client secret was set during the call.
         WHEN i.secret_version < (SELECT max(version) FROM client_secrets) THEN now()
         ELSE coalesce(c.sent_at, now()) + make_interval(secs => i.life_seconds * i.share) END,
       generation = c.generation + 1, lease = c.lease + 1, secret_version = i.secret_version,
       leased_until = NULL, sent_at = NULL, attempts = 0, outcome_unknown = false, rejected_at = NULL,
       last_error = NULL, flags = CASE WHEN i.first AND i.refresh IS NULL THEN '{no_refresh_token}'::text[] ELSE '{}' END
     FROM :rows AS i
     WHERE c.uuid = i.uuid AND (
       (c.lease = i.lease AND c.state IN ('grant_pending', 'active', 'needs_reauth', 'signed_in', 'quarantined'))
       -- Without the lease, the tokens of a grant are stored as long as the row waits for some.
       OR (i.first AND (c.state IN ('grant_pending', 'needs_reauth') OR (c.state = 'quarantined' AND c.sealed_grant_code IS NOT NULL)))
       -- Without the lease, a refresh token that replaced the row's is stored unless another pair was stored since.
       OR (i.replaces = c.generation AND (c.state IN ('active', 'needs_reauth', 'signed_in', 'quarantined')
         OR (c.state = 'needs_sign_in' AND c.reason = 'refresh_token_rejected')))
       -- A failed provision takes no tokens. Its failure clears the deadline, too, because a statement that waited for
       -- that transaction sees the changed credential, but the resource as it was before.
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
// For tokens that were not stored: the same ones may have been stored by a commit whose acknowledgement was lost. No
// two ciphertexts are alike, so a match is ours. A statement of its own, because the one above may have waited for that
// very commit.
const findStored = statement<{ rows: Pick<SealedTokens, "uuid" | "lease" | "access">[] }, Lease>(
  "find_stored_tokens",
  { uuid: "uuid", lease: "int", access: "bytea" },
).sql(
  `SELECT i.uuid, i.lease FROM :rows AS i
   JOIN credentials c ON c.uuid = i.uuid AND c.sealed_access_token = i.access`,
);

/** Stores all pairs that are ready at once, however late. False: another claim came between, or the row is gone. */
export const storeTokens = groupCommit<Queryable, SealedTokens, boolean>({
  async write(db, rows) {
    // Of two pairs for one row, the one of the older lease is late: only the other is written.
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

/** Of resources; with one statement for all who ask at the same moment: dozens of steps run at once. */
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
// One process takes it, whichever is first.
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
     -- A presumed rejection may become a certain one, never the reverse.
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

/** `isNews`: it was not known before. `isCurrent`: no newer version is stored. */
export const rejectSecret = async (db: Queryable, version: number, isPresumed: boolean) =>
  (await oneRow(db, reject, { version, isPresumed }))!;

/** True if it was rejected until now. */
export const acceptSecret = (db: Queryable, version: number) => anyRow(db, accept, { version });

const SECRET = columnsOf<ClientSecret>()("s", "version", "sealedSecret", "hash");
const readAll = statement<object, RowOf<typeof SECRET>>("read_client_secrets").sql(
  `SELECT ${SECRET} FROM client_secrets s ORDER BY s.version`,
);
// Of two processes that bring the same new secret at once, the second finds it stored.
const lock = statement("lock_client_secrets").sql(`LOCK TABLE client_secrets IN SHARE ROW EXCLUSIVE MODE`);
// The version is known before the row is written, because the secret is sealed for it.
const nextVersion = statement<object, Version>("next_secret_version").sql(
  `SELECT nextval(pg_get_serial_sequence('client_secrets', 'version'))::int AS version`,
);
const insert = statement<Pick<ClientSecret, "version" | "sealedSecret" | "hash">>("insert_client_secret").sql(
  `INSERT INTO client_secrets (version, sealed_secret, hash) VALUES (:version, :sealedSecret, :hash)`,
);
// Some grants that an older secret could not exchange have seconds left. A grant that was never tried waits for the
// answer to its provision request.
const wakeGrants = statement("wake_refused_grants").sql(
  `UPDATE credentials SET due_at = now() WHERE uuid = ANY(ARRAY(
     SELECT uuid FROM credentials WHERE state = 'grant_pending' AND attempts > 0 AND due_at > now() FOR UPDATE SKIP LOCKED))`,
);

export type StoredSecret = RowOf<typeof SECRET>;
type SealedSecret = Pick<ClientSecret, "sealedSecret" | "hash">;

/** Stores a new version, and wakes the grants that wait; `seal` gives what to store. Null if `isUnwanted` says so. */
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

// When a new secret is set, exactly the tokens that an older one issued fall due: the reset killed their access tokens.
// A part at a time, so that a million rows neither hold locks for long nor run into a time limit.

const IS_OLDER = `state IN ('active', 'needs_reauth') AND sealed_refresh_token IS NOT NULL
  AND (secret_version IS NULL OR secret_version < :version)` as const;
const IS_LEFT = `${IS_OLDER} AND due_at > now() AND (:isFirst OR attempts = 0)` as const;

/** Of one pass over them. */
type Spread = { version: number; isFirst: boolean };

const readUnspread = statement<object, Spread & { beganAt: string }>("read_unspread_secret").sql(
  `SELECT version, spread_at IS NULL AS "isFirst", now()::text AS "beganAt" FROM client_secrets
   WHERE spread_at IS NULL
     -- The second pass finds the tokens that were locked during the first one, or were stored by a statement that began
     -- before the secret was. It leaves out what has failed since.
     OR (spread_at < created_at + interval '10 seconds' AND created_at < now() - interval '10 seconds')
   ORDER BY version DESC LIMIT 1`,
);
// What was refused with the older secret, and is due already, is tried as if it never had been.
const forgetRefusals = statement<Version, Pick<Credential, "uuid">>("forget_refusals").sql(
  `UPDATE credentials SET attempts = 0, rejected_at = NULL WHERE uuid = ANY(ARRAY(
     SELECT uuid FROM credentials WHERE ${IS_OLDER} AND state = 'active' AND rejected_at IS NOT NULL AND due_at <= now()
     LIMIT 5000 FOR UPDATE SKIP LOCKED)) RETURNING uuid`,
);
const makeDue = statement<Spread, Pick<Credential, "uuid">>("make_older_tokens_due").sql(
  `UPDATE credentials SET due_at = now(), attempts = 0,
     -- A token that was refused for good is tried once more. Another refusal is no news, so \`rejected_at\` stays.
     rejected_at = CASE WHEN state = 'needs_reauth' THEN rejected_at END
   WHERE uuid = ANY(ARRAY(
     SELECT uuid FROM credentials WHERE ${IS_LEFT} ORDER BY due_at LIMIT 5000 FOR UPDATE SKIP LOCKED)) RETURNING uuid`,
);
const markSpread = statement<Spread & { beganAt: string }>("mark_secret_spread").sql(
  `UPDATE client_secrets SET spread_at = :beganAt::timestamptz
   WHERE version <= :version AND (:isFirst::bool OR NOT EXISTS (SELECT FROM credentials WHERE ${IS_LEFT}))`,
);

/** Makes the tokens of older secrets due, if that is still to be done. Returns how many. Ends early with `signal`. */
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

// No index covers this, because every refresh would have to update it; so all rows are read.
const countOlder = statement<Version, { stale: number; waiting: number }>("count_stale_tokens").sql(
  `SELECT count(*)::int AS stale, count(*) FILTER (WHERE state = 'active' AND due_at IS NOT NULL AND rejected_at IS NULL)::int AS waiting
   FROM credentials WHERE ${IS_OLDER}`,
);

/** The token pairs that an older secret issued, and those of them that are to be refreshed and were not refused. */
export const countStale = (db: Database, version: number) =>
  retryWhileUnreachable(async () => (await db.readWhole(countOlder, { version }))[0]!, READS_WHOLE);
