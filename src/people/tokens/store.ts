import { createApplies, statement, type Queryable } from "../../database/database.ts";
import { keyIdInSql } from "../../vault/key-id-in-sql.ts";

// How due tokens are claimed: in one statement each, so that no moment passes between seeing a row and owning it, and
// two processes never refresh the same pair. The result of a refresh is stored only while its lease is still valid, or
// in place of the very pair it replaced.
//
// A person's row is deleted with their last session, and the next sign-in inserts another, which counts leases and
// generations from the start. So neither number identifies anything without the time of the sign-in (`signed_in_at`).

/** Longer than a call to the token endpoint and storing its result. */
const LEASE_SECONDS = 45;

/** One pair of tokens of one person. */
export interface Pair {
  uuid: string;
  /** The time of the sign-in as text of the database: a `Date` would round it to milliseconds. */
  signedInAt: string;
  /** How many token pairs this row had before. */
  generation: number;
}

/** A pair that was claimed for a refresh. */
export interface ClaimedTokens extends Pair {
  lease: number;
  attempts: number;
  sealedRefreshToken: Buffer;
}

/** The result of a refresh, sealed. */
export interface SealedPair {
  access: Uint8Array;
  /** Null: the platform sent none, and the stored refresh token is kept. */
  refresh: Uint8Array | null;
  /**
   * The generation whose refresh token the platform replaced by this one; null: the stored refresh token is still
   * valid.
   */
  replaces: number | null;
  lifeSeconds: number;
}

export interface StoredTokens extends Pair {
  sealedAccessToken: Buffer | null;
  isExpired: boolean;
  canRefresh: boolean;
}

const TAKE = `UPDATE people SET lease = lease + 1, leased_until = now() + interval '${LEASE_SECONDS} seconds'`;
const PAIR = `uuid, signed_in_at::text AS "signedInAt", generation`;
const TAKEN = `RETURNING ${PAIR}, lease, attempts, sealed_refresh_token AS "sealedRefreshToken"`;
const IS_FREE = `state = 'active' AND (leased_until IS NULL OR leased_until <= now()) AND sealed_refresh_token IS NOT NULL`;
const IS_THEIRS = `uuid = $1 AND signed_in_at = $2::timestamptz`;
const IS_PAIR = `${IS_THEIRS} AND generation = $3`;
const IS_LEASED = `${IS_THEIRS} AND lease = $3`;

const claimDue = statement(
  "claim_people",
  `${TAKE} WHERE uuid = ANY(ARRAY(
     SELECT uuid FROM people WHERE due_at <= now() AND ${IS_FREE}
     ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)) ${TAKEN}`,
);
const claimOne = statement("claim_person", `${TAKE} WHERE ${IS_PAIR} AND ${IS_FREE} ${TAKEN}`);
const nextDue = statement(
  "next_person_due",
  `SELECT extract(epoch FROM min(due_at) - now())::float8 AS seconds FROM people
   WHERE state = 'active' AND due_at > now() - interval '1 second' AND (leased_until IS NULL OR leased_until <= now())`,
);
const read = statement(
  "read_person_tokens",
  `SELECT ${PAIR}, sealed_access_token AS "sealedAccessToken", coalesce(expires_at <= now(), true) AS "isExpired",
     state = 'active' AND sealed_refresh_token IS NOT NULL AS "canRefresh"
   FROM people WHERE uuid = $1 AND state = 'active'`,
);
// The lease decides, except for a refresh token that the platform issued in place of the stored one: it is the only
// valid one, and is stored as long as the old one is still in the row, or was deleted because the platform refused it.
// A person whose fresh access token was refused (`access_token_rejected`) must sign in again.
const store = statement(
  "store_person_tokens",
  `UPDATE people SET state = 'active', reason = NULL,
     sealed_access_token = $4, sealed_refresh_token = coalesce($5, sealed_refresh_token),
     expires_at = now() + make_interval(secs => $6::float8),
     due_at = now() + make_interval(secs => $6::float8 / 2), generation = generation + 1,
     lease = lease + 1, leased_until = NULL, attempts = 0, last_error = NULL
   WHERE ${IS_THEIRS} AND ((lease = $3 AND state = 'active')
     OR (generation = $7 AND (state IN ('active', 'quarantined') OR reason = 'refresh_token_rejected')))
   RETURNING uuid`,
);
// Asked when nothing was stored: an earlier try may have succeeded and its answer been lost. No two seals are alike, so
// a match is ours. A separate statement, because the one above may have waited for that very commit and does not see
// it.
const findStored = statement(
  "find_stored_person_tokens",
  `SELECT uuid FROM people WHERE ${IS_THEIRS} AND sealed_access_token = $3`,
);
const release = statement(
  "release_person",
  `UPDATE people SET leased_until = NULL, due_at = now() + make_interval(secs => $4::float8)
   WHERE ${IS_LEASED}`,
);
const putOff = statement(
  "put_off_person",
  `UPDATE people SET leased_until = NULL, attempts = attempts + 1, last_error = $5,
     due_at = now() + make_interval(secs => $4::float8)
   WHERE ${IS_LEASED} AND state = 'active'`,
);
const refuse = statement(
  "refuse_person",
  `UPDATE people SET state = 'needs_sign_in', reason = 'refresh_token_rejected', due_at = NULL, leased_until = NULL,
     sealed_access_token = NULL, sealed_refresh_token = NULL
   WHERE ${IS_LEASED} AND state = 'active' RETURNING uuid`,
);
// The same without a lease, for a caller whose access token of this pair was refused; applies only while the row still
// has that pair. The lease number is raised, so what a refresh of the pair brings later is not stored.
const giveUp = statement(
  "give_up_person",
  `UPDATE people SET state = 'needs_sign_in', reason = 'access_token_rejected', due_at = NULL, leased_until = NULL,
     lease = lease + 1, sealed_access_token = NULL, sealed_refresh_token = NULL
   WHERE ${IS_PAIR} AND state = 'active' RETURNING uuid`,
);
const quarantine = statement(
  "quarantine_person",
  `UPDATE people SET state = 'quarantined', reason = $3, due_at = NULL, leased_until = NULL
   WHERE uuid = $1 AND state = 'active' AND $2::bytea IN (sealed_access_token, sealed_refresh_token) RETURNING uuid`,
);
const reopen = statement(
  "reopen_people",
  `UPDATE people SET state = 'active', reason = NULL,
     due_at = CASE WHEN sealed_refresh_token IS NOT NULL THEN now() END
   WHERE state = 'quarantined' AND reason = 'key_missing' AND NOT EXISTS (
     SELECT 1 FROM unnest(ARRAY[sealed_access_token, sealed_refresh_token]) AS sealed
     WHERE sealed IS NOT NULL AND ${keyIdInSql("sealed")} <> ALL ($1::text[]))
   RETURNING uuid`,
);

/** A lease: the row and the fencing number of the claim. */
export type Lease = Pick<ClaimedTokens, "uuid" | "signedInAt" | "lease">;

const ofPair = ({ uuid, signedInAt, generation }: Pair) => [uuid, signedInAt, generation];
const ofLease = ({ uuid, signedInAt, lease }: Lease) => [uuid, signedInAt, lease];

export function createTokenStore(db: Queryable) {
  const applies = createApplies(db);
  return {
    claimDue: (most: number) => db.query<ClaimedTokens>(claimDue, [most]),
    /**
     * Claims one person's tokens, due or not; null while another process holds the lease, or if the row no longer has
     * this pair.
     */
    claimOne: async (pair: Pair) => (await db.query<ClaimedTokens>(claimOne, ofPair(pair)))[0] ?? null,
    nextDueInSeconds: async () => (await db.query<{ seconds: number | null }>(nextDue))[0]?.seconds ?? null,
    read: async (uuid: string) => (await db.query<StoredTokens>(read, [uuid]))[0] ?? null,
    /**
     * False: the person signed in again or out meanwhile, or the lease is lost and the stored refresh token is still
     * valid.
     */
    async store(lease: Lease, { access, refresh, replaces, lifeSeconds }: SealedPair) {
      const isStored = await applies(store, [...ofLease(lease), access, refresh, lifeSeconds, replaces]);
      return isStored || applies(findStored, [lease.uuid, lease.signedInAt, access]);
    },
    /** Ends the lease without counting an attempt; the row is due again after that many seconds. */
    release: async (lease: Lease, againInSeconds: number) =>
      void (await db.query(release, [...ofLease(lease), againInSeconds])),
    putOff: async (lease: Lease, againInSeconds: number, error: string) =>
      void (await db.query(putOff, [...ofLease(lease), againInSeconds, error])),
    /** The platform refused for good: the tokens are deleted, and the person must sign in again. */
    refuse: (lease: Lease) => applies(refuse, ofLease(lease)),
    /** The same for a pair whose access token is useless. False: the row no longer has this pair. */
    giveUp: (pair: Pair) => applies(giveUp, ofPair(pair)),
    /** Quarantines tokens that do not open. False: another process did so, or the row has another pair by now. */
    quarantine: (uuid: string, sealed: Uint8Array, reason: string) =>
      applies(quarantine, [uuid, sealed, reason]),
    reopen: async (keyIds: readonly string[]) =>
      (await db.query<{ uuid: string }>(reopen, [keyIds])).map(({ uuid }) => uuid),
  };
}

export type TokenStore = ReturnType<typeof createTokenStore>;
