import type { DatabaseHistory } from "../database/client/client.ts";
import {
  anyRow,
  columnsOf,
  oneRow,
  type Queryable,
  type RowOf,
  snakeCase,
  statement,
} from "../database/statement.ts";
import { RUNS } from "./store.ts";

// The one row of `database_history`, by which a process notices that the database was restored from a backup or that a
// standby was promoted (processes/history.ts). A restore begins a hold: steps and jobs that may do harm wait until an operator
// has compared the ledgers and ends the hold (kit after-restore).

/** SQL: the id of the present transaction, which PostgreSQL stores as `xmin` in the rows that it writes. */
export const OWN_XID = "txid_current() % 4294967296";
/** SQL condition: the row came from a dump, whose loading is another transaction. A copy of the files keeps `xmin`. */
const IS_LOADED = "(h.xmin::text::bigint <> h.written_by)";
/** SQL condition: a restore was noticed, and no operator has ended its hold. */
export const IS_HELD = "(h.restored_at IS NOT NULL AND h.done_at IS NULL)";

/**
 * SQL condition: a restore holds the work for which `condition` is met; `h.restored_at` is the time of the restore. Between
 * the loading of a dump and the moment when a process notices it, all work is held.
 */
export const whereHeld = (condition = "true"): string =>
  `EXISTS (SELECT FROM database_history h WHERE ${IS_LOADED} OR (${IS_HELD} AND ${condition}))`;

/**
 * SQL condition: a row created at this time is from the backup, whether the hold is ended or not. Until a process notices that
 * a dump was loaded, every row is.
 */
export const whereBroughtBack = (createdAt: string): string =>
  `EXISTS (SELECT FROM database_history h WHERE ${IS_LOADED} OR ${createdAt} < h.restored_at)`;

export interface Timeline {
  timeline: number | null;
  /** PostgreSQL's settings name the point at which a recovery ends, such as a time. */
  hasTarget: boolean;
}

// Throws on a standby, and on a provider's PostgreSQL without such files.
const timeline = statement<object, Timeline>("database_timeline").sql(
  `SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int AS timeline,
     concat(current_setting('recovery_target', true), current_setting('recovery_target_lsn', true),
       current_setting('recovery_target_name', true), current_setting('recovery_target_time', true),
       current_setting('recovery_target_xid', true)) <> '' AS "hasTarget"`,
);

export const readTimeline = async (db: Queryable) => (await oneRow(db, timeline))!;

const SHOWN = columnsOf<DatabaseHistory>()("h", "timeline", "because");

export interface History extends RowOf<typeof SHOWN> {
  /** The row was loaded from a dump, and no process has noticed it yet. */
  isLoaded: boolean;
  isHeld: boolean;
  restoredAt: string | null;
  promotedAt: string | null;
  isPromotedLately: boolean | null;
  /** The time since the last beat of any process; `null` if all processes have ended in order. */
  quietSeconds: number | null;
}

const time = (member: keyof DatabaseHistory) =>
  `to_char(h.${snakeCase(member)} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;
const read = statement<object, History>("read_database_history").sql(
  `SELECT ${SHOWN}, ${IS_LOADED} AS "isLoaded", ${IS_HELD} AS "isHeld",
     ${time("restoredAt")} AS "restoredAt", ${time("promotedAt")} AS "promotedAt",
     h.promoted_at > now() - interval '1 day' AS "isPromotedLately",
     (SELECT extract(epoch FROM now() - max(beat_at))::float8 FROM processes
       WHERE EXISTS (SELECT FROM processes WHERE ${RUNS})) AS "quietSeconds"
   FROM database_history h`,
);

/** `null` if no process was ever started on this database. */
export const readHistory = (db: Queryable): Promise<History | null> => oneRow(db, read);

type OnlyTimeline = Pick<DatabaseHistory, "timeline">;
type Id = Pick<DatabaseHistory, "id">;

const begin = statement<OnlyTimeline>("begin_database_history").sql(
  `INSERT INTO database_history (written_by, timeline) VALUES (${OWN_XID}, :timeline) ON CONFLICT (id) DO NOTHING`,
);

export const beginHistory = (db: Queryable, now: number | null) => db.query(begin, { timeline: now });

/**
 * How a restore was noticed: a dump was `loaded`, the `timeline` changed, the `beats` of this process are lower than it
 * wrote, or an operator reported it (`told`).
 */
export type Sign = "loaded" | "timeline" | "beats" | "told";

type Restore = OnlyTimeline & { sign: Sign; because: string };

const restored = statement<Restore, Id>("note_restore").sql(
  `UPDATE database_history h SET written_by = ${OWN_XID}, timeline = coalesce(:timeline, h.timeline), promoted_at = NULL,
     restored_at = now(), because = :because, done_at = NULL
   -- Of several processes that notice the same restore, one writes it.
   WHERE CASE :sign WHEN 'loaded' THEN ${IS_LOADED} WHEN 'timeline' THEN h.timeline <> :timeline WHEN 'told' THEN NOT ${IS_HELD}
     -- A second restore during the hold of the first begins the hold again.
     ELSE NOT ${IS_HELD} OR h.restored_at < now() - interval '1 minute' END
   RETURNING id`,
);

/** Begins the hold. Returns `false` if another process has begun it. */
export const writeRestore = (db: Queryable, sign: Sign, now: number | null, because: string) =>
  anyRow(db, restored, { sign, timeline: now, because });

const promoted = statement<OnlyTimeline, Id>("note_promotion").sql(
  `UPDATE database_history h SET written_by = ${OWN_XID}, timeline = :timeline, promoted_at = now()
   WHERE h.timeline <> :timeline RETURNING id`,
);

/** Notes that a standby was promoted. Returns `false` if another process has noted it. */
export const writePromotion = (db: Queryable, now: number) => anyRow(db, promoted, { timeline: now });

const done = statement<object, Id>("end_hold").sql(
  `UPDATE database_history h SET written_by = ${OWN_XID}, done_at = CASE WHEN h.restored_at IS NOT NULL THEN now() END, promoted_at = NULL
   WHERE ${IS_HELD} RETURNING id`,
);

/** Ends the hold. Returns `false` if there was none. */
export const endHold = (db: Queryable) => anyRow(db, done);
