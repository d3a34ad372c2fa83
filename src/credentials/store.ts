import {
  createGroupCommit,
  isDataError,
  statement,
  type Queryable,
  type Statement,
} from "../database/database.ts";
import { retryWhileDatabaseAway } from "../database/retry.ts";
import { keyIdInSql } from "../vault/key-ring.ts";
import { areAmong, AROUND_CALL, BESIDE_CALLS, releaseCredential, type Lease } from "./queue.ts";
import type { Owner, State } from "./states.ts";
import { ASK_AGAIN_DAILY_SECONDS } from "./verdict.ts";

// What becomes of a claimed row. Each statement takes effect once for each claim: a retry after a lost acknowledgement
// finds that the lease is given back.

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
       state = CASE c.owner WHEN 'person' THEN 'signed_in' ELSE 'active' END, reason = NULL,
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
       (c.lease = i.lease AND c.state IN ('grant_pending', 'active', 'needs_reauth', 'signed_in', 'quarantined'))
       OR (i.first AND (c.state IN ('grant_pending', 'needs_reauth') OR (c.state = 'quarantined' AND c.sealed_grant_code IS NOT NULL)))
       OR (i.replaces = c.generation AND (c.state IN ('active', 'needs_reauth', 'signed_in', 'quarantined')
         OR (c.state = 'needs_sign_in' AND c.reason = 'refresh_token_rejected')))
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

// The first refusal of a code is dated a day back: it only marks the code as refused, and is no refusal of the refresh
// token that the row may return to.
const putOff = statement(
  "put_off_grant",
  `UPDATE credentials SET
     attempts = attempts + 1, outcome_unknown = $4, last_error = $5,
     rejected_at = CASE WHEN $6 THEN coalesce(rejected_at, now() - interval '1 day') ELSE rejected_at END,
     due_at = least(now() + make_interval(secs => $3::float8), grant_deadline),
     leased_until = NULL, sent_at = NULL
   WHERE uuid = $1 AND lease = $2 AND leased_until IS NOT NULL AND grant_number = $7 AND state = 'grant_pending'
   RETURNING uuid`,
);

// A lost grant that was to replace a refused refresh token leaves that token: it is tried once a day, as before.
const HAS_OLDER = `sealed_refresh_token IS NOT NULL`;
const lose = statement(
  "lose_grant",
  `WITH lost AS (
     UPDATE credentials SET sealed_grant_code = NULL, leased_until = NULL, sent_at = NULL,
       state = CASE WHEN ${HAS_OLDER} THEN 'needs_reauth' ELSE 'grant_lost' END,
       reason = CASE WHEN ${HAS_OLDER} THEN 'refresh_token_rejected' ELSE $3 END,
       due_at = CASE WHEN ${HAS_OLDER} THEN now() + make_interval(secs => ${ASK_AGAIN_DAILY_SECONDS}) END,
       rejected_at = CASE WHEN ${HAS_OLDER} THEN coalesce(rejected_at, now() - interval '1 day') ELSE rejected_at END,
       grant_deadline = CASE WHEN ${HAS_OLDER} THEN NULL ELSE grant_deadline END
     WHERE uuid = $1 AND lease = $2 AND state = 'grant_pending' AND grant_deadline <= now() RETURNING uuid
   ), told AS (
     INSERT INTO events (uuid, type, detail) SELECT uuid, 'grant_lost', jsonb_build_object('reason', $3::text) FROM lost
   )
   SELECT uuid FROM lost`,
);

const putOffPair = statement(
  "put_off_refresh",
  `WITH put_off AS (
     UPDATE credentials c SET
       attempts = attempts + 1, last_error = $4,
       rejected_at = CASE WHEN $5 THEN coalesce(rejected_at, now()) ELSE rejected_at END,
       state = CASE WHEN $6 THEN 'needs_reauth' ELSE c.state END,
       reason = CASE WHEN $6 THEN 'refresh_token_rejected' END,
       due_at = now() + make_interval(secs => $3::float8), leased_until = NULL, sent_at = NULL
     FROM (SELECT uuid, state AS before FROM credentials WHERE uuid = $1) old
     WHERE c.uuid = $1 AND c.uuid = old.uuid AND c.lease = $2 AND c.leased_until IS NOT NULL
       AND c.state IN ('active', 'needs_reauth', 'signed_in')
     RETURNING c.uuid, c.state <> old.before AS turned
   ), told AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'needs_reauth' FROM put_off WHERE turned
   )
   SELECT uuid, turned FROM put_off`,
);

// The platform refuses a person's tokens for good. By the lease, or by the pair's generation for a caller whose fresh
// access token was refused; the raised lease keeps out what a refresh of this pair brings later.
const endPerson = statement(
  "end_sign_in",
  `UPDATE credentials SET state = 'needs_sign_in', reason = $4, due_at = NULL, leased_until = NULL, sent_at = NULL,
     lease = lease + 1, sealed_access_token = NULL, sealed_refresh_token = NULL
   WHERE uuid = $1 AND (lease = $2 OR generation = $3) AND state = 'signed_in' RETURNING uuid`,
);

// Only while the row holds what did not open ($4; null: it lacks a secret that it should hold): another process may have
// stored a fresh pair, or another code, meanwhile.
const setAside = statement(
  "quarantine",
  `WITH put_aside AS (
     UPDATE credentials SET state = 'quarantined', reason = $3, due_at = NULL, leased_until = NULL, sent_at = NULL
     WHERE uuid = $1 AND ($2::int IS NULL OR lease = $2) AND state NOT IN ('erased', 'quarantined')
       AND ($4::bytea IS NULL OR $4 IN (sealed_grant_code, sealed_access_token, sealed_refresh_token)) RETURNING uuid, owner
   ), told AS (
     INSERT INTO events (uuid, type, detail)
     SELECT uuid, 'quarantined', jsonb_build_object('reason', $3::text) FROM put_aside WHERE owner = 'resource'
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
       state = CASE WHEN owner = 'person' THEN 'signed_in' WHEN sealed_grant_code IS NULL THEN 'active' ELSE 'grant_pending' END
     WHERE state = 'quarantined' AND uuid = ANY(ARRAY(
       SELECT uuid FROM credentials WHERE state = 'quarantined' AND reason = 'key_missing' AND NOT EXISTS (
         SELECT 1 FROM unnest(ARRAY[sealed_grant_code, sealed_access_token, sealed_refresh_token]) AS sealed
         WHERE sealed IS NOT NULL AND ${keyIdInSql("sealed")} <> ALL ($1::text[]))
       LIMIT ${MOST_REOPENED}))
     RETURNING uuid, owner
   ), told AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'reopened' FROM reopened WHERE owner = 'resource'
   )
   SELECT uuid, owner FROM reopened`,
);

const readPairs = statement(
  "read_tokens",
  `SELECT uuid, owner, state, reason, sealed_access_token AS "sealedAccessToken", coalesce(expires_at <= now(), true) AS "isExpired",
     state IN ('active', 'signed_in') AND sealed_refresh_token IS NOT NULL AS "canRefresh", generation
   FROM credentials WHERE uuid = ANY($1::uuid[])`,
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
  /** Of the partner's client secret; null for a person's pair. */
  secretVersion: number | null;
  /** Separated by commas. */
  flags: string;
}

/** In the order of the statement's parameters. */
const COLUMNS = [
  ...(["uuid", "lease", "first", "access", "refresh", "lifeSeconds", "share", "secretVersion"] as const),
  ...(["flags", "replaces"] as const),
];

/** A credential as a caller of the platform's API needs it. */
export interface TokenRow extends Record<"isExpired" | "canRefresh", boolean> {
  uuid: string;
  owner: Owner;
  state: State;
  reason: string | null;
  sealedAccessToken: Buffer | null;
  generation: number;
}

/** Stores all that are ready at once, however late: no `deadlineOf`. False: another claim came between, or it is gone. */
export function createStoreTokens(db: Queryable): (tokens: SealedTokens) => Promise<boolean> {
  return createGroupCommit<SealedTokens, boolean>({
    ...BESIDE_CALLS,
    async write(rows) {
      // Of two pairs for one row, the one of the older lease is late: only the other is written.
      const byLease = rows.toSorted((one, other) => one.lease - other.lease);
      const newest = [...new Map(byLease.map((row) => [row.uuid, row])).values()];
      const stored = await db.query<Lease>(
        storeTokens,
        COLUMNS.map((column) => newest.map((row) => row[column])),
      );
      const isStored = areAmong(rows, stored);
      const others = rows.filter((_, i) => !isStored[i]);
      if (others.length === 0) return isStored;
      const values = [
        others.map((row) => row.uuid),
        others.map((row) => row.lease),
        others.map((row) => row.access),
      ];
      return areAmong(rows, [...stored, ...(await db.query<Lease>(findStored, values))]);
    },
  });
}

/** Reads what is asked for at the same moment with one statement: dozens of steps run at once, and each of them asks. */
export function createReadTokens(db: Queryable): (uuid: string) => Promise<TokenRow | undefined> {
  return createGroupCommit<string, TokenRow | undefined>({
    maxQueued: Infinity,
    isWorthAlone: isDataError,
    async write(uuids) {
      const byUuid = new Map((await db.query<TokenRow>(readPairs, [uuids])).map((row) => [row.uuid, row]));
      return uuids.map((uuid) => byUuid.get(uuid));
    },
  });
}

/** Puts a grant off until its next try, or until its deadline, if that is sooner: then it ends without a try. */
export async function putOffGrant(
  db: Queryable,
  { uuid, lease, grantNumber }: Lease & { grantNumber: number },
  again: { againInSeconds: number; outcomeUnknown: boolean; isRefused: boolean; error: string },
): Promise<void> {
  const { againInSeconds, outcomeUnknown, isRefused, error } = again;
  const values = [uuid, lease, againInSeconds, outcomeUnknown, error, isRefused, grantNumber];
  const isPutOff = await retryWhileDatabaseAway(() => applies(db, putOff, values), AROUND_CALL);
  // If a newer code arrived while the older one was tried, only an unknown outcome of the older one counts: the newer
  // one may be the same code, delivered again.
  if (!isPutOff) await releaseCredential({ db }, { uuid, lease }, outcomeUnknown);
}

/** Ends a grant whose deadline has passed. False: the row has got another grant, or is gone. */
export const loseGrant = (db: Queryable, { uuid, lease }: Lease, reason: string) =>
  applies(db, lose, [uuid, lease, reason]);

/** Puts a refresh off that brought no tokens. True if this turned the row into `needs_reauth`. */
export async function putOffRefresh(
  db: Queryable,
  { uuid, lease }: Lease,
  again: { againInSeconds: number; isRefused: boolean; givesUp: boolean; error: string },
): Promise<boolean> {
  const values = [uuid, lease, again.againInSeconds, again.error, again.isRefused, again.givesUp];
  const rows = await retryWhileDatabaseAway(
    () => db.query<{ turned: boolean }>(putOffPair, values),
    AROUND_CALL,
  );
  return rows[0]?.turned ?? false;
}

/** The platform refuses a person's pair: it is deleted, and they must sign in again. False: the row holds another by now. */
export const endSignIn = (
  db: Queryable,
  {
    uuid,
    lease = null,
    generation = null,
  }: { uuid: string; lease?: number | null; generation?: number | null },
  reason: "refresh_token_rejected" | "access_token_rejected",
) => retryWhileDatabaseAway(() => applies(db, endPerson, [uuid, lease, generation, reason]), AROUND_CALL);

/** Quarantines a row; without a lease, whoever holds it. False: it was already, or holds something else by now. */
export const quarantine = (
  db: Queryable,
  { uuid, lease = null }: { uuid: string; lease?: number | null },
  sealed: Uint8Array | null,
  reason: string,
) => applies(db, setAside, [uuid, lease, reason, sealed]);

/** Takes rows back whose missing keys are in the ring now, so many at a time. */
export const reopenSome = (db: Queryable, keyIds: readonly string[]) =>
  db.query<{ uuid: string; owner: Owner }>(reopen, [keyIds]);

async function applies(db: Queryable, what: Statement, values: readonly unknown[]): Promise<boolean> {
  return (await db.query(what, values)).length > 0;
}
