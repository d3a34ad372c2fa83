import type { Credential } from "../database/client/client.ts";
import { areAmong, groupCommit } from "../database/group-commit.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import {
  anyRow,
  columnsOf,
  oneRow,
  type Queryable,
  type RowOf,
  statement,
  type Typed,
} from "../database/statement.ts";
import { PAUSED, whereGone } from "../ledgers/store.ts";
import { firstOf, hold as extended, isFree, type NextDue, nextDue, take } from "../work/lease.ts";
import {
  GRANT_SECONDS,
  type Lease,
  type Owner,
  type State,
  stateAfter,
  type Tries,
  type Verdict,
} from "./states.ts";

// The rows of `credentials` as a queue: claim, mark, release, settle. The statement that stores the answer to a provision
// (resources/store.ts) makes its grant due. A grant whose `sent_at` is set at a claim has an unknown outcome: the process
// that sent its call died before it stored the outcome. For a token pair, the claim itself sets `sent_at`.

/** How long a lease lasts: twice the longest call (20 s), and 5 s more. */
const LEASE_SECONDS = 45;
/** How much of the lease must be left before a call: the longest call (20 s) and the time to store its outcome. */
const NEEDED_LEASE_SECONDS = 24;
/** How long a claimed row waits for an unreachable database before or after its call. */
export const AROUND_CALL = { upToMs: 15_000 };
/** A refresh claimed this recently needs no mark of its own: the claim has set `sent_at`, and the lease is still long. */
const FRESH_MS = 1_000;
/** The most rows that one statement claims. */
const MOST_CLAIMED = 2_000;

const COLUMNS = columnsOf<Typed<Credential, { owner: Owner; state: State }>>()(
  "c",
  "uuid",
  "owner",
  "state",
  "lease",
  "attempts",
  "generation",
  "grantNumber",
  "sealedGrantCode",
  "sealedRefreshToken",
  "outcomeUnknown",
  "requestId",
  "traceparent",
);

/** A claimed row. `generation`: the number of token pairs stored so far. */
export type ClaimedCredential = RowOf<typeof COLUMNS> &
  Tries & {
    /** When the claim was sent (ms since 1970). Not monotonic: `performance.now()` may stop while the machine sleeps. */
    claimedAtMs: number;
    /** The row is a grant past its deadline. */
    isOver: boolean;
  };

const TAKE = `UPDATE credentials c SET ${take("c", LEASE_SECONDS)},
    outcome_unknown = c.outcome_unknown OR (c.sent_at IS NOT NULL AND c.state = 'grant_pending'),
    rejected_at = CASE WHEN c.sent_at IS NULL OR c.state <> 'grant_pending' THEN c.rejected_at END,
    sent_at = CASE WHEN c.state <> 'grant_pending' THEN now() END`;

/** How far the first refusal of a code is dated back (see `settle_credential`). */
const DATED_BACK = "interval '1 day'";

type TakenRow = ClaimedCredential & {
  /** A grant's deadline, or when a token pair fell due. */
  rank: number;
};
type At = Pick<ClaimedCredential, "claimedAtMs">;
// The time of the claim comes back with the row, since a member that is added to a row of the driver takes a microsecond.
const TAKEN = `
  RETURNING ${COLUMNS}, :claimedAtMs::float8 AS "claimedAtMs",
    coalesce(c.grant_deadline <= now(), false) AS "isOver",
    extract(epoch FROM now() - c.rejected_at - CASE WHEN c.state = 'grant_pending' THEN ${DATED_BACK} ELSE '0' END)::float8 AS "rejectedForSeconds",
    extract(epoch FROM now() - c.grant_deadline)::float8 + ${GRANT_SECONDS} AS "grantAgeSeconds",
    extract(epoch FROM coalesce(c.grant_deadline, c.due_at, now()))::float8 AS rank` as `${string}:claimedAtMs${string}`;

const HAS_PAIR = `state IN ('active', 'needs_reauth', 'signed_in')`;

const firstCredentials = <Where extends string>(where: Where, order: string) =>
  firstOf({
    key: "uuid",
    table: "credentials",
    where: `due.due_at <= now() AND ${where} AND ${isFree("due")}` as const,
    order,
    atMost: MOST_CLAIMED,
  });

// Ordered by deadline, not by due time, which is random after an outage: a backlog of a minute would then lose grants in
// their last minute. The deadline is this service's own, because the clocks of the platform and the database differ.
const claimGrantsDue = statement<At & { most: number }, TakenRow>("claim_grants").sql(
  `${TAKE} WHERE c.uuid = ANY(${firstCredentials("due.state = 'grant_pending'", "grant_deadline")}) ${TAKEN}`,
);
// A statement of its own: a condition that depends on a parameter would change the plan of the usual claim.
const claimUnsentGrantsDue = statement<At & { most: number }, TakenRow>("claim_unsent_grants").sql(
  `${TAKE} WHERE c.uuid = ANY(${firstCredentials("due.state = 'grant_pending' AND due.sent_at IS NULL", "grant_deadline")}) ${TAKEN}`,
);
// The pairs of resources and of people are one queue. `owners` leaves out the owners whose client secret is rejected.
const claimPairsDue = statement<At & { most: number; owners: readonly Owner[] }, TakenRow>(
  "claim_refreshes",
).sql(
  `${TAKE} WHERE c.uuid = ANY(${firstCredentials(
    `due.${HAS_PAIR} AND due.sealed_refresh_token IS NOT NULL AND due.owner = ANY(:owners::text[])`,
    "due_at",
  )}) ${TAKEN}`,
);
const claimPair = statement<At & { uuid: string; generation: number | null }, TakenRow>("claim_refresh").sql(
  `${TAKE} WHERE c.uuid = :uuid AND ${isFree("c")} AND c.sealed_refresh_token IS NOT NULL
     AND c.generation = coalesce(:generation, c.generation)
     -- An operator's refresh names no generation and may claim a quarantined row: if its refresh token can be decrypted,
     -- new tokens replace the values that cannot.
     AND (c.${HAS_PAIR} OR (c.state = 'quarantined' AND :generation::int IS NULL AND c.sealed_grant_code IS NULL)) ${TAKEN}`,
);

/** Sorted, because some rows wait for their call and an UPDATE returns its rows in any order. */
const sorted = (rows: TakenRow[]): ClaimedCredential[] => rows.sort((one, other) => one.rank - other.rank);

/**
 * Claims due grants, including those past their deadline. `isAfterOutage`: a call whose outcome is not stored is left out,
 * because a living process may hold its tokens and store them now. A code that is used twice may end the tokens of its first
 * use (RFC 6749, section 4.1.2).
 */
export const claimGrants = async (db: Queryable, most: number, isAfterOutage = false) =>
  sorted(
    await db.query(isAfterOutage ? claimUnsentGrantsDue : claimGrantsDue, { most, claimedAtMs: Date.now() }),
  );

export const claimRefreshes = async (db: Queryable, most: number, owners: readonly Owner[]) =>
  sorted(await db.query(claimPairsDue, { most, owners, claimedAtMs: Date.now() }));

/**
 * Claims one pair, due or not. Returns `undefined` if another process holds the row, there is no pair, or the row's
 * generation is another one.
 */
export const claimRefresh = async (
  db: Queryable,
  uuid: string,
  generation: number | null = null,
): Promise<ClaimedCredential | undefined> =>
  (await db.query(claimPair, { uuid, generation, claimedAtMs: Date.now() }))[0];

const NEXT = {
  grant: statement<Record<never, never>, NextDue>("next_grant_due").sql(
    nextDue("credentials", "state = 'grant_pending'"),
  ),
  pair: statement<Record<never, never>, NextDue>("next_refresh_due").sql(nextDue("credentials", HAS_PAIR)),
};

/** Seconds until the next grant or the next token pair falls due; `null` if none has a due time. */
export const nextDueInSeconds = async (db: Queryable, what: keyof typeof NEXT) =>
  (await oneRow(db, NEXT[what]))?.seconds ?? null;

/** The grants that wait for their tokens, from which the number of concurrent exchanges is computed. */
export interface GrantsWaiting {
  /** At most {@link MOST_SEEN}. */
  waiting: number;
  /** How many grants must be exchanged in a second so that each is exchanged before its deadline. */
  perSecond: number;
}

/** How many grants, the most urgent ones, are read. */
const MOST_SEEN = 10_000;

// The n-th grant by deadline is in time if n grants are exchanged until then. The maximum over all n is the required rate.
const seeGrants = statement<Record<never, never>, GrantsWaiting>("see_grants_waiting").sql(
  `SELECT count(*)::int AS waiting, coalesce(max(place / seconds), 0)::float8 AS "perSecond" FROM (
     SELECT row_number() OVER (ORDER BY grant_deadline) AS place,
       greatest(extract(epoch FROM grant_deadline - now()), 1) AS seconds
     FROM (SELECT grant_deadline FROM credentials WHERE state = 'grant_pending' AND grant_deadline > now()
       ORDER BY grant_deadline LIMIT ${MOST_SEEN}) urgent) placed`,
);

export const grantsWaiting = async (db: Queryable) => (await oneRow(db, seeGrants))!;

// The last check before a call that must not be sent twice: this process still has the lease for long enough, and the
// database accepts writes.
const mark = statement<{ rows: readonly Lease[] }, Lease>("mark_sent", { uuid: "uuid", lease: "int" }).sql(
  `UPDATE credentials c SET sent_at = now()
   FROM :rows AS i
   WHERE c.uuid = i.uuid AND c.lease = i.lease AND c.leased_until > now() + interval '${NEEDED_LEASE_SECONDS} seconds'
   RETURNING c.uuid, c.lease`,
);
const markTogether = groupCommit<Queryable, Lease, boolean>({
  async write(db, rows) {
    return areAmong(rows, await db.query(mark, { rows }));
  },
});

/**
 * Marks that a row's call is sent now. Returns `false` if the call must not be sent. A fresh claim suffices as the mark of
 * a refresh, which can be repeated. A grant is good for one call only, so the mark is always written immediately before
 * it, which proves that the database can store the outcome.
 */
export async function markSent(db: Queryable, row: ClaimedCredential): Promise<boolean> {
  const isFresh = Math.abs(Date.now() - row.claimedAtMs) < FRESH_MS;
  if (isFresh && row.state !== "grant_pending") return true;
  return retryWhileUnreachable(() => markTogether(db, row), AROUND_CALL);
}

const hold = statement<Lease>("hold_credential").sql(
  `UPDATE credentials SET ${extended(LEASE_SECONDS)} WHERE uuid = :uuid AND lease = :lease AND leased_until IS NOT NULL`,
);

/** Extends the lease of a row whose issued tokens the database does not take. */
export const holdCredential = (db: Queryable, { uuid, lease }: Lease) => db.query(hold, { uuid, lease });

const release = statement<Lease & { isUnknown: boolean }>("release_credential").sql(
  `UPDATE credentials SET leased_until = NULL, sent_at = NULL, outcome_unknown = outcome_unknown OR :isUnknown
   WHERE uuid = :uuid AND lease = :lease`,
);

/** Releases a row unchanged: no call was sent, or its outcome says nothing about the row. */
export async function releaseCredential(db: Queryable, { uuid, lease }: Lease, isUnknown = false) {
  await retryWhileUnreachable(() => db.query(release, { uuid, lease, isUnknown }), AROUND_CALL);
}

type Settle = Lease & {
  /** The state and the grant at the time of the call. The statement changes no row that has another one by now. */
  from: State;
  grantNumber: number | null;
  to: State;
} & Pick<Verdict, "reason" | "againInSeconds"> & {
    attempts: number | null;
    error: string | null;
    isUnknown: boolean;
    isRefused: boolean;
  };
// Stores every state change except those by new tokens or another code. If the state stays, it stores the next attempt.
const settleRow = statement<Settle, { uuid: string }>("settle_credential").sql(
  `WITH settled AS (
     UPDATE credentials SET state = :to::text, reason = CASE WHEN state = :to THEN reason ELSE :reason::text END,
       due_at = CASE WHEN :to IN ('active', 'needs_reauth') AND :againInSeconds::float8 IS NOT NULL AND ${whereGone("credentials.uuid")} THEN ${PAUSED}
         ELSE least(now() + make_interval(secs => :againInSeconds::float8), CASE WHEN state = :to THEN grant_deadline END) END,
       attempts = coalesce(:attempts::int, attempts), last_error = coalesce(:error, last_error),
       outcome_unknown = outcome_unknown OR :isUnknown,
       -- A refusal before a call of unknown outcome does not prove that this call used the code, so the refusal is cleared,
       -- here and at the claim. The first refusal of a code is dated a day back: the date marks only the code as refused. A
       -- row that returns to an older pair then does not count it as a refusal of today's refresh token.
       rejected_at = CASE WHEN :isUnknown AND state = 'grant_pending' THEN NULL
         WHEN NOT :isRefused THEN rejected_at
         WHEN state = 'grant_pending' THEN coalesce(rejected_at, now() - ${DATED_BACK})
         ELSE coalesce(rejected_at, now()) END,
       sealed_grant_code = CASE WHEN :to NOT IN ('grant_lost', 'needs_reauth') THEN sealed_grant_code END,
       -- A lost grant keeps its deadline, which allows tokens that arrive late to be stored.
       grant_deadline = CASE WHEN :to <> 'needs_reauth' THEN grant_deadline END,
       sealed_access_token = CASE WHEN :to <> 'needs_sign_in' THEN sealed_access_token END,
       sealed_refresh_token = CASE WHEN :to <> 'needs_sign_in' THEN sealed_refresh_token END,
       leased_until = NULL, sent_at = NULL
     WHERE uuid = :uuid AND lease = :lease AND state = :from::text AND grant_number = coalesce(:grantNumber::int, grant_number)
     RETURNING uuid, owner
   ), noted AS (
     INSERT INTO events (uuid, type, detail) SELECT uuid, :to, jsonb_build_object('reason', :reason::text) FROM settled
     WHERE :to <> :from AND owner = 'resource'
   )
   SELECT uuid FROM settled`,
);

// Finds a row that an earlier attempt has settled whose acknowledgement was lost. A separate statement, because the snapshot
// of settle_credential may be older than that commit.
const findSettled = statement<Pick<Settle, "uuid" | "lease" | "to" | "grantNumber">, { uuid: string }>(
  "find_settled_credential",
).sql(
  `SELECT uuid FROM credentials
   WHERE uuid = :uuid AND lease = :lease AND state = :to AND grant_number = coalesce(:grantNumber::int, grant_number)`,
);

export type Judged = Lease & { state: State; grantNumber?: number };

/**
 * Stores a verdict and releases the row. Returns `false` if the row was claimed again or has another code. Then only an
 * unknown outcome is stored, since the newer code may be the same one.
 */
export async function settle(
  db: Queryable,
  { uuid, lease, state, grantNumber }: Judged,
  verdict: Verdict,
): Promise<boolean> {
  const { on, reason, againInSeconds, attempts, isRefused = false, isUnknown = false, error } = verdict;
  const to = on === null ? state : stateAfter(state, on);
  const judged = { uuid, lease, to, grantNumber: grantNumber ?? null };
  let tries = 0;
  const isSettled = await retryWhileUnreachable(async () => {
    const isAgain = (tries += 1) > 1;
    const what = { reason, againInSeconds, attempts: attempts ?? null, error: error ?? null };
    if (await anyRow(db, settleRow, { ...judged, ...what, from: state, isUnknown, isRefused })) return true;
    return isAgain && (await anyRow(db, findSettled, judged));
  }, AROUND_CALL);
  if (!isSettled) await releaseCredential(db, { uuid, lease }, isUnknown);
  return isSettled;
}
