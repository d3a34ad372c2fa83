import { statement, type Queryable } from "../../database/database.ts";

// How due tokens are found and taken: one statement each, so that there is no moment between seeing a row and owning
// it, and two processes never refresh one pair. What a refresh brought is stored only while the lease is still its own, or
// in place of the very pair it replaced.
//
// A person's row goes with their last session, and the next sign-in makes another, which counts its leases and pairs from
// the start. So neither number means anything without the sign-in it was counted from.

/** Longer than a call to the token endpoint and its storing. */
const LEASE_SECONDS = 45;

/** One pair of tokens of one person. */
export interface Pair {
  uuid: string;
  /** When they signed in, as the database writes it: a `Date` would round it. */
  signedInAt: string;
  /** How many token pairs were stored before. */
  generation: number;
}

/** A pair, taken for a refresh. */
export interface ClaimedTokens extends Pair {
  lease: number;
  attempts: number;
  sealedRefreshToken: Buffer;
}

/** What a refresh brought, sealed. */
export interface SealedPair {
  access: Uint8Array;
  /** Null: none came, and the one that is there is kept. */
  refresh: Uint8Array | null;
  /** The generation whose refresh token the platform has replaced by this one; null: the row's still counts. */
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
// The lease decides, but for a refresh token that came in place of the row's: it is the only one there is, and is stored as
// long as that one is still there, or was thrown away for being refused. Whom the platform refuses even with a fresh
// token must sign in again.
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
// Asked of what was not stored: it may have been, and the database's word of it lost. No two seals are alike, so what is
// found is ours. A statement of its own, for the one above may have waited for that very commit.
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
// The same without a lease, for whoever saw a pair refused in use: only while it is still that pair. The lease moves on,
// so what a refresh of it brings is not stored.
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
// A key came back into the ring.
const reopen = statement(
  "reopen_people",
  `UPDATE people SET state = 'active', reason = NULL,
     due_at = CASE WHEN sealed_refresh_token IS NOT NULL THEN now() END
   WHERE state = 'quarantined' AND reason = 'key_missing' AND NOT EXISTS (
     SELECT 1 FROM unnest(ARRAY[sealed_access_token, sealed_refresh_token]) AS sealed
     WHERE sealed IS NOT NULL AND encode(substring(sealed FROM 2 FOR 8), 'hex') <> ALL ($1::text[]))
   RETURNING uuid`,
);

/** A lease: whose tokens, and the number of the claim. */
export type Lease = Pick<ClaimedTokens, "uuid" | "signedInAt" | "lease">;

const ofPair = ({ uuid, signedInAt, generation }: Pair) => [uuid, signedInAt, generation];
const ofLease = ({ uuid, signedInAt, lease }: Lease) => [uuid, signedInAt, lease];

export function createTokenStore(db: Queryable) {
  const applies = async (...[what, values]: Parameters<Queryable["query"]>) =>
    (await db.query(what, values)).length > 0;
  return {
    claimDue: (most: number) => db.query<ClaimedTokens>(claimDue, [most]),
    /** One person's tokens, due or not; null while somebody holds them, or they are not this pair any more. */
    claimOne: async (pair: Pair) => (await db.query<ClaimedTokens>(claimOne, ofPair(pair)))[0] ?? null,
    nextDueInSeconds: async () => (await db.query<{ seconds: number | null }>(nextDue))[0]?.seconds ?? null,
    read: async (uuid: string) => (await db.query<StoredTokens>(read, [uuid]))[0] ?? null,
    /** False: the person signed in anew or out meanwhile, or the lease ran out and the refresh token of before still counts. */
    async store(lease: Lease, { access, refresh, replaces, lifeSeconds }: SealedPair) {
      const isStored = await applies(store, [...ofLease(lease), access, refresh, lifeSeconds, replaces]);
      return isStored || applies(findStored, [lease.uuid, lease.signedInAt, access]);
    },
    /** Gives a row back as it was, for a later time. */
    release: async (lease: Lease, againInSeconds: number) =>
      void (await db.query(release, [...ofLease(lease), againInSeconds])),
    putOff: async (lease: Lease, againInSeconds: number, error: string) =>
      void (await db.query(putOff, [...ofLease(lease), againInSeconds, error])),
    /** The platform said no for good: the tokens go, and the person must sign in again. */
    refuse: (lease: Lease) => applies(refuse, ofLease(lease)),
    /** The same for a pair that is of no use to anybody. False: it is another pair by now. */
    giveUp: (pair: Pair) => applies(giveUp, ofPair(pair)),
    /** Puts aside what does not open. False: somebody else did, or it is another pair by now. */
    quarantine: (uuid: string, sealed: Uint8Array, reason: string) =>
      applies(quarantine, [uuid, sealed, reason]),
    reopen: async (keyIds: readonly string[]) =>
      (await db.query<{ uuid: string }>(reopen, [keyIds])).map(({ uuid }) => uuid),
  };
}

export type TokenStore = ReturnType<typeof createTokenStore>;
