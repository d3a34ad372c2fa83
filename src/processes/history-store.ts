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

// The one row that shows what has become of the database itself, and the hold that a restore begins.

/** SQL: the transaction that writes now, as `xmin` names it in the rows that it writes. */
export const OWN_XID = "txid_current() % 4294967296";
/** A dump that is loaded inserts the row by another transaction; a copy of the files, as of a standby, keeps it. */
const IS_LOADED = "(h.xmin::text::bigint <> h.written_by)";
export const IS_HELD = "(h.restored_at IS NOT NULL AND h.done_at IS NULL)";

/**
 * SQL condition: the service holds what may do harm after a restore, and `condition` is met; `h.restored_at`: since when.
 * Until a process has noticed that a dump was loaded, all is held.
 */
export const whereHeld = (condition = "true"): string =>
  `EXISTS (SELECT FROM database_history h WHERE ${IS_LOADED} OR (${IS_HELD} AND ${condition}))`;

/** SQL condition: what was created at this time came back with a restore, whether that is dealt with or not. */
export const whereBroughtBack = (createdAt: string): string =>
  `EXISTS (SELECT FROM database_history h WHERE ${createdAt} < h.restored_at)`;

export interface Timeline {
  timeline: number | null;
  /** PostgreSQL's settings name a point in time, or another one, at which a recovery ends. */
  hasTarget: boolean;
}

// It throws on a standby, and where a provider's PostgreSQL keeps no such files.
const timeline = statement<object, Timeline>("database_timeline").sql(
  `SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int AS timeline,
     concat(current_setting('recovery_target', true), current_setting('recovery_target_lsn', true),
       current_setting('recovery_target_name', true), current_setting('recovery_target_time', true),
       current_setting('recovery_target_xid', true)) <> '' AS "hasTarget"`,
);

export const readTimeline = async (db: Queryable) => (await oneRow(db, timeline))!;

const SHOWN = columnsOf<DatabaseHistory>()("h", "timeline", "because");

export interface History extends RowOf<typeof SHOWN> {
  /** The row was loaded from a dump, and no process has noticed yet. */
  isLoaded: boolean;
  isHeld: boolean;
  restoredAt: string | null;
  promotedAt: string | null;
  isPromotedLately: boolean | null;
  /** Since the last beat of any process; null: all have ended in order. */
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

/** Null: no process has been started on this database yet. */
export const readHistory = (db: Queryable): Promise<History | null> => oneRow(db, read);

type OnlyTimeline = Pick<DatabaseHistory, "timeline">;
type Id = Pick<DatabaseHistory, "id">;

const begin = statement<OnlyTimeline>("begin_database_history").sql(
  `INSERT INTO database_history (written_by, timeline) VALUES (${OWN_XID}, :timeline) ON CONFLICT (id) DO NOTHING`,
);

export const beginHistory = (db: Queryable, now: number | null) => db.query(begin, { timeline: now });

/** How a restore shows. `told`: an operator says so. */
export type Sign = "loaded" | "timeline" | "beats" | "told";

type Restore = OnlyTimeline & { sign: Sign; because: string };

const restored = statement<Restore, Id>("note_restore").sql(
  `UPDATE database_history h SET written_by = ${OWN_XID}, timeline = coalesce(:timeline, h.timeline), promoted_at = NULL,
     restored_at = now(), because = :because, done_at = NULL
   -- Of several processes that notice the same, one writes.
   WHERE CASE :sign WHEN 'loaded' THEN ${IS_LOADED} WHEN 'timeline' THEN h.timeline <> :timeline WHEN 'told' THEN NOT ${IS_HELD}
     -- A second restore while the first is not dealt with begins the hold again.
     ELSE NOT ${IS_HELD} OR h.restored_at < now() - interval '1 minute' END
   RETURNING id`,
);

/** Begins the hold. False: another process has. */
export const writeRestore = (db: Queryable, sign: Sign, now: number | null, because: string) =>
  anyRow(db, restored, { sign, timeline: now, because });

const promoted = statement<OnlyTimeline, Id>("note_promotion").sql(
  `UPDATE database_history h SET written_by = ${OWN_XID}, timeline = :timeline, promoted_at = now()
   WHERE h.timeline <> :timeline RETURNING id`,
);

/** False: another process has noted it. */
export const writePromotion = (db: Queryable, now: number) => anyRow(db, promoted, { timeline: now });

const done = statement<object, Id>("end_hold").sql(
  `UPDATE database_history h SET written_by = ${OWN_XID}, done_at = CASE WHEN h.restored_at IS NOT NULL THEN now() END, promoted_at = NULL
   WHERE ${IS_HELD} RETURNING id`,
);

/** Ends the hold. False: there was none. */
export const endHold = (db: Queryable) => anyRow(db, done);
