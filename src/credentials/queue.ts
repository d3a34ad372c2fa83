import { statement, type Queryable, type Statement } from "../database/database.ts";
import { areAmong, groupCommit } from "../database/group-commit.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import { PAUSED, whereGone } from "../ledgers/store.ts";
import { keyIdInSql } from "../vault/vault.ts";
import {
  GRANT_SECONDS,
  stateAfter,
  type Lease,
  type Owner,
  type State,
  type Tries,
  type Verdict,
} from "./states.ts";

// The rows of `credentials` as a queue: claimed, marked, released, settled. A claim is one statement, so that there is no
// moment between seeing a row and owning it; as `uuid = ANY(ARRAY(SELECT … FOR UPDATE SKIP LOCKED))` its sub-select runs
// once, whatever the planner chooses. All comparisons use the database's clock. The answer to a provision
// (resources/store.ts) makes its grant due. If a claim finds a grant with `sent_at` set, its previous holder sent the call
// and died before it stored the outcome; for a pair, the claim itself sets it.

/** How long a claim holds: twice the longest call (20 s), and 5 s more. */
const LEASE_SECONDS = 45;
/** A call may only be sent while this much of the lease is left: the longest call (20 s) and the time to store it. */
const NEEDED_LEASE_SECONDS = 24;
/** How long a claimed row waits, before or after its call, for an unreachable database. */
export const AROUND_CALL = { upToMs: 15_000 };
/** A claim this recent counts as the sent mark: even if the process froze meanwhile, it still holds the lease. */
const FRESH_MS = 1_000;
/** The most rows ever claimed at once. It also tells the planner, which does not see $1, how many are wanted. */
const MOST_CLAIMED = 2_000;

export interface ClaimedCredential extends Lease, Tries, Record<"requestId" | "traceparent", string | null> {
  /** When the claim was sent (ms), by the clock that goes on while the process is frozen or the machine sleeps. */
  claimedAtMs: number;
  grantNumber: number;
  /** How many token pairs were stored before. */
  generation: number;
  sealedGrantCode: Buffer | null;
  isOver: boolean;
}

const TAKE = `
  UPDATE credentials SET
    lease = lease + 1,
    leased_until = now() + interval '${LEASE_SECONDS} seconds',
    outcome_unknown = outcome_unknown OR (sent_at IS NOT NULL AND state = 'grant_pending'),
    rejected_at = CASE WHEN sent_at IS NULL OR state <> 'grant_pending' THEN rejected_at END,
    sent_at = CASE WHEN state <> 'grant_pending' THEN now() END`;

/** By so much the first refusal of a code is dated back (see {@link settle}). */
const DATED_BACK = "interval '1 day'";

// `rank`: a grant's deadline, or when a token pair fell due.
const TAKEN = `
  RETURNING uuid, owner, state, lease, attempts, generation,
    grant_number AS "grantNumber",
    sealed_grant_code AS "sealedGrantCode",
    sealed_refresh_token AS "sealedRefreshToken",
    coalesce(grant_deadline <= now(), false) AS "isOver",
    outcome_unknown AS "outcomeUnknown",
    request_id AS "requestId", traceparent,
    extract(epoch FROM now() - rejected_at - CASE WHEN state = 'grant_pending' THEN ${DATED_BACK} ELSE '0' END)::float8 AS "rejectedForSeconds",
    extract(epoch FROM now() - grant_deadline)::float8 + ${GRANT_SECONDS} AS "grantAgeSeconds",
    extract(epoch FROM coalesce(grant_deadline, due_at, now()))::float8 AS rank`;

const IS_FREE = `(leased_until IS NULL OR leased_until <= now())`;
const HAS_PAIR = `state IN ('active', 'needs_reauth', 'signed_in')`;

/** SQL: the uuids of the first $1 free rows for which `isDue` holds, in this order, locked. */
const firstOf = (isDue: string, order: string) => `ARRAY(SELECT uuid FROM (
    SELECT uuid FROM credentials WHERE ${isDue} AND ${IS_FREE}
    ORDER BY ${order} LIMIT ${MOST_CLAIMED} FOR UPDATE SKIP LOCKED) few LIMIT $1)`;

// In the order of our own deadline: clocks differ, and the order in which they fell due is random after an outage, so a
// minute's backlog would cost grants in their last minute.
const claimGrantsDue = statement(
  "claim_grants",
  `${TAKE} WHERE uuid = ANY(${firstOf("state = 'grant_pending' AND due_at <= now()", "grant_deadline")}) ${TAKEN}`,
);
// One queue for the pairs of resources and of people; $2 leaves out the owners whose client secret is rejected.
const claimPairsDue = statement(
  "claim_refreshes",
  `${TAKE} WHERE uuid = ANY(${firstOf(
    `${HAS_PAIR} AND due_at <= now() AND sealed_refresh_token IS NOT NULL AND owner = ANY($2::text[])`,
    "due_at",
  )}) ${TAKEN}`,
);
// Without a generation ($2) the row may be quarantined: if its refresh token opens, fresh tokens replace whatever does
// not.
const claimPair = statement(
  "claim_refresh",
  `${TAKE} WHERE uuid = $1 AND ${IS_FREE} AND sealed_refresh_token IS NOT NULL AND generation = coalesce($2, generation)
     AND (${HAS_PAIR} OR (state = 'quarantined' AND $2::int IS NULL AND sealed_grant_code IS NULL)) ${TAKEN}`,
);

async function take(db: Queryable, claim: Statement<readonly unknown[], never>, values: unknown[]) {
  const claimedAtMs = Date.now();
  const rows = await db.query<ClaimedCredential & { rank: number }>(claim, values);
  for (const row of rows) row.claimedAtMs = claimedAtMs;
  // Not all claimed rows can be called for at once, and an UPDATE returns its rows in any order.
  return rows.sort((one, other) => one.rank - other.rank) as ClaimedCredential[];
}

/** Also those whose time is over. */
export const claimGrants = (db: Queryable, most: number) => take(db, claimGrantsDue, [most]);

export const claimRefreshes = (db: Queryable, most: number, owners: readonly Owner[]) =>
  take(db, claimPairsDue, [most, owners]);

/** Claims one pair, due or not. None: it is held elsewhere, not there, or not of `generation` any more. */
export const claimRefresh = async (db: Queryable, uuid: string, generation: number | null = null) =>
  (await take(db, claimPair, [uuid, generation]))[0];

// A row that fell due more than a second ago is held back by something (another process, a rejected secret): it waits
// for the next sweep.
const nextDue = (name: string, isQueued: string) =>
  statement(
    name,
    `SELECT extract(epoch FROM min(due_at) - now())::float8 AS seconds FROM credentials
     WHERE ${isQueued} AND due_at > now() - interval '1 second'`,
  );
const NEXT = {
  grant: nextDue("next_grant_due", "state = 'grant_pending'"),
  pair: nextDue("next_refresh_due", HAS_PAIR),
};

/** Seconds until the next grant, or the next token pair, falls due; null: none is waiting. */
export const nextDueInSeconds = async (db: Queryable, what: keyof typeof NEXT) =>
  (await db.query<{ seconds: number | null }>(NEXT[what]))[0]?.seconds ?? null;

/** The grants that wait for their tokens, as far as the number of calls at once depends on them. */
export interface GrantsWaiting {
  /** At most {@link MOST_SEEN}. */
  waiting: number;
  /** So many must be exchanged in a second, from now on, that each is exchanged before its deadline. */
  perSecond: number;
}

/** The most urgent so many are looked at. */
const MOST_SEEN = 10_000;

// The n-th by deadline is in time if n are exchanged until then; the most urgent may ask for less than those behind it.
const seeGrants = statement(
  "see_grants_waiting",
  `SELECT count(*)::int AS waiting, coalesce(max(place / seconds), 0)::float8 AS "perSecond" FROM (
     SELECT row_number() OVER (ORDER BY grant_deadline) AS place,
       greatest(extract(epoch FROM grant_deadline - now()), 1) AS seconds
     FROM (SELECT grant_deadline FROM credentials WHERE state = 'grant_pending' AND grant_deadline > now()
       ORDER BY grant_deadline LIMIT ${MOST_SEEN}) urgent) placed`,
);

export const grantsWaiting = async (db: Queryable) => (await db.query<GrantsWaiting>(seeGrants))[0]!;

// The last gate before a call that must not go out twice: the lease is still ours, for long enough, and the database
// takes what comes of it.
const mark = statement(
  "mark_sent",
  `UPDATE credentials c SET sent_at = now()
   FROM unnest($1::uuid[], $2::int[]) AS i(uuid, lease)
   WHERE c.uuid = i.uuid AND c.lease = i.lease AND c.leased_until > now() + interval '${NEEDED_LEASE_SECONDS} seconds'
   RETURNING c.uuid, c.lease`,
);
const markTogether = groupCommit<Queryable, Lease, boolean>({
  async write(db, rows) {
    const values = [rows.map(({ uuid }) => uuid), rows.map(({ lease }) => lease)];
    return areAmong(rows, await db.query<Lease>(mark, values));
  },
});

/**
 * Marks that a row's call goes out now; false: nothing may be sent. A fresh claim is the mark of a refresh, which can
 * be repeated. A grant is good for one call: right before it, the database must show that it can store the outcome.
 */
export async function markSent(db: Queryable, row: ClaimedCredential): Promise<boolean> {
  const isFresh = Math.abs(Date.now() - row.claimedAtMs) < FRESH_MS;
  if (isFresh && row.state !== "grant_pending") return true;
  return retryWhileUnreachable(() => markTogether(db, row), AROUND_CALL);
}

const release = statement(
  "release_credential",
  `UPDATE credentials SET leased_until = NULL, sent_at = NULL, outcome_unknown = outcome_unknown OR $3
   WHERE uuid = $1 AND lease = $2`,
);

/** Releases a row as it was: nothing was sent, or the outcome says nothing about the row. */
export async function releaseCredential(db: Queryable, { uuid, lease }: Lease, isUnknown = false) {
  await retryWhileUnreachable(() => db.query(release, [uuid, lease, isUnknown]), AROUND_CALL);
}

// Every move but those that store tokens or bring another code; and, where the state stays, the next try. It holds for
// the claim ($2), state ($10) and grant ($11) that were judged, so a repetition after a lost acknowledgement is harmless.
// The first refusal of a code is dated a day back: it only marks the code as refused, and is no refusal of the refresh
// token that the row may return to. A refusal before a call of unknown outcome does not say that this call spent the
// code, so it is forgotten, here and by the claim. A lost grant keeps its deadline: tokens that arrive late are then still stored.
const settleRow = statement(
  "settle_credential",
  `WITH settled AS (
     UPDATE credentials SET state = $3::text, reason = CASE WHEN state = $3 THEN reason ELSE $4::text END,
       due_at = CASE WHEN $3 IN ('active', 'needs_reauth') AND $5::float8 IS NOT NULL AND ${whereGone("credentials.uuid")} THEN ${PAUSED}
         ELSE least(now() + make_interval(secs => $5::float8), CASE WHEN state = $3 THEN grant_deadline END) END,
       attempts = coalesce($6::int, attempts), last_error = coalesce($7, last_error),
       outcome_unknown = outcome_unknown OR $8,
       rejected_at = CASE WHEN $8 AND state = 'grant_pending' THEN NULL WHEN NOT $9 THEN rejected_at WHEN state = 'grant_pending'
         THEN coalesce(rejected_at, now() - ${DATED_BACK}) ELSE coalesce(rejected_at, now()) END,
       sealed_grant_code = CASE WHEN $3 NOT IN ('grant_lost', 'needs_reauth') THEN sealed_grant_code END,
       grant_deadline = CASE WHEN $3 <> 'needs_reauth' THEN grant_deadline END,
       sealed_access_token = CASE WHEN $3 <> 'needs_sign_in' THEN sealed_access_token END,
       sealed_refresh_token = CASE WHEN $3 <> 'needs_sign_in' THEN sealed_refresh_token END,
       leased_until = NULL, sent_at = NULL
     WHERE uuid = $1 AND lease = $2 AND state = $10::text AND grant_number = coalesce($11::int, grant_number)
     RETURNING uuid, owner
   ), noted AS (
     INSERT INTO events (uuid, type, detail) SELECT uuid, $3, jsonb_build_object('reason', $4::text) FROM settled
     WHERE $3 <> $10 AND owner = 'resource'
   )
   SELECT uuid FROM settled`,
);

// For a try that found nothing after one whose acknowledgement was lost: the lease number is that of the row as it was
// judged. A statement of its own, because the one above may have waited for that very commit.
const findSettled = statement(
  "find_settled_credential",
  `SELECT uuid FROM credentials
   WHERE uuid = $1 AND lease = $2 AND state = $3 AND grant_number = coalesce($4::int, grant_number)`,
);

export type Judged = Lease & { state: State; grantNumber?: number };

/**
 * Stores what a verdict makes of a row, and gives its lease back. False: the row has changed since (another claim,
 * another code); of the verdict, only an unknown outcome is kept then, as the newer code may be the same one.
 */
export async function settle(
  db: Queryable,
  { uuid, lease, state, grantNumber }: Judged,
  verdict: Verdict,
): Promise<boolean> {
  const { on, reason, againInSeconds, attempts, isRefused = false, isUnknown = false, error } = verdict;
  const to = on === null ? state : stateAfter(state, on);
  const values = [
    ...[uuid, lease, to, reason, againInSeconds, attempts ?? null],
    ...[error ?? null, isUnknown, isRefused, state, grantNumber ?? null],
  ];
  let tries = 0;
  const isSettled = await retryWhileUnreachable(async () => {
    const isAgain = (tries += 1) > 1;
    if ((await db.query(settleRow, values)).length > 0) return true;
    return isAgain && (await db.query(findSettled, [uuid, lease, to, grantNumber ?? null])).length > 0;
  }, AROUND_CALL);
  if (!isSettled) await releaseCredential(db, { uuid, lease }, isUnknown);
  return isSettled;
}

// When a key is back in the ring, what the row holds says which state it had. So many at a time that no time limit is
// near: a process that lacked a key for a while may have quarantined many thousands.
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
       LIMIT 1000))
     RETURNING uuid, owner
   ), noted AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'reopened' FROM reopened WHERE owner = 'resource'
   )
   SELECT uuid, owner FROM reopened`,
);

export const reopenSome = (db: Queryable, keyIds: readonly string[]) =>
  db.query<{ uuid: string; owner: Owner }>(reopen, [keyIds]);
