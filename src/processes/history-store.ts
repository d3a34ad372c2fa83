import { statement, type Queryable } from "../database/database.ts";
import { RUNS } from "./store.ts";

// The one row that shows what has become of the database itself, and the hold that a restore begins.

/** SQL: the transaction that writes now, as `xmin` names it in the rows that it writes. */
const OWN_XID = "txid_current() % 4294967296";
/** A dump that is loaded inserts the row by another transaction; a copy of the files, as of a standby, keeps it. */
const IS_LOADED = "(h.xmin::text::bigint <> h.written_by)";
const IS_HELD = "(h.restored_at IS NOT NULL AND h.done_at IS NULL)";

/**
 * SQL condition: the service holds what may do harm after a restore, and `condition` is met; `h.restored_at`: since when.
 * Until a process has noticed that a dump was loaded, all is held.
 */
export const whereHeld = (condition = "true"): string =>
  `EXISTS (SELECT FROM database_history h WHERE ${IS_LOADED} OR (${IS_HELD} AND ${condition}))`;

/** SQL condition: what was created at this time came back with a restore, whether that is dealt with or not. */
export const whereBroughtBack = (createdAt: string): string =>
  `EXISTS (SELECT FROM database_history h WHERE ${createdAt} < h.restored_at)`;

// It throws on a standby, and where a provider's PostgreSQL keeps no such files.
const timeline = statement(
  "database_timeline",
  `SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int AS timeline`,
);

export const readTimeline = async (db: Queryable) =>
  (await db.query<{ timeline: number }>(timeline))[0]!.timeline;

const time = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
const read = statement(
  "read_database_history",
  `SELECT ${IS_LOADED} AS "isLoaded", ${IS_HELD} AS "isHeld", h.timeline, h.because,
     ${time("h.restored_at")} AS "restoredAt", ${time("h.promoted_at")} AS "promotedAt",
     h.promoted_at > now() - interval '1 day' AS "isPromotedLately",
     (SELECT extract(epoch FROM now() - max(beat_at))::float8 FROM processes
       WHERE EXISTS (SELECT FROM processes WHERE ${RUNS})) AS "quietSeconds"
   FROM database_history h`,
);

export interface History {
  /** The row was loaded from a dump, and no process has noticed yet. */
  isLoaded: boolean;
  isHeld: boolean;
  timeline: number | null;
  because: string | null;
  restoredAt: string | null;
  promotedAt: string | null;
  isPromotedLately: boolean | null;
  /** Since the last beat of any process; null: all have ended in order. */
  quietSeconds: number | null;
}

/** Null: no process has been started on this database yet. */
export const readHistory = async (db: Queryable): Promise<History | null> =>
  (await db.query<History>(read))[0] ?? null;

const begin = statement(
  "begin_database_history",
  `INSERT INTO database_history (written_by, timeline) VALUES (${OWN_XID}, $1) ON CONFLICT (id) DO NOTHING`,
);

export const beginHistory = (db: Queryable, now: number | null) => db.query(begin, [now]);

/** How a restore shows. `told`: an operator says so. */
export type Sign = "loaded" | "timeline" | "beats" | "told";

// Of several processes that notice the same, one writes. A second restore while the first is not dealt with begins again.
const restored = statement(
  "note_restore",
  `UPDATE database_history h SET written_by = ${OWN_XID}, timeline = coalesce($2, h.timeline), promoted_at = NULL,
     restored_at = now(), because = $3, done_at = NULL
   WHERE CASE $1 WHEN 'loaded' THEN ${IS_LOADED} WHEN 'timeline' THEN h.timeline <> $2 WHEN 'told' THEN NOT ${IS_HELD}
     ELSE NOT ${IS_HELD} OR h.restored_at < now() - interval '1 minute' END
   RETURNING id`,
);

/** Begins the hold. False: another process has. */
export const writeRestore = async (db: Queryable, sign: Sign, now: number | null, because: string) =>
  (await db.query(restored, [sign, now, because])).length > 0;

const promoted = statement(
  "note_promotion",
  `UPDATE database_history h SET written_by = ${OWN_XID}, timeline = $1, promoted_at = now() WHERE h.timeline <> $1 RETURNING id`,
);

/** False: another process has noted it. */
export const writePromotion = async (db: Queryable, now: number) =>
  (await db.query(promoted, [now])).length > 0;

const done = statement(
  "end_hold",
  `UPDATE database_history h SET written_by = ${OWN_XID}, done_at = CASE WHEN h.restored_at IS NOT NULL THEN now() END, promoted_at = NULL
   WHERE ${IS_HELD} RETURNING id`,
);

/** Ends the hold. False: there was none. */
export const endHold = async (db: Queryable) => (await db.query(done)).length > 0;
