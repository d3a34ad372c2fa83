import { statement, type Database, type Queryable } from "../database/database.ts";
import { IS_RECOVERABLE } from "../credentials/queue.ts";
import { FIRST_UUID } from "../uuid.ts";
import { ALARM_AFTER_ATTEMPTS } from "../work/put-off.ts";

// What operators' actions read of many resources, page by page in the order of their uuids, and the little that they
// write besides what the rooms themselves do. The list and the audit trail have stores of their own (resources.ts,
// audit.ts).

const PAGE_SIZE = 500;

/** Counts the rows of `tables` that meet `condition`. `name` is that of the statement. */
export async function countRows(
  db: Database,
  name: string,
  tables: readonly string[],
  condition = "true",
): Promise<number> {
  const counts = tables.map((table) => `(SELECT count(*) FROM ${table} WHERE ${condition})`);
  const [row] = await db.readWhole<{ count: number }>(
    statement(name, `SELECT ${counts.join(" + ")} AS count`),
  );
  return row!.count;
}

/** A token pair, as far as it decides whether it is refreshed. */
export interface FoundTokens {
  uuid: string;
  state: string;
  hasRefreshToken: boolean;
}

const TOKENS = `SELECT uuid, state, sealed_refresh_token IS NOT NULL AND NOT (state = 'quarantined' AND sealed_grant_code IS NOT NULL) AS "hasRefreshToken" FROM credentials WHERE owner = 'resource'`;
const namedTokens = statement("find_tokens", `${TOKENS} AND uuid = ANY($1::uuid[])`);
const someTokens = statement(
  "page_of_tokens",
  `${TOKENS} AND state <> 'erased' AND uuid > $1 ORDER BY uuid LIMIT ${PAGE_SIZE}`,
);

export const tokensNamed = (db: Queryable, uuids: readonly string[]): Promise<FoundTokens[]> =>
  db.query(namedTokens, [uuids]);
export const tokensAfter = (db: Queryable, uuid: string | null): Promise<FoundTokens[]> =>
  db.query(someTokens, [uuid ?? FIRST_UUID]);
/** How many rows {@link tokensAfter} has in all. */
export const countTokens = (db: Database): Promise<number> =>
  countRows(db, "count_tokens", ["credentials"], "owner = 'resource' AND state <> 'erased'");

/** A resource, as far as it decides whether a grant is asked for. */
export interface FoundGrant {
  uuid: string;
  /** The credential's state, or the resource's where that says more. */
  state: string;
  isRecoverable: boolean;
  /** An earlier command stored its grant but ended before the exchange. */
  isOnItsWay: boolean;
}

const IS_ON_ITS_WAY = `(c.state = 'grant_pending' AND c.due_at IS NOT NULL
  AND EXISTS (SELECT 1 FROM events e WHERE e.uuid = c.uuid AND e.type = 'grant_recovered'))`;
const GRANTS = `SELECT c.uuid, ${IS_RECOVERABLE} AS "isRecoverable", ${IS_ON_ITS_WAY} AS "isOnItsWay",
     CASE WHEN r.state = 'provisioned' THEN c.state ELSE r.state END AS state
   FROM credentials c JOIN resources r USING (uuid)`;
const namedGrants = statement("find_named_grants", `${GRANTS} WHERE c.uuid = ANY($1::uuid[])`);
// Each state is read by its own index, in the order of uuids: among millions of rows the candidates may be few, or
// nearly all. `needs_reauth` is left out: its grant was exchanged, and the platform gives no other for it. It can only
// be recovered by name.
const nextOf = (from: string) => `(SELECT uuid FROM ${from} AND uuid > $1 ORDER BY uuid LIMIT $2::int)`;
const PENDING = `(SELECT uuid FROM credentials WHERE state = 'grant_pending' AND due_at IS NOT NULL OFFSET 0) pending WHERE true`;
const someGrants = statement(
  "find_recoverable_grants",
  `WITH candidates AS MATERIALIZED (
     SELECT uuid FROM (${["credentials WHERE state = 'grant_lost'", "credentials WHERE state = 'no_grant'", PENDING].map(nextOf).join(" UNION ALL ")}) next
     ORDER BY uuid LIMIT $2::int
   )
   ${GRANTS} JOIN candidates USING (uuid) ORDER BY c.uuid`,
);

export const grantsNamed = (db: Queryable, uuids: readonly string[]): Promise<FoundGrant[]> =>
  db.query(namedGrants, [uuids]);
/** At most `size` of those that may have lost theirs, or never got one; each says whether it is recoverable. */
export const grantsAfter = (db: Queryable, uuid: string | null, size = PAGE_SIZE): Promise<FoundGrant[]> =>
  db.query(someGrants, [uuid ?? FIRST_UUID, size]);

export interface GrantRow {
  state: string;
  reason: string | null;
  lastError: string | null;
}

const readGrantEnd = statement(
  "read_grant_end",
  `SELECT state, reason, last_error AS "lastError" FROM credentials WHERE uuid = $1`,
);

export const grantRow = async (db: Queryable, uuid: string): Promise<GrantRow | null> =>
  (await db.query<GrantRow>(readGrantEnd, [uuid]))[0] ?? null;

/** A resource, as far as it decides whether its config vars are compared. */
export interface FoundConfig {
  uuid: string;
  credential: string;
  hasConfig: boolean;
}

const CAN_BE_ASKED = "state IN ('provisioning', 'provisioned')";
const someConfigs = statement(
  "page_of_configs",
  `SELECT r.uuid, c.state AS credential, r.sealed_config IS NOT NULL AS "hasConfig"
   FROM resources r JOIN credentials c USING (uuid)
   WHERE r.${CAN_BE_ASKED} AND r.uuid > $1 ORDER BY r.uuid LIMIT ${PAGE_SIZE}`,
);
export const configsAfter = (db: Queryable, uuid: string | null): Promise<FoundConfig[]> =>
  db.query(someConfigs, [uuid ?? FIRST_UUID]);
/** How many rows {@link configsAfter} has in all. */
export const countConfigs = (db: Database): Promise<number> =>
  countRows(db, "count_configs", ["resources"], CAN_BE_ASKED);

// Only if the stored config is still the one that was read: a plan change may have stored a new one.
const keep = statement(
  "keep_config",
  `UPDATE resources SET sealed_config = $2, updated_at = now()
   WHERE uuid = $1 AND state <> 'deprovisioned' AND sealed_config IS NOT DISTINCT FROM $3::bytea RETURNING uuid`,
);

/** Stores a sealed config in place of the one that was read. False: another was stored meanwhile. */
export async function keepConfig(
  db: Queryable,
  uuid: string,
  sealed: { now: Uint8Array; before: Buffer | null },
): Promise<boolean> {
  return (await db.query(keep, [uuid, sealed.now, sealed.before])).length > 0;
}

// Clears what a tombstone still holds about a customer. The row itself stays, so that its uuid can never be used again,
// and so do the types and times of its events.
const clear = statement(
  "clear_tombstone",
  `WITH cleared AS (
     UPDATE resources SET name = NULL, options = '{}', callback_url = NULL, app_id = NULL, app_name = NULL,
       updated_at = now()
     WHERE uuid = $1 AND state = 'deprovisioned' RETURNING uuid
   ), blanked AS (
     UPDATE events e SET detail = '{}' FROM cleared WHERE e.uuid = cleared.uuid AND e.detail <> '{}'
   )
   SELECT uuid FROM cleared`,
);

export async function clearTombstone(db: Queryable, uuid: string): Promise<void> {
  await db.query(clear, [uuid]);
}

/** A step as it is stored. */
export interface StepRow {
  kind: string;
  tries: number;
  lastError: string | null;
  said: string | null;
  nextTryAt: Date | null;
  isUnderWay: boolean;
}

const ofResource = statement(
  "waiting_steps",
  `SELECT kind, attempts AS tries, last_error AS "lastError", due_at AS "nextTryAt",
     CASE WHEN kind IN ('finish', 'clean_up') AND last_error IS NULL THEN detail->>'said' END AS said,
     coalesce(leased_until > now(), false) AS "isUnderWay"
   FROM steps WHERE uuid = $1 ORDER BY id`,
);

export const stepsOf = (db: Queryable, uuid: string): Promise<StepRow[]> => db.query(ofResource, [uuid]);

/** Reached within about twenty seconds; a short outage of any platform causes fewer. */
export const SEVERAL_TRIES = 5;

// The more often a step has failed, the later it is due; a step that the vendor's service said is still going on is
// mostly due late as well. So a bounded part, read from that end of the index, holds the steps to be found, however
// many wait for their first try.
const failing = statement(
  "failing_steps",
  `SELECT uuid, kind, attempts >= ${ALARM_AFTER_ATTEMPTS} OR "isLate" AS "isAlarm"
   FROM (SELECT uuid, kind, attempts, last_error, detail ? 'isLate' AND kind IN ('finish', 'clean_up') AS "isLate" FROM steps WHERE due_at IS NOT NULL ORDER BY due_at DESC LIMIT 10000) latest
   WHERE (attempts >= ${SEVERAL_TRIES} AND last_error IS NOT NULL) OR "isLate" ORDER BY attempts DESC, uuid`,
);

/** The steps that keep failing or take too long, those with the most tries first. */
export const stepsThatFail = (db: Queryable): Promise<{ uuid: string; kind: string; isAlarm: boolean }[]> =>
  db.query(failing, []);

/** The refreshes of one hour, in all processes. */
export interface Hour {
  at: Date;
  refreshed: number;
  failed: number;
  /** How often refreshes were held back, because the platform failed several times in a row. */
  heldBack: number;
}

// The series yields a row for every hour, also for those in which nothing was counted.
const hours = statement(
  "operator_hours",
  `SELECT at,
     coalesce(sum(value) FILTER (WHERE sample = 'addon_refreshes_total' AND labels LIKE '%"issued"%'), 0)::int AS refreshed,
     coalesce(sum(value) FILTER (WHERE sample = 'addon_refreshes_total' AND labels NOT LIKE '%"issued"%'), 0)::int AS failed,
     coalesce(sum(value) FILTER (WHERE sample = 'addon_refresh_breaker_openings_total'), 0)::int AS "heldBack"
   FROM generate_series(date_trunc('hour', now(), 'UTC') - interval '23 hours', now(), interval '1 hour') AS at
   LEFT JOIN metric_hours ON hour = at GROUP BY at ORDER BY at`,
);

/** The last 24 hours, oldest first; the last one is the current hour. */
export const readHours = (db: Queryable): Promise<Hour[]> => db.query(hours);
