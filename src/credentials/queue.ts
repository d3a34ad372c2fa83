import { createGroupCommit, statement, type Queryable, type Statement } from "../database/database.ts";
import { retryWhileDatabaseAway } from "../database/retry.ts";
import type { Owner, State } from "./states.ts";
import { GRANT_SECONDS, type Tries } from "./verdict.ts";

// How work on credentials is found and claimed, in one statement each, so that there is no moment between seeing a row
// and owning it. `id = ANY(ARRAY(SELECT … FOR UPDATE SKIP LOCKED))` makes the sub-select run once whatever the planner
// chooses; in a FROM it became a sequential scan with a hash join at ten thousand rows. All comparisons use the
// database's clock. If a claim finds a grant with `sent_at` set, its previous holder sent the call and died before it
// stored the outcome. For a token pair, `sent_at` says nothing of the kind: there the claim itself sets it.

/** How long a claim holds: twice the longest call (20 s), and 5 s more. */
const LEASE_SECONDS = 45;
/** A call may only be sent while this much of the lease is left: the longest call (20 s) and the time to store it. */
const NEEDED_LEASE_SECONDS = 24;
/** How long a claimed row waits, before or after its call, for a database that is unreachable, before its lease ends it. */
export const AROUND_CALL = { upToMs: 15_000 };
/** A claim this recent counts as the sent mark: even if the process froze meanwhile, it still holds the lease. */
const FRESH_MS = 1_000;
/** The most rows ever claimed at once. It also tells the planner, which does not see $1, how many are wanted. */
const MOST_CLAIMED = 2_000;
/**
 * How many rows are claimed for each call that may be under way: while some are called for, the next are being claimed
 * and the last ones stored, each of which takes a commit. Not more: a row that waits in line behind a call of 20
 * seconds must then have enough of its lease left.
 */
export const ROWS_PER_CALL = 2;
/**
 * How rows are gathered for the statements before and after calls. Dozens of calls are in flight, and hardly anybody
 * waits for a single one; but only for a few milliseconds: a grant's tokens are lost if the process dies before they are
 * stored.
 */
export const BESIDE_CALLS = { maxRows: 500, maxQueued: 20_000, lingerMs: 5 };

/** A lease: which row, and the number of the claim. */
export interface Lease {
  uuid: string;
  lease: number;
}

/** A credential row taken for a call to the token endpoint. */
export interface ClaimedCredential extends Lease, Tries {
  owner: Owner;
  state: State;
  /** When the claim was sent (ms), by both clocks: the monotonic one stands still while the machine sleeps, the other can be set. */
  claimedAt: { monotonicMs: number; wallMs: number };
  grantNumber: number;
  /** How many token pairs were stored before. */
  generation: number;
  sealedGrantCode: Buffer | null;
  sealedRefreshToken: Buffer | null;
  /** A grant's time is over. */
  isOver: boolean;
  /** The id of the request that brought the grant, as the log names it. */
  requestId: string | null;
  /** For a row claimed by its uuid: when it was due before the claim. */
  dueBefore?: Date | null;
}

const TAKE = `
  UPDATE credentials SET
    lease = lease + 1,
    leased_until = now() + interval '${LEASE_SECONDS} seconds',
    outcome_unknown = outcome_unknown OR (sent_at IS NOT NULL AND state = 'grant_pending'),
    sent_at = CASE WHEN state <> 'grant_pending' THEN now() END`;

// `wasHeld`: the previous holder neither finished nor released the row, whose lease ended. (The sub-select sees the row
// as it was before the claim.) `rank`: a grant's deadline, or when a token pair fell due.
const BEFORE = (column: string) =>
  `(SELECT before.${column} FROM credentials before WHERE before.uuid = credentials.uuid)`;
const TAKEN = `
  RETURNING uuid, owner, state, lease, attempts, generation,
    grant_number AS "grantNumber",
    sealed_grant_code AS "sealedGrantCode",
    sealed_refresh_token AS "sealedRefreshToken",
    coalesce(grant_deadline <= now(), false) AS "isOver",
    outcome_unknown AS "outcomeUnknown",
    request_id AS "requestId",
    extract(epoch FROM now() - rejected_at)::float8 AS "rejectedForSeconds",
    ${BEFORE("leased_until")} IS NOT NULL AS "wasHeld",
    extract(epoch FROM coalesce(grant_deadline, due_at, now()))::float8 AS rank`;

const IS_FREE = `(leased_until IS NULL OR leased_until <= now())`;
const GRANT_IS_DUE = `state = 'grant_pending' AND due_at <= now()`;
const HAS_PAIR = `state IN ('active', 'needs_reauth', 'signed_in')`;

/** SQL: the uuids of the first $1 free rows for which `isDue` holds, in this order, locked. */
const firstOf = (isDue: string, order: string) => `ARRAY(SELECT uuid FROM (
    SELECT uuid FROM credentials WHERE ${isDue} AND ${IS_FREE}
    ORDER BY ${order} LIMIT ${MOST_CLAIMED} FOR UPDATE SKIP LOCKED) few LIMIT $1)`;

/** SQL condition: more grants are due than the $1 that are wanted. */
const ARE_MORE_DUE = `EXISTS (SELECT FROM (
    SELECT FROM credentials WHERE ${GRANT_IS_DUE} AND ${IS_FREE} ORDER BY due_at LIMIT ${MOST_CLAIMED} + 1) few OFFSET $1)`;

// Not in the order they fell due, which after an outage is random: a minute's backlog would cost grants in their last
// minute. They are ordered by our own deadline, since clocks differ and some grants name no end. The planner sorts all
// that are due, or reads the index of deadlines from its head, which is better in a backlog; but that index also holds
// all grants that are not due yet, thousands after a burst. So where no more are due than are wanted, all of them are
// taken from the head of the queue of due times. If a row changes while it is being claimed, PostgreSQL runs both
// sub-selects; what the other one locks is free again when the statement ends.
const claimGrantsDue = statement(
  "claim_grants",
  `${TAKE} WHERE uuid = ANY(CASE WHEN ${ARE_MORE_DUE}
    THEN ${firstOf(GRANT_IS_DUE, "grant_deadline")}
    ELSE ${firstOf(GRANT_IS_DUE, "due_at")} END) ${TAKEN}`,
);

const claimGrantsOver = statement(
  "claim_expired_grants",
  `${TAKE} WHERE uuid = ANY(${firstOf(`${GRANT_IS_DUE} AND grant_deadline <= now()`, "grant_deadline")}) ${TAKEN}`,
);

// One queue for the pairs of resources and of people; $2 leaves out the owners whose client secret is rejected.
const claimPairsDue = statement(
  "claim_refreshes",
  `${TAKE} WHERE uuid = ANY(${firstOf(
    `${HAS_PAIR} AND due_at <= now() AND sealed_refresh_token IS NOT NULL AND owner = ANY($2::text[])`,
    "due_at",
  )}) ${TAKEN}`,
);

// The row is due from now on, whether it was or not: if its holder dies, a sweep finds it, whatever the platform made
// of the call. A release restores the due time from before. Without a generation ($2) the row may be quarantined: if
// its refresh token opens, fresh tokens replace whatever does not.
const claimPair = statement(
  "claim_refresh",
  `${TAKE}, due_at = CASE WHEN state = 'quarantined' THEN due_at ELSE least(due_at, now()) END
   WHERE uuid = $1 AND ${IS_FREE} AND sealed_refresh_token IS NOT NULL AND generation = coalesce($2, generation)
     AND (${HAS_PAIR} OR (state = 'quarantined' AND $2::int IS NULL AND sealed_grant_code IS NULL))
   ${TAKEN}, ${BEFORE("due_at")} AS "dueBefore"`,
);

// A row that fell due more than a second ago and was not claimed is held back by something (another process, a rejected
// secret): it waits for the next sweep instead of being looked for without pause.
const nextDue = (name: string, isQueued: string) =>
  statement(
    name,
    `SELECT extract(epoch FROM min(due_at) - now())::float8 AS seconds FROM credentials
     WHERE ${isQueued} AND due_at > now() - interval '1 second'`,
  );
const nextGrantDue = nextDue("next_grant_due", "state = 'grant_pending'");
const nextPairDue = nextDue("next_refresh_due", HAS_PAIR);

// The last gate before a call that must not go out twice: the lease is still ours, for long enough, and the database
// takes what comes of it.
const markSent = statement(
  "mark_sent",
  `UPDATE credentials c SET sent_at = now()
   FROM unnest($1::uuid[], $2::int[]) AS i(uuid, lease)
   WHERE c.uuid = i.uuid AND c.lease = i.lease AND c.leased_until > now() + interval '${NEEDED_LEASE_SECONDS} seconds'
   RETURNING c.uuid, c.lease`,
);

// Restores the due time from before the claim ($3), unless the row was made due meanwhile: for a new client secret, or
// with another grant. $4: the outcome of the call is unknown.
const release = statement(
  "release_credential",
  `UPDATE credentials SET
     leased_until = NULL, sent_at = NULL, outcome_unknown = outcome_unknown OR $4,
     due_at = CASE WHEN due_at = leased_until - interval '${LEASE_SECONDS} seconds' THEN coalesce($3, due_at) ELSE due_at END
   WHERE uuid = $1 AND lease = $2`,
);

/**
 * SQL condition for the rows (a credential `c` of a resource `r`) that may get another grant. A put-off provision whose
 * grant was lost has failed or is about to, and gets none; one that came without a grant still waits for it.
 */
export const IS_RECOVERABLE = `(r.state = 'provisioned' AND (c.state IN ('grant_lost', 'no_grant', 'needs_reauth')
    OR c.state = 'active' AND c.rejected_at IS NOT NULL)
  OR c.state = 'no_grant' AND r.state = 'provisioning' AND r.answer_status IS NOT NULL)`;

// As for a repeated provision, but due at once: the platform has long had our answer. The statement checks the state
// again, so that two commands at the same moment, or a command and a redelivery, result in one grant. Existing tokens
// stay until new ones replace them: an access token may still work after its refresh token was refused.
const recover = statement(
  "recover_grant",
  `WITH recovered AS (
     UPDATE credentials c SET state = 'grant_pending', reason = NULL, sealed_grant_code = $2, grant_expires_at = $3,
       grant_number = c.grant_number + 1, grant_deadline = now() + interval '${GRANT_SECONDS} seconds', due_at = now(),
       attempts = 0, outcome_unknown = false, sent_at = NULL, rejected_at = NULL, last_error = NULL
     FROM resources r WHERE c.uuid = $1 AND r.uuid = c.uuid AND ${IS_RECOVERABLE} RETURNING c.uuid
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'grant_recovered' FROM recovered RETURNING uuid`,
);

const isWanted = statement(
  "is_grant_wanted",
  `SELECT c.uuid FROM credentials c JOIN resources r USING (uuid) WHERE c.uuid = $1 AND ${IS_RECOVERABLE}`,
);

interface Needs {
  db: Queryable;
  /** Counts rows taken over from holders that neither finished nor released them. */
  metrics: { steal(rows: number): void };
}

async function take(
  { db, metrics }: Needs,
  claim: Statement,
  values: unknown[],
): Promise<ClaimedCredential[]> {
  const claimedAt = readClocks();
  const rows = await db.query<ClaimedCredential & { rank: number; wasHeld: boolean }>(claim, values);
  for (const row of rows) row.claimedAt = claimedAt;
  const stolen = rows.filter(({ wasHeld }) => wasHeld).length;
  if (stolen > 0) metrics.steal(stolen);
  // Not all claimed rows can be called for at once, and an UPDATE returns its rows in any order.
  return rows.sort((one, other) => one.rank - other.rank);
}

/** Claims grants that may be exchanged now, the most urgent first. */
export const claimGrants = (ctx: Needs, most: number) => take(ctx, claimGrantsDue, [most]);

/** Claims grants whose time is over: they need no call, only an end. */
export const claimExpiredGrants = (ctx: Needs, most: number) => take(ctx, claimGrantsOver, [most]);

/** Claims token pairs that are due for a refresh. */
export const claimRefreshes = (ctx: Needs, most: number, owners: readonly Owner[]) =>
  take(ctx, claimPairsDue, [most, owners]);

/** Claims one pair, due or not. Null: another process holds it, there is none, or it is not of `generation` any more. */
export async function claimRefresh(
  ctx: Needs,
  uuid: string,
  generation?: number,
): Promise<ClaimedCredential | null> {
  return (await take(ctx, claimPair, [uuid, generation ?? null]))[0] ?? null;
}

/** Seconds until the next grant falls due; null: none is waiting. */
export const nextGrantInSeconds = ({ db }: Pick<Needs, "db">) => secondsOf(db, nextGrantDue);

/** Seconds until the next token pair falls due; null: none is waiting. */
export const nextRefreshInSeconds = ({ db }: Pick<Needs, "db">) => secondsOf(db, nextPairDue);

async function secondsOf(db: Queryable, what: Statement): Promise<number | null> {
  return (await db.query<{ seconds: number | null }>(what))[0]?.seconds ?? null;
}

/** Releases a row as it was: nothing was sent, or the outcome says nothing about the row. */
export async function releaseCredential(
  { db }: Pick<Needs, "db">,
  { uuid, lease, dueBefore = null }: Lease & { dueBefore?: Date | null },
  isUnknown = false,
): Promise<void> {
  await retryWhileDatabaseAway(() => db.query(release, [uuid, lease, dueBefore, isUnknown]), AROUND_CALL);
}

/**
 * Whether the claim is also the sent mark, so that no other statement is needed before the call. Only for a refresh,
 * which can be repeated, and only in the claim's first second. A grant is good for one call: right before it, the
 * database must show that it can store the outcome; and a call that was never made must not leave an unknown outcome
 * behind.
 */
export function isMarked({ state, claimedAt }: Pick<ClaimedCredential, "state" | "claimedAt">): boolean {
  const now = readClocks();
  const isFresh =
    now.monotonicMs - claimedAt.monotonicMs < FRESH_MS && Math.abs(now.wallMs - claimedAt.wallMs) < FRESH_MS;
  return isFresh && state !== "grant_pending";
}

/** Marks, for all rows that are ready at once, that their calls go out now. False: nothing may be sent. */
export function createMarkSent(db: Queryable): (row: Lease) => Promise<boolean> {
  const mark = createGroupCommit<Lease, boolean>({
    ...BESIDE_CALLS,
    write: async (rows) =>
      areAmong(
        rows,
        await db.query<Lease>(markSent, [rows.map(({ uuid }) => uuid), rows.map(({ lease }) => lease)]),
      ),
  });
  return (row) => retryWhileDatabaseAway(() => mark(row), AROUND_CALL);
}

/** For each row, in order, whether the database returned it: two rows of one batch may be of the same credential. */
export function areAmong(rows: readonly Lease[], answered: readonly Lease[]): boolean[] {
  const leases = new Set(answered.map(({ uuid, lease }) => `${uuid} ${lease}`));
  return rows.map(({ uuid, lease }) => leases.has(`${uuid} ${lease}`));
}

function readClocks() {
  return { monotonicMs: performance.now(), wallMs: Date.now() };
}

/** Puts a grant that was recovered into the queue. False: it is not wanted any more. */
export async function storeRecovered(
  db: Queryable,
  uuid: string,
  sealed: Uint8Array,
  expiresAt: Date | null,
) {
  return (await db.query(recover, [uuid, sealed, expiresAt])).length > 0;
}

export async function isGrantWanted(db: Queryable, uuid: string): Promise<boolean> {
  return (await db.query(isWanted, [uuid])).length > 0;
}
