import { statement, type Queryable, type Statement } from "../database/database.ts";

// How work on credentials is found and claimed, in one statement each, so that there is no moment between seeing a row
// and owning it. `id = ANY(ARRAY(SELECT … FOR UPDATE SKIP LOCKED))` makes the sub-select run once whatever the planner
// chooses; in a FROM it became a sequential scan with a hash join at ten thousand rows. All comparisons use the
// database's clock. If a claim finds a grant with `sent_at` set, its previous holder sent the call and died before it
// stored the outcome. For a token pair, `sent_at` says nothing of the kind: there the claim itself sets it.

/** How long a claim holds: twice the longest call (20 s), and 5 s more. */
export const LEASE_SECONDS = 45;
/** A call may only be sent while this much of the lease is left: the longest call (20 s) and the time to store it. */
export const NEEDED_LEASE_SECONDS = 24;

/**
 * How long a claimed row waits, before its call, for a database that is away. If it gave up at once, the row would stay
 * claimed until the lease ends.
 */
export const BEFORE_CALL_MS = 15_000;

/** A credential row taken for a call to the token endpoint. */
export interface ClaimedCredential {
  uuid: string;
  claimedAt: ClockReading;
  state: "grant_pending" | "active" | "needs_reauth" | "quarantined";
  lease: number;
  attempts: number;
  grantNumber: number;
  /** How many token pairs were stored before. */
  generation: number;
  sealedGrantCode: Buffer | null;
  sealedRefreshToken: Buffer | null;
  isOver: boolean;
  outcomeUnknown: boolean;
  /** The id of the request that brought the grant, as the log names it. */
  requestId: string | null;
  wasRefused: boolean;
  rejectedForSeconds: number | null;
  /**
   * The previous holder neither finished nor released the row, whose lease ended. (The sub-select of the claim sees the
   * row as it was before the claim.)
   */
  wasHeld: boolean;
  /** For a row claimed by its uuid: when it was due before the claim. */
  dueBefore?: Date | null;
  /** The order of rows claimed together: a grant's deadline, or when a token pair fell due, as seconds since 1970. */
  rank: number;
}

/**
 * When a claim was sent to the database (ms), by both clocks of the machine: the monotonic one (`monotonicMs`) stands still
 * while the machine sleeps, the wall clock can be set.
 */
interface ClockReading {
  monotonicMs: number;
  wallMs: number;
}

const readClocks = (): ClockReading => ({ monotonicMs: performance.now(), wallMs: Date.now() });

/** A claim this recent counts as the sent mark: even if the process froze meanwhile, it still holds the lease. */
const FRESH_MS = 1_000;

/**
 * Whether the claim is also the sent mark, so that no other statement is needed before the call. Only for a refresh,
 * which can be repeated, and only in the claim's first second. A grant is good for one call: right before it, the
 * database must show that it can store the outcome; and a call that was never made must not leave an unknown outcome
 * behind.
 */
export function isMarked({ state, claimedAt }: ClaimedCredential): boolean {
  const now = readClocks();
  const isFresh =
    now.monotonicMs - claimedAt.monotonicMs < FRESH_MS && Math.abs(now.wallMs - claimedAt.wallMs) < FRESH_MS;
  return isFresh && state !== "grant_pending";
}

const TAKE = `
  UPDATE credentials SET
    lease = lease + 1,
    leased_until = now() + interval '${LEASE_SECONDS} seconds',
    outcome_unknown = outcome_unknown OR (sent_at IS NOT NULL AND state = 'grant_pending'),
    sent_at = CASE WHEN state <> 'grant_pending' THEN now() END`;

const TAKEN = `
  RETURNING uuid, state, lease, attempts, generation,
    grant_number AS "grantNumber",
    sealed_grant_code AS "sealedGrantCode",
    sealed_refresh_token AS "sealedRefreshToken",
    coalesce(grant_deadline <= now(), false) AS "isOver",
    outcome_unknown AS "outcomeUnknown",
    request_id AS "requestId",
    rejected_at IS NOT NULL AS "wasRefused",
    extract(epoch FROM now() - rejected_at)::float8 AS "rejectedForSeconds",
    (SELECT before.leased_until IS NOT NULL FROM credentials before WHERE before.uuid = credentials.uuid) AS "wasHeld",
    extract(epoch FROM coalesce(grant_deadline, due_at, now()))::float8 AS rank`;

const IS_FREE = `(leased_until IS NULL OR leased_until <= now())`;

/**
 * The most rows ever claimed at once: two for each of a thousand calls. It also tells the planner, which does not see
 * $1, how many rows are wanted.
 */
const MOST_CLAIMED = 2_000;

/**
 * How many rows are claimed for each call that may be under way: while some are called for, the next are being claimed
 * and the last ones stored, each of which takes a commit. Not more: a row that waits in line behind a call of 20
 * seconds must then have enough of its lease left.
 */
export const ROWS_PER_CALL = 2;

/** SQL: the uuids of the first $1 free rows for which `isDue` holds, in this order, locked. */
const firstOf = (isDue: string, order: string) => `ARRAY(SELECT uuid FROM (
    SELECT uuid FROM credentials WHERE ${isDue} AND ${IS_FREE}
    ORDER BY ${order} LIMIT ${MOST_CLAIMED} FOR UPDATE SKIP LOCKED) few LIMIT $1)`;

const GRANT_IS_DUE = `state = 'grant_pending' AND due_at <= now()`;
const PAIR_IS_DUE = `state IN ('active', 'needs_reauth') AND due_at <= now() AND sealed_refresh_token IS NOT NULL`;

/** SQL condition: more grants are due than the $1 that are wanted. */
const ARE_MORE_DUE = `EXISTS (SELECT FROM (
    SELECT FROM credentials WHERE ${GRANT_IS_DUE} AND ${IS_FREE} ORDER BY due_at LIMIT ${MOST_CLAIMED} + 1) few OFFSET $1)`;

// Not in the order they fell due, which after an outage is random: a minute's backlog would cost grants in their last
// minute. They are ordered by our own deadline, since clocks differ and some grants name no end. The planner sorts all
// that are due, or reads the index of deadlines from its head, which is better in a backlog; but that index also holds
// all grants that are not due yet, thousands after a burst. So where no more are due than are wanted, all of them are
// taken from the head of the queue of due times. If a row changes while it is being claimed, PostgreSQL runs both
// sub-selects; what the other one locks is free again when the statement ends.
const claimGrants = statement(
  "claim_grants",
  `${TAKE} WHERE uuid = ANY(CASE WHEN ${ARE_MORE_DUE}
    THEN ${firstOf(GRANT_IS_DUE, "grant_deadline")}
    ELSE ${firstOf(GRANT_IS_DUE, "due_at")} END) ${TAKEN}`,
);

const claimExpiredGrants = statement(
  "claim_expired_grants",
  `${TAKE} WHERE uuid = ANY(ARRAY(
    SELECT uuid FROM credentials
    WHERE ${GRANT_IS_DUE} AND grant_deadline <= now() AND ${IS_FREE}
    ORDER BY grant_deadline LIMIT $1 FOR UPDATE SKIP LOCKED)) ${TAKEN}`,
);

const claimRefreshes = statement(
  "claim_refreshes",
  `${TAKE} WHERE uuid = ANY(${firstOf(PAIR_IS_DUE, "due_at")}) ${TAKEN}`,
);

// The row is due from now on, whether it was or not: if its holder dies, a sweep finds it, whatever the platform made
// of the call. A release restores the due time from before. Without a generation ($2) the row may be quarantined: if
// its refresh token opens, fresh tokens replace whatever does not.
const claimRefresh = statement(
  "claim_refresh",
  `${TAKE}, due_at = CASE WHEN state = 'quarantined' THEN due_at ELSE least(due_at, now()) END
   WHERE uuid = $1 AND ${IS_FREE} AND sealed_refresh_token IS NOT NULL AND generation = coalesce($2, generation)
     AND (state IN ('active', 'needs_reauth') OR (state = 'quarantined' AND $2::int IS NULL AND sealed_grant_code IS NULL))
   ${TAKEN},
     (SELECT before.due_at FROM credentials before WHERE before.uuid = credentials.uuid) AS "dueBefore"`,
);

// A row that fell due more than a second ago and was not claimed is held back by something (another process, a rejected
// secret): it waits for the next sweep instead of being looked for without pause.
const nextDue = (name: string, states: string) =>
  statement(
    name,
    `SELECT extract(epoch FROM min(due_at) - now())::float8 AS seconds FROM credentials
     WHERE state IN (${states}) AND due_at > now() - interval '1 second'`,
  );
const nextGrantDue = nextDue("next_grant_due", "'grant_pending'");
const nextRefreshDue = nextDue("next_refresh_due", "'active', 'needs_reauth'");

export function createClaims(db: Queryable, onSteal: (rows: number) => void) {
  const secondsOf = async (what: Statement) =>
    (await db.query<{ seconds: number | null }>(what))[0]?.seconds ?? null;
  const take = async (...claim: Parameters<Queryable["query"]>): Promise<ClaimedCredential[]> => {
    const claimedAt = readClocks();
    const rows = await db.query<ClaimedCredential>(...claim);
    for (const row of rows) row.claimedAt = claimedAt;
    const stolen = rows.filter(({ wasHeld }) => wasHeld).length;
    if (stolen > 0) onSteal(stolen);
    // Not all claimed rows can be called for at once, and an UPDATE returns its rows in any order.
    return rows.sort((one, other) => one.rank - other.rank);
  };
  return {
    /** Grants that may be exchanged now, the most urgent first. */
    grants: (most: number) => take(claimGrants, [most]),
    /** Grants whose time is over: they need no call, only an end. */
    expiredGrants: (most: number) => take(claimExpiredGrants, [most]),
    /** Token pairs due for a refresh. */
    refreshes: (most: number) => take(claimRefreshes, [most]),
    /**
     * One token pair, due or not. Null: another process holds it, there is none, or it is not of `generation` any more.
     */
    refresh: async (uuid: string, generation: number | null = null) =>
      (await take(claimRefresh, [uuid, generation]))[0] ?? null,
    /** Seconds until the next grant falls due; null: none is waiting. */
    nextGrantInSeconds: () => secondsOf(nextGrantDue),
    /** Seconds until the next token pair falls due; null: none is waiting. */
    nextRefreshInSeconds: () => secondsOf(nextRefreshDue),
  };
}

export type Claims = ReturnType<typeof createClaims>;
