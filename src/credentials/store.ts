import {
  READS_WHOLE,
  retryWhileUnreachable,
  statement,
  type Database,
  type Queryable,
} from "../database/database.ts";
import { areAmong, groupCommit } from "../database/group-commit.ts";
import { PAUSED, whereGone } from "../ledgers/store.ts";
import type { Lease, Owner, State } from "./states.ts";

// Token pairs, and the client secrets that they were issued with.

// The lease decides, except for tokens that cannot be issued again: those of a grant are stored without it as long as
// the row still waits for some, and a refresh token that replaced the row's, as long as the row's generation is still
// the replaced one. A failed provision takes no tokens: its failure clears the deadline of its lost grant, which this
// statement sees even if it began before the failure and waited for it. A first pair also wakes the steps that waited
// for it and inserts a `discover` step. The token's life is counted from the mark, at most a second before the call;
// tokens that an older client secret issued while a newer one was set are due at once.
const storePairs = statement(
  "store_tokens",
  `WITH incoming AS (
     SELECT * FROM unnest($1::uuid[], $2::int[], $3::bool[], $4::bytea[], $5::bytea[], $6::float8[], $7::float8[], $8::int[], $9::int[])
       AS i(uuid, lease, first, access, refresh, life, share, secret_version, replaces)
   ), stored AS (
     UPDATE credentials c SET
       state = CASE c.owner WHEN 'person' THEN 'signed_in' ELSE 'active' END, reason = NULL,
       sealed_grant_code = NULL, grant_deadline = NULL, grant_expires_at = NULL,
       sealed_access_token = i.access,
       sealed_refresh_token = coalesce(i.refresh, CASE WHEN NOT i.first THEN c.sealed_refresh_token END),
       issued_at = coalesce(c.sent_at, now()),
       expires_at = coalesce(c.sent_at, now()) + make_interval(secs => i.life),
       due_at = CASE
         WHEN coalesce(i.refresh, CASE WHEN NOT i.first THEN c.sealed_refresh_token END) IS NULL THEN NULL
         WHEN ${whereGone("c.uuid")} THEN ${PAUSED}
         WHEN i.secret_version < (SELECT max(version) FROM client_secrets) THEN now()
         ELSE coalesce(c.sent_at, now()) + make_interval(secs => i.life * i.share) END,
       generation = c.generation + 1, lease = c.lease + 1, secret_version = i.secret_version,
       leased_until = NULL, sent_at = NULL, attempts = 0, outcome_unknown = false, rejected_at = NULL,
       last_error = NULL, flags = CASE WHEN i.first AND i.refresh IS NULL THEN '{no_refresh_token}'::text[] ELSE '{}' END
     FROM incoming i
     WHERE c.uuid = i.uuid AND (
       (c.lease = i.lease AND c.state IN ('grant_pending', 'active', 'needs_reauth', 'signed_in', 'quarantined'))
       OR (i.first AND (c.state IN ('grant_pending', 'needs_reauth') OR (c.state = 'quarantined' AND c.sealed_grant_code IS NOT NULL)))
       OR (i.replaces = c.generation AND (c.state IN ('active', 'needs_reauth', 'signed_in', 'quarantined')
         OR (c.state = 'needs_sign_in' AND c.reason = 'refresh_token_rejected')))
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
const findStored = statement(
  "find_stored_tokens",
  `SELECT i.uuid, i.lease FROM unnest($1::uuid[], $2::int[], $3::bytea[]) AS i(uuid, lease, access)
   JOIN credentials c ON c.uuid = i.uuid AND c.sealed_access_token = i.access`,
);

export interface SealedTokens extends Lease {
  /** Whether they came from a grant; a refresh keeps the old refresh token if none was sent. */
  first: boolean;
  access: Uint8Array;
  refresh: Uint8Array | null;
  /** That of the row when it was claimed. */
  generation: number;
  /** The generation whose refresh token the platform has replaced by this one; null: the row's token is still valid. */
  replaces: number | null;
  lifeSeconds: number;
  share: number;
  /** Of the partner's client secret; null for a person's pair. */
  secretVersion: number | null;
}

/** In the order of the statement's parameters. */
const COLUMNS = [
  ...(["uuid", "lease", "first", "access", "refresh"] as const),
  ...(["lifeSeconds", "share", "secretVersion", "replaces"] as const),
];

/** Stores all pairs that are ready at once, however late. False: another claim came between, or the row is gone. */
export const storeTokens = groupCommit<Queryable, SealedTokens, boolean>({
  async write(db, rows) {
    // Of two pairs for one row, the one of the older lease is late: only the other is written.
    const byLease = rows.toSorted((one, other) => one.lease - other.lease);
    const newest = [...new Map(byLease.map((row) => [row.uuid, row])).values()];
    const stored = await db.query<Lease>(
      storePairs,
      COLUMNS.map((column) => newest.map((row) => row[column])),
    );
    const isStored = areAmong(rows, stored);
    const others = rows.filter((_, i) => !isStored[i]);
    if (others.length === 0) return isStored;
    const values = (["uuid", "lease", "access"] as const).map((column) => others.map((row) => row[column]));
    return areAmong(rows, [...stored, ...(await db.query<Lease>(findStored, values))]);
  },
});

const readPairs = statement(
  "read_tokens",
  `SELECT uuid, lease, owner, state, generation, sealed_access_token AS "sealedAccessToken",
     coalesce(expires_at <= now(), true) AS "isExpired",
     state = 'active' AND sealed_refresh_token IS NOT NULL AS "canRefresh"
   FROM credentials WHERE uuid = ANY($1::uuid[]) AND owner = 'resource'`,
);

export interface TokenRow extends Lease {
  owner: Owner;
  state: State;
  sealedAccessToken: Buffer | null;
  isExpired: boolean;
  canRefresh: boolean;
  generation: number;
}

/** Of resources; with one statement for all who ask at the same moment: dozens of steps run at once. */
export const readTokens = groupCommit<Queryable, string, TokenRow | undefined>({
  async write(db, uuids) {
    const byUuid = new Map((await db.query<TokenRow>(readPairs, [uuids])).map((row) => [row.uuid, row]));
    return uuids.map((uuid) => byUuid.get(uuid));
  },
});

const readSecret = statement(
  "read_client_secret",
  `SELECT version, sealed_secret AS sealed, rejected_at IS NOT NULL AS "isRejected",
     rejected_at IS NOT NULL AND is_presumed AS "isPresumed"
   FROM client_secrets ORDER BY version DESC LIMIT 1`,
);
// One process takes it, whichever is first.
const takeProbe = statement(
  "take_secret_probe",
  `UPDATE client_secrets SET probe_at = now() + interval '60 seconds'
   WHERE version = $1 AND rejected_at IS NOT NULL AND probe_at <= now() RETURNING version`,
);
// A presumed rejection may become a certain one, never the reverse.
const reject = statement(
  "reject_client_secret",
  `WITH turned AS (
     UPDATE client_secrets SET rejected_at = now(), is_presumed = $2,
       probe_at = now() + CASE WHEN $2 THEN interval '0' ELSE interval '60 seconds' END
     WHERE version = $1 AND (rejected_at IS NULL OR (is_presumed AND NOT $2::bool)) RETURNING version
   )
   SELECT EXISTS (SELECT 1 FROM turned) AS "isNews", max(version) = $1 AS "isCurrent" FROM client_secrets`,
);
const accept = statement(
  "accept_client_secret",
  `UPDATE client_secrets SET rejected_at = NULL, is_presumed = false, probe_at = NULL
   WHERE version = $1 AND rejected_at IS NOT NULL RETURNING version`,
);

type StoredSecret = { version: number; sealed: Buffer; isRejected: boolean; isPresumed: boolean };

export const readClientSecret = async (db: Queryable) =>
  (await db.query<StoredSecret>(readSecret))[0] ?? null;

export const takeSecretProbe = async (db: Queryable, version: number) =>
  (await db.query(takeProbe, [version])).length > 0;

/** `isNews`: it was not known before. `isCurrent`: no newer version is stored. */
export const rejectSecret = async (db: Queryable, version: number, isPresumed: boolean) =>
  (await db.query<{ isNews: boolean; isCurrent: boolean | null }>(reject, [version, isPresumed]))[0]!;

/** True if it was rejected until now. */
export const acceptSecret = async (db: Queryable, version: number) =>
  (await db.query(accept, [version])).length > 0;

const readAll = statement(
  "read_client_secrets",
  `SELECT version, sealed_secret AS "sealed", hash FROM client_secrets ORDER BY version`,
);
// Of two processes that bring the same new secret at once, the second finds it stored.
const lock = statement("lock_client_secrets", `LOCK TABLE client_secrets IN SHARE ROW EXCLUSIVE MODE`);
const nextVersion = statement(
  "next_secret_version",
  `SELECT nextval(pg_get_serial_sequence('client_secrets', 'version'))::int AS version`,
);
const insert = statement(
  "insert_client_secret",
  `INSERT INTO client_secrets (version, sealed_secret, hash) VALUES ($1, $2, $3)`,
);
// Grants that wait for another try with an older secret do not have to: some have seconds left. One that was never
// tried waits for the answer to its provision request.
const wakeGrants = statement(
  "wake_refused_grants",
  `UPDATE credentials SET due_at = now() WHERE uuid = ANY(ARRAY(
     SELECT uuid FROM credentials WHERE state = 'grant_pending' AND attempts > 0 AND due_at > now() FOR UPDATE SKIP LOCKED))`,
);

export type SealedSecret = Record<"sealed" | "hash", Uint8Array>;

/** The oldest first. */
export const sealedSecrets = (db: Queryable) =>
  db.query<{ version: number; sealed: Buffer; hash: Buffer }>(readAll);

/** Stores a new version, and wakes the grants that wait; `seal` gives what to store. Null if `isUnwanted` says so. */
export function addSecret(
  db: Database,
  seal: (version: number) => SealedSecret,
  isUnwanted: (stored: readonly SealedSecret[]) => boolean,
): Promise<number | null> {
  return db.transaction(async (tx) => {
    await tx.query(lock, []);
    if (isUnwanted(await sealedSecrets(tx))) return null;
    const { version } = (await tx.query<{ version: number }>(nextVersion, []))[0]!;
    const { sealed, hash } = seal(version);
    await tx.query(insert, [version, sealed, hash]);
    await tx.query(wakeGrants);
    return version;
  });
}

const IS_OLDER = `state IN ('active', 'needs_reauth') AND sealed_refresh_token IS NOT NULL
  AND (secret_version IS NULL OR secret_version < $1)`;
// When a new secret is set, exactly the tokens that an older one issued fall due: the reset killed their access tokens.
// A second look, ten seconds later, finds those that were locked, or stored by a statement that began before the secret
// was; it leaves out what has failed since.
const readUnspread = statement(
  "read_unspread_secret",
  `SELECT version, spread_at IS NULL AS "isFirst", now()::text AS "beganAt" FROM client_secrets
   WHERE spread_at IS NULL
     OR (spread_at < created_at + interval '10 seconds' AND created_at < now() - interval '10 seconds')
   ORDER BY version DESC LIMIT 1`,
);
const IS_LEFT = `${IS_OLDER} AND due_at > now() AND ($2 OR attempts = 0)`;
// What was refused with the older secret, and is due already, is tried as if it never had been.
const forgetRefusals = statement(
  "forget_refusals",
  `UPDATE credentials SET attempts = 0, rejected_at = NULL WHERE uuid = ANY(ARRAY(
     SELECT uuid FROM credentials WHERE ${IS_OLDER} AND state = 'active' AND rejected_at IS NOT NULL AND due_at <= now()
     LIMIT 5000 FOR UPDATE SKIP LOCKED)) RETURNING uuid`,
);
// A part at a time, so that a million rows neither hold locks for long nor run into a time limit. A token that was
// refused for good is tried once more; it keeps `rejected_at`, so that another refusal is no news.
const makeDue = statement(
  "make_older_tokens_due",
  `UPDATE credentials SET due_at = now(), attempts = 0,
     rejected_at = CASE WHEN state = 'needs_reauth' THEN rejected_at END
   WHERE uuid = ANY(ARRAY(
     SELECT uuid FROM credentials WHERE ${IS_LEFT} ORDER BY due_at LIMIT 5000 FOR UPDATE SKIP LOCKED)) RETURNING uuid`,
);
const markSpread = statement(
  "mark_secret_spread",
  `UPDATE client_secrets SET spread_at = $3::timestamptz
   WHERE version <= $1 AND ($2::bool OR NOT EXISTS (SELECT FROM credentials WHERE ${IS_LEFT}))`,
);

/** Makes the tokens of older secrets due, if that is still to be done. Returns how many. Ends early with `signal`. */
export async function makeOlderTokensDue(db: Queryable, signal?: AbortSignal): Promise<number> {
  const [unspread] = await db.query<{ version: number; isFirst: boolean; beganAt: string }>(readUnspread);
  if (!unspread) return 0;
  const { version, isFirst, beganAt } = unspread;
  let due = 0;
  for (let rows = isFirst ? -1 : 0; rows !== 0;) {
    if (signal?.aborted) return due;
    rows = (await db.query(forgetRefusals, [version])).length;
  }
  for (let rows = -1; rows !== 0; due += rows) {
    if (signal?.aborted) return due;
    rows = (await db.query(makeDue, [version, isFirst])).length;
  }
  await db.query(markSpread, [version, isFirst, beganAt]);
  return due;
}

// No index covers this, because every refresh would have to update it; so all rows are read.
const countOlder = statement(
  "count_stale_tokens",
  `SELECT count(*)::int AS stale, count(*) FILTER (WHERE state = 'active' AND due_at IS NOT NULL AND rejected_at IS NULL)::int AS waiting
   FROM credentials WHERE ${IS_OLDER}`,
);

/** The token pairs that an older secret issued, and those of them that are to be refreshed and were not refused. */
export const countStale = (db: Database, version: number) =>
  retryWhileUnreachable(
    async () => (await db.readWhole<{ stale: number; waiting: number }>(countOlder, [version]))[0]!,
    READS_WHOLE,
  );
