import { statement, type Database, type Queryable } from "../database/database.ts";
import { IS_RECOVERABLE } from "../credentials/queue.ts";
import type { ResourceState } from "../resources/states.ts";
import { ALARM_AFTER_ATTEMPTS } from "../work/queue.ts";

// What operators' actions read of many resources, and the little that they write besides what the rooms themselves do.
// The list and the audit trail have stores of their own (resources.ts, audit.ts).

/** A resource, as far as operators' work on its credentials and config vars depends on it. */
export interface FoundResource {
  uuid: string;
  state: ResourceState;
  /** The state of its credential. */
  credential: string;
  hasRefreshToken: boolean;
  /** It may get another grant. */
  isRecoverable: boolean;
  /** A command stored its grant, but ended before the exchange. */
  isOnItsWay: boolean;
}

const RESOURCES = `SELECT c.uuid, r.state, c.state AS credential, ${IS_RECOVERABLE} AS "isRecoverable",
     c.sealed_refresh_token IS NOT NULL AND NOT (c.state = 'quarantined' AND c.sealed_grant_code IS NOT NULL) AS "hasRefreshToken",
     c.state = 'grant_pending' AND c.due_at IS NOT NULL
       AND EXISTS (SELECT 1 FROM events e WHERE e.uuid = c.uuid AND e.type = 'grant_recovered') AS "isOnItsWay"
   FROM credentials c JOIN resources r USING (uuid)`;
const namedResources = statement("find_named_resources", `${RESOURCES} WHERE c.uuid = ANY($1::uuid[])`);
// Read at once: a hundred bytes for each resource.
const allResources = statement(
  "find_all_resources",
  `${RESOURCES} WHERE c.state <> 'erased' ORDER BY c.uuid`,
);

/** The resources of these uuids, or all but tombstones. */
export const findResources = (db: Database, uuids: readonly string[] | "all"): Promise<FoundResource[]> =>
  uuids === "all" ? db.readWhole(allResources) : db.query(namedResources, [uuids]);

const grantEnd = statement(
  "read_grant_end",
  `SELECT state, reason, last_error AS "lastError" FROM credentials WHERE uuid = $1`,
);

/** How far the exchange of a resource's grant is. */
export async function readGrantEnd(db: Queryable, uuid: string) {
  const rows = await db.query<{ state: string; reason: string | null; lastError: string | null }>(grantEnd, [
    uuid,
  ]);
  return rows[0] ?? null;
}

const sealedRows = statement(
  "count_sealed",
  `SELECT (SELECT count(*) FROM resources) + (SELECT count(*) FROM credentials) AS count`,
);

/** How many rows hold something sealed. */
export const countSealed = async (db: Database): Promise<number> =>
  (await db.readWhole<{ count: number }>(sealedRows))[0]!.count;

const setConfig = statement(
  "set_config",
  `UPDATE resources SET sealed_config = $2, updated_at = now() WHERE uuid = $1`,
);

/** Stores a sealed config; the caller holds the lock of the row. */
export async function storeConfig(tx: Queryable, uuid: string, sealed: Uint8Array): Promise<void> {
  await tx.query(setConfig, [uuid, sealed]);
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
