import { genericPlanStatement, createApplies, statement, type Queryable } from "../../database/database.ts";
import { createGroupCommit } from "../../database/group-commit.ts";
import { retryWhileDatabaseAway } from "../../database/retry.ts";
import { keyIdIn } from "../keys.ts";
import { BEFORE_CALL_MS, LEASE_SECONDS } from "./claims.ts";
import { ASK_AGAIN_DAILY_SECONDS } from "./verdict.ts";

// What is written around a call to the token endpoint, in this order: claim, mark sent, call, store; a fresh claim of a
// token pair is its own mark. The mark is fenced by the lease number; so is storing, except for tokens that cannot be
// issued again (see `storeTokens`). Both are collected into one statement for all rows that are ready at the same
// moment: at several thousand tokens a second the database's commits, not the calls, would be the limit.

const markSent = genericPlanStatement(
  "mark_sent",
  `UPDATE credentials c SET sent_at = now()
   FROM unnest($1::uuid[], $2::int[], $3::int[]) AS i(uuid, lease, needed_seconds)
   WHERE c.uuid = i.uuid AND c.lease = i.lease AND c.leased_until > now() + make_interval(secs => i.needed_seconds)
   RETURNING c.uuid, c.lease`,
);

// Success. The lease decides, except for tokens that cannot be issued again: those of a grant are stored without it as
// long as the row still waits for some, and a refresh token that replaced the row's, as long as the row's generation is
// still the replaced one. A failed provision takes no tokens: its failure clears the deadline of its lost grant, which
// this statement sees even if it began before the failure and waited for it. A first pair also wakes the steps that
// waited for it and inserts a `discover` step. The token's life is counted from the mark, at most a second before the
// call; tokens that an older client secret issued while a newer one was set are due at once.
const storeTokens = genericPlanStatement(
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

// Takes effect once for each claim: a retry after a lost acknowledgement finds that the lease is given back. The first
// refusal is dated a day back: it only marks the code as refused, and if the row returns to `needs_reauth`,
// mass-refusal must not count it as a refresh token refused just now.
const putOffGrant = statement(
  "put_off_grant",
  `UPDATE credentials SET
     attempts = attempts + 1, outcome_unknown = $4, last_error = $5,
     rejected_at = CASE WHEN $6 THEN coalesce(rejected_at, now() - interval '1 day') ELSE rejected_at END,
     due_at = least(now() + make_interval(secs => $3::float8), grant_deadline),
     leased_until = NULL, sent_at = NULL
   WHERE uuid = $1 AND lease = $2 AND leased_until IS NOT NULL AND grant_number = $7 AND state = 'grant_pending'
   RETURNING uuid`,
);

// Restores the due time from before the claim ($3), unless the row was made due meanwhile: for a new client secret, or
// with another grant.
const release = statement(
  "release_credential",
  `UPDATE credentials SET
     leased_until = NULL, sent_at = NULL, outcome_unknown = outcome_unknown OR $4,
     due_at = CASE WHEN due_at = leased_until - interval '${LEASE_SECONDS} seconds' THEN coalesce($3, due_at) ELSE due_at END
   WHERE uuid = $1 AND lease = $2`,
);

// A lost grant that was to replace a refused refresh token leaves that token behind: it is tried once a day, as before.
// Its refusal is dated a day back, as mass-refusal must not count it as of now.
const HAS_OLDER = `sealed_refresh_token IS NOT NULL`;
const loseGrant = statement(
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

// Takes effect once for each claim, as for a grant.
const putOffRefresh = statement(
  "put_off_refresh",
  `WITH put_off AS (
     UPDATE credentials c SET
       attempts = attempts + 1, last_error = $4,
       rejected_at = CASE WHEN $5 THEN coalesce(rejected_at, now()) ELSE rejected_at END,
       state = $6, reason = CASE WHEN $6 = 'needs_reauth' THEN 'refresh_token_rejected' END,
       due_at = now() + make_interval(secs => $3::float8), leased_until = NULL, sent_at = NULL
     FROM (SELECT uuid, state AS before FROM credentials WHERE uuid = $1) old
     WHERE c.uuid = $1 AND c.uuid = old.uuid AND c.lease = $2 AND c.leased_until IS NOT NULL AND c.state IN ('active', 'needs_reauth')
     RETURNING c.uuid, c.state <> old.before AS turned
   ), told AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'needs_reauth' FROM put_off WHERE turned
   )
   SELECT uuid, turned FROM put_off`,
);

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
         WHERE sealed IS NOT NULL AND ${keyIdIn("sealed")} <> ALL ($1::text[]))
       LIMIT ${MOST_REOPENED}))
     RETURNING uuid
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'reopened' FROM reopened RETURNING uuid`,
);

const suspect = statement(
  "suspect_token",
  `UPDATE credentials SET verify_at = now() + interval '2 seconds' WHERE uuid = $1 AND state IN ('active', 'needs_reauth')`,
);

/**
 * How long storing the outcome of a call is tried while the database is away. If it were not stored, the row would stay
 * claimed until the lease ends.
 */
const AFTER_CALL = { upToMs: 15_000 };

/** A lease: which row, and the number of the claim. */
export interface Lease {
  uuid: string;
  lease: number;
}

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

export function createCredentialStore(db: Queryable) {
  const sent = createGroupCommit<Lease & { neededSeconds: number }, boolean>({
    maxRows: 500,
    maxQueued: 20_000,
    async write(rows) {
      const values = [
        rows.map((row) => row.uuid),
        rows.map((row) => row.lease),
        rows.map((row) => row.neededSeconds),
      ];
      return presence(rows, await db.query<Lease>(markSent, values));
    },
  });

  // Stored however late, even if the caller has given up: these rows must never have a `deadlineOf`.
  const tokens = createGroupCommit<SealedTokens, boolean>({
    maxRows: 500,
    maxQueued: 20_000,
    async write(rows) {
      // Of two pairs for one row, the one of the older lease is late: only the other is written.
      const newest = new Map<string, SealedTokens>();
      for (const row of rows) if ((newest.get(row.uuid)?.lease ?? -1) < row.lease) newest.set(row.uuid, row);
      const written = [...newest.values()];
      const values = [
        written.map((row) => row.uuid),
        written.map((row) => row.lease),
        written.map((row) => row.first),
        written.map((row) => row.access),
        written.map((row) => row.refresh),
        written.map((row) => row.lifeSeconds),
        written.map((row) => row.share),
        written.map((row) => row.secretVersion),
        written.map((row) => row.flags.join(",")),
        written.map((row) => row.replaces),
      ];
      const stored = await db.query<Lease>(storeTokens, values);
      const isStored = presence(rows, stored);
      const others = rows.filter((_, i) => !isStored[i]);
      return others.length === 0 ? isStored : presence(rows, [...stored, ...(await storedBefore(others))]);
    },
  });

  const storedBefore = (rows: SealedTokens[]) =>
    db.query<Lease>(findStored, [
      rows.map(({ uuid }) => uuid),
      rows.map(({ lease }) => lease),
      rows.map(({ access }) => access),
    ]);

  const applies = createApplies(db);

  const giveBack = async ({ uuid, lease }: Lease, dueBefore: Date | null, isUnknown: boolean) =>
    void (await db.query(release, [uuid, lease, dueBefore, isUnknown]));

  return {
    /**
     * Marks that a call goes out now. False: the lease is not ours any more, or ends too soon; then nothing may be
     * sent.
     */
    markSent: (lease: Lease, neededSeconds: number) =>
      retryWhileDatabaseAway(() => sent({ ...lease, neededSeconds }), { upToMs: BEFORE_CALL_MS }),
    /** False: not stored, for another claim came between, or the resource is gone. */
    storeTokens: tokens,
    /** Releases a row as it was: nothing was sent, or the outcome says nothing about the row. */
    release: (row: Lease & { dueBefore?: Date | null }) =>
      retryWhileDatabaseAway(() => giveBack(row, row.dueBefore ?? null, false), AFTER_CALL),
    /** Puts the grant off until its next try, or until its deadline, if that is sooner: then it ends without a try. */
    async putOffGrant(
      row: Lease & { grantNumber: number },
      again: { againInSeconds: number; outcomeUnknown: boolean; refused: boolean; error: string },
    ): Promise<void> {
      const { againInSeconds, outcomeUnknown, refused, error } = again;
      const values = [row.uuid, row.lease, againInSeconds, outcomeUnknown, error, refused, row.grantNumber];
      await retryWhileDatabaseAway(async () => {
        // If a newer code arrived while the older one was tried, only an unknown outcome of the older one counts: the
        // newer one may be the same code, delivered again.
        if (!(await applies(putOffGrant, values))) await giveBack(row, null, outcomeUnknown);
      }, AFTER_CALL);
    },
    loseGrant: ({ uuid, lease }: Lease, reason: string) => applies(loseGrant, [uuid, lease, reason]),
    /** True if this turned the row into `needs_reauth`. */
    async putOffRefresh(
      row: Lease,
      again: { againInSeconds: number; rejected: boolean; state: string; error: string },
    ): Promise<boolean> {
      const values = [row.uuid, row.lease, again.againInSeconds, again.error, again.rejected, again.state];
      const putOff = () => db.query<{ turned: boolean }>(putOffRefresh, values);
      return (await retryWhileDatabaseAway(putOff, AFTER_CALL))[0]?.turned ?? false;
    },
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
    /** Has the stored token verified: the platform may have killed it. */
    suspect: async (uuid: string) => void (await db.query(suspect, [uuid])),
  };
}

export type CredentialStore = ReturnType<typeof createCredentialStore>;

/** For each row, in order, whether the database returned it: two rows of one batch may be of the same resource. */
function presence(rows: readonly Lease[], answered: readonly Lease[]): boolean[] {
  const leases = new Set(answered.map(({ uuid, lease }) => `${uuid} ${lease}`));
  return rows.map(({ uuid, lease }) => leases.has(`${uuid} ${lease}`));
}
