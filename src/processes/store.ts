import { statement, type Database, type Queryable } from "../database/database.ts";
import type { Ahead } from "./clocks.ts";

// The rows of the long-lived processes. Each writes its own, by the database's clock alone, so that a wrong clock of a
// process, or one that was frozen, misleads none of the others.

export type Role = "web" | "worker";

/** What a process writes of itself. */
export type OwnState = "starting" | "ready" | "stopping" | "stopped" | "misconfigured";

/** `missing`: it has not beaten for a minute; `gone`: not for an hour, and it counts as ended. */
export type State = OwnState | "missing" | "gone";

/** A write that the database refused for its own state, and not for that of the data. */
export interface RefusedWrite {
  /** The SQLSTATE. */
  state: string;
  /** The statement's name, and PostgreSQL's words. */
  reason: string;
}

/** Who a process is; fixed from its start on. */
export interface Identity {
  id: string;
  role: Role;
  host: string;
  pid: number;
  version: string;
  commit: string;
  node: string;
  keyId: string | null;
  keyIds: readonly string[];
}

/** What a beat brings along. */
export interface Beat {
  state: OwnState;
  why: string | null;
  upSeconds: number;
  refused: (RefusedWrite & { agoSeconds: number }) | null;
  ahead: Ahead;
  /** Which beat it is. */
  beats: number;
}

/** SQL condition on a process: it has not said that it ended. */
export const RUNS = `state IN ('starting', 'ready', 'stopping')`;

// One row, found by its key. A row that is not there was pruned, or lost with a restore, and is written again. One that
// has ended stays so: a beat that hung on its way may arrive after the last one. `steady_since` begins again after a gap,
// and after a jump of the database's clock. Returns the database's time; for how long this process was thought missing;
// and which others cannot decrypt what it seals.
const beat = statement(
  "process_beat",
  `WITH before AS (
     SELECT beats, CASE WHEN missed_at IS NOT NULL THEN extract(epoch FROM now() - beat_at)::float8 END AS seconds
     FROM processes WHERE id = $1
   ), written AS (
     INSERT INTO processes AS p (id, role, host, pid, version, commit, node, key_id, key_ids, state, why, started_at,
       beat_at, steady_since, refused_at, refused_state, refused_reason, database_ahead, platform_ahead, beats)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now() - make_interval(secs => $12::float8),
       now(), now(), now() - make_interval(secs => $13::float8), $14, $15, $16, $17, $19)
     ON CONFLICT (id) DO UPDATE SET state = excluded.state, why = excluded.why, beat_at = now(), missed_at = NULL,
       steady_since = CASE WHEN now() - p.beat_at BETWEEN interval '0' AND make_interval(secs => $18::float8 / 2)
         THEN p.steady_since ELSE now() END,
       refused_at = excluded.refused_at, refused_state = excluded.refused_state, refused_reason = excluded.refused_reason,
       database_ahead = excluded.database_ahead, platform_ahead = excluded.platform_ahead,
       beats = excluded.beats
     WHERE p.${RUNS} RETURNING p.id
   )
   SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS "nowMs", (SELECT seconds FROM before) AS "missedSeconds",
     coalesce((SELECT beats FROM before), 0) AS "beatsBefore", EXISTS (SELECT FROM written) AS "isWritten",
     ARRAY(SELECT role || ' ' || host || ':' || pid FROM processes
       WHERE id <> $1 AND state = 'ready' AND beat_at > now() - make_interval(secs => $18::float8) AND NOT $8 = ANY(key_ids)
       ORDER BY 1) AS lacking`,
);

/** After how many seconds without a beat, a row that says that its process runs, says it wrongly. */
export const lateAfterSeconds = ({ beatMs }: { beatMs: number }) => (6 * beatMs) / 1_000;

export interface Answer {
  nowMs: number;
  missedSeconds: number | null;
  /** What its row said before; 0: there was none. */
  beatsBefore: number;
  /** False: the row says that the process has ended. */
  isWritten: boolean;
  lacking: string[];
}

/** Writes the row of a process. */
export async function writeBeat(
  db: Queryable,
  { id, role, host, pid, version, commit, node, keyId, keyIds }: Identity,
  { state, why, upSeconds, refused, ahead, beats }: Beat,
  lateSeconds: number,
): Promise<Answer> {
  const rows = await db.query<Answer>(beat, [
    ...[id, role, host, pid, version, commit, node, keyId, keyIds, state, why, upSeconds],
    ...[refused?.agoSeconds ?? null, refused?.state ?? null, refused?.reason ?? null],
    ...[ahead.database, ahead.platform, lateSeconds, beats],
  ]);
  return rows[0]!;
}

// After an outage, or when the database has just started, all are late together. So a process is missing only if another
// one has beaten for as long without a gap, or if none beats at all.
const CAN_TELL = `(pg_postmaster_start_time() < now() - make_interval(secs => $1::float8)
  AND coalesce((SELECT bool_or(q.steady_since <= now() - make_interval(secs => $1::float8)) FROM processes q
    WHERE q.${RUNS} AND q.beat_at > now() - make_interval(secs => $1::float8)), true))`;
const STATE = `CASE WHEN NOT p.${RUNS} OR p.beat_at > now() - make_interval(secs => $1::float8) THEN p.state
  WHEN p.beat_at <= now() - interval '1 hour' THEN 'gone' WHEN ${CAN_TELL} THEN 'missing' ELSE p.state END`;

// One process raises the alarm for all, once. Ended ones are of interest for a day, and of a process that is restarted
// again and again, the last hundred.
const notice = statement(
  "notice_missing_processes",
  `WITH ended AS (
     SELECT id FROM (
       SELECT id, beat_at, row_number() OVER (ORDER BY beat_at DESC) AS nth FROM processes
       WHERE NOT ${RUNS} OR beat_at <= now() - interval '1 hour') old
     WHERE beat_at < now() - interval '1 day' OR nth > 100
   ), pruned AS (
     DELETE FROM processes WHERE id IN (SELECT id FROM processes WHERE id IN (SELECT id FROM ended) FOR UPDATE SKIP LOCKED)
   )
   UPDATE processes SET missed_at = now() WHERE missed_at IS NULL AND id IN (
     SELECT id FROM processes p WHERE missed_at IS NULL AND ${STATE} = 'missing' FOR UPDATE SKIP LOCKED)
   RETURNING role, host, pid, version, commit, extract(epoch FROM now() - beat_at)::float8 AS seconds`,
);

export type Missing = Pick<Identity, "role" | "host" | "pid" | "version" | "commit"> & { seconds: number };

/** The processes that have been missing since the last call, of whichever process. Prunes what ended long ago. */
export const noticeMissing = (db: Queryable, lateSeconds: number): Promise<Missing[]> =>
  db.query(notice, [lateSeconds]);

/** A process as its row and the database's clock show it. */
export interface Process extends Omit<Identity, "id"> {
  startedAt: string;
  lastBeatAt: string;
  state: State;
  why: string | null;
  /** Since the last beat, and since the start. */
  beatSeconds: number;
  startSeconds: number;
  lastRefusedWrite: (RefusedWrite & { at: string; agoSeconds: number }) | null;
  ahead: Ahead;
}

const time = (column: string) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const ago = (column: string) => `extract(epoch FROM now() - ${column})::float8`;
const list = statement(
  "list_processes",
  `SELECT role, host, pid, version, commit, node, key_id AS "keyId", key_ids AS "keyIds", why, ${STATE} AS state,
     ${time("started_at")} AS "startedAt", ${time("beat_at")} AS "lastBeatAt",
     ${ago("beat_at")} AS "beatSeconds", ${ago("started_at")} AS "startSeconds",
     CASE WHEN refused_at IS NOT NULL THEN json_build_object('state', refused_state, 'reason', refused_reason,
       'at', ${time("refused_at")}, 'agoSeconds', ${ago("refused_at")}) END AS "lastRefusedWrite",
     json_build_object('database', database_ahead, 'platform', platform_ahead) AS ahead
   FROM processes p ORDER BY ${RUNS} DESC, started_at DESC, id LIMIT 1000`,
);

/** Those that run, then those that ended within the last day; of each, the newest first. */
export const listProcesses = (db: Queryable, lateSeconds: number): Promise<Process[]> =>
  db.query(list, [lateSeconds]);

// What a sale writes first, into the tables of sales, and some kilobytes, which are stored beside the row in pages of
// their own. No other session ever sees it.
const tryInsert = statement(
  "try_insert",
  `WITH resource AS (
     INSERT INTO resources (uuid, plan, applied_plan, state, options) VALUES ($1, '', '', 'failed', jsonb_build_object('trial', $2::text))
   ), credential AS (
     INSERT INTO credentials (uuid, state) VALUES ($1, 'erased')
   ), step AS (
     INSERT INTO steps (uuid, kind) VALUES ($1, 'provision')
   )
   INSERT INTO events (uuid, type) VALUES ($1, 'write_tried')`,
);
const tryUpdate = statement(
  "try_update",
  `WITH resource AS (UPDATE resources SET updated_at = now() WHERE uuid = $1)
   UPDATE credentials SET last_error = NULL WHERE uuid = $1`,
);
// They are taken back, not deleted: the service's role may not delete a resource or what happened to it.
const mark = statement("try_mark", `SAVEPOINT tried`);
const takeBack = statement("try_take_back", `ROLLBACK TO SAVEPOINT tried`);
const littleMemory = statement("try_little_memory", `SELECT set_config('work_mem', '64kB', true)`);
// Room that deleted rows left in the tables hides a full disk for a while. A read that does not fit its memory always
// takes new blocks of the disk, and needs no right.
const tryDisk = statement("try_disk", `SELECT count(*)::int AS count FROM generate_series(1, 100000)`);

/** Writes a row of each kind that a sale writes, changes them, takes them back, and commits. Throws PostgreSQL's error. */
export async function tryWrite(db: Database, uuid: string, some: string): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query(mark);
    await tx.query(tryInsert, [uuid, some]);
    await tx.query(tryUpdate, [uuid]);
    await tx.query(takeBack);
    await tx.query(littleMemory);
    await tx.query(tryDisk);
  });
}
