import { busyStatement, statement, type Queryable, type Statement } from "../../database/database.ts";

// How work on credentials is found and taken. One statement each, so that there is no moment between seeing a row and
// owning it. `id = ANY(ARRAY(SELECT … FOR UPDATE SKIP LOCKED))` makes the sub-select run once whatever the planner
// thinks; in a FROM it became a sequential scan with a hash join at ten thousand rows. All comparisons use the
// database's clock. If a claim finds a grant with `sent_at` set, its holder before sent the call and died before it stored
// the outcome. Of a token pair `sent_at` says nothing such: there the claim itself sets it.

/** How long a claim holds: twice the longest call, and some. */
export const LEASE_SECONDS = 45;
/** A call may only be sent while this much of the lease is left: the longest call (20 s) and the time to store it. */
export const NEEDED_LEASE_SECONDS = 24;

/** How long a claimed row waits for a database that is away, before its call; else it would wait for the lease's end. */
export const BEFORE_CALL_MS = 15_000;

/** A credential row taken for a call to the token endpoint. */
export interface ClaimedCredential {
  uuid: string;
  claimedAt: Moment;
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
  /** The request that brought the grant, as the log calls it. */
  requestId: string | null;
  wasRefused: boolean;
  rejectedForSeconds: number | null;
  /** Its holder neither finished nor gave it back: the statement still sees the row as it was before. */
  wasHeld: boolean;
  /** When it was due, of one that was claimed before its time. */
  dueBefore?: Date | null;
  /** What comes first of those claimed together: a grant by its end, a token pair by when it fell due. */
  rank: Date;
}

/** When a claim left for the database, by both clocks of the machine: one stands still while it sleeps, one can be set. */
interface Moment {
  passed: number;
  wall: number;
}

const moment = (): Moment => ({ passed: performance.now(), wall: Date.now() });

/** So young a claim says as much as a mark: whoever froze for less still has the lease. */
const FRESH_MS = 1_000;

/**
 * Whether the claim is the mark for the call too, so that no other statement need come between. Only a refresh's, which
 * can be repeated, and only in its first second. A grant is good for one call: right before it the database must show
 * that it takes what will come of it, and of a call that was never made nobody may say that its outcome is unknown.
 */
export function isMarked({ state, claimedAt }: ClaimedCredential): boolean {
  const { passed, wall } = moment();
  const isFresh = passed - claimedAt.passed < FRESH_MS && Math.abs(wall - claimedAt.wall) < FRESH_MS;
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
    coalesce(grant_deadline, due_at, now()) AS rank`;

const IS_FREE = `(leased_until IS NULL OR leased_until <= now())`;

/** More are never asked for: two for each of a thousand calls. Plans are made for so many, without a look at $1. */
const MOST_CLAIMED = 2_000;

const firstOf = (due: string) => `
  WHERE uuid = ANY(ARRAY(SELECT uuid FROM (${due} LIMIT ${MOST_CLAIMED} FOR UPDATE SKIP LOCKED) few LIMIT $1))`;

// Not in the order they fell due, which after an outage is that of chance: a minute's backlog would cost grants whose
// last minute it is. Our own deadline orders them, for clocks differ and some grants name no end. With few due, the
// planner sorts them; with many, it reads the index of deadlines from its head.
const claimGrants = busyStatement(
  "claim_grants",
  `${TAKE} ${firstOf(`
    SELECT uuid FROM credentials
    WHERE state = 'grant_pending' AND due_at <= now() AND ${IS_FREE}
    ORDER BY grant_deadline`)} ${TAKEN}`,
);

const claimExpiredGrants = statement(
  "claim_expired_grants",
  `${TAKE} WHERE uuid = ANY(ARRAY(
    SELECT uuid FROM credentials
    WHERE state = 'grant_pending' AND due_at <= now() AND grant_deadline <= now() AND ${IS_FREE}
    ORDER BY grant_deadline LIMIT $1 FOR UPDATE SKIP LOCKED)) ${TAKEN}`,
);

const claimRefreshes = busyStatement(
  "claim_refreshes",
  `${TAKE} ${firstOf(`
    SELECT uuid FROM credentials
    WHERE state IN ('active', 'needs_reauth') AND due_at <= now() AND ${IS_FREE} AND sealed_refresh_token IS NOT NULL
    ORDER BY due_at`)} ${TAKEN}`,
);

// Due or not, from now on it is: should its holder die, a sweep finds it, whatever the platform made of the call. Given
// back, it is due as it was. Who names the resource and no generation may mean one that was put aside: where its refresh
// token opens, fresh tokens take the place of whatever does not.
const claimRefresh = statement(
  "claim_refresh",
  `${TAKE}, due_at = CASE WHEN state = 'quarantined' THEN due_at ELSE least(due_at, now()) END
   WHERE uuid = $1 AND ${IS_FREE} AND sealed_refresh_token IS NOT NULL AND generation = coalesce($2, generation)
     AND (state IN ('active', 'needs_reauth') OR (state = 'quarantined' AND $2::int IS NULL AND sealed_grant_code IS NULL))
   ${TAKEN},
     (SELECT before.due_at FROM credentials before WHERE before.uuid = credentials.uuid) AS "dueBefore"`,
);

// What fell due more than a second ago and was not taken is held back by something (another process, a rejected
// secret); it waits for the next sweep instead of being looked for without pause.
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
    const claimedAt = moment();
    const rows = await db.query<ClaimedCredential>(...claim);
    for (const row of rows) row.claimedAt = claimedAt;
    const stolen = rows.filter(({ wasHeld }) => wasHeld).length;
    if (stolen > 0) onSteal(stolen);
    // Not all that are claimed can be called for at once, and an UPDATE gives rows back in any order.
    return rows.sort((one, other) => one.rank.getTime() - other.rank.getTime());
  };
  return {
    /** Grants that may be exchanged now, the most urgent first. */
    grants: (most: number) => take(claimGrants, [most]),
    /** Grants whose time is over: they need no call, only an end. */
    expiredGrants: (most: number) => take(claimExpiredGrants, [most]),
    /** Token pairs due for a refresh. */
    refreshes: (most: number) => take(claimRefreshes, [most]),
    /** One token pair, due or not; null while another process holds it, there is none, or it is not `generation` any more. */
    refresh: async (uuid: string, generation: number | null = null) =>
      (await take(claimRefresh, [uuid, generation]))[0] ?? null,
    /** Seconds until the next grant falls due; null: none is waiting. */
    nextGrantInSeconds: () => secondsOf(nextGrantDue),
    /** Seconds until the next token pair falls due; null: none is waiting. */
    nextRefreshInSeconds: () => secondsOf(nextRefreshDue),
  };
}

export type Claims = ReturnType<typeof createClaims>;
