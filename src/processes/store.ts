import type { Process as ProcessRow } from "../database/client/client.ts";
import type { Database } from "../database/database.ts";
import {
  columnsOf,
  oneRow,
  type Queryable,
  type RowOf,
  snakeCase,
  statement,
} from "../database/statement.ts";
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
export interface Identity extends Pick<
  ProcessRow,
  "id" | "host" | "pid" | "version" | "commit" | "node" | "keyId"
> {
  role: Role;
  keyIds: readonly string[];
}

/** What a beat brings along. */
export interface Beat extends Pick<ProcessRow, "why" | "beats"> {
  state: OwnState;
  upSeconds: number;
  refused: (RefusedWrite & { agoSeconds: number; firstAgoSeconds: number }) | null;
  ahead: Ahead;
  calls: Calls;
}

/** The platform's calls: how many had a wrong password since the last one with the right password. */
export interface Calls {
  wrongPasswords: number;
  /** Of the first of these; null: there was none. */
  wrongAgoSeconds: number | null;
  rightAgoSeconds: number | null;
}

/** SQL condition on a process: it has not said that it ended. */
export const RUNS = `state IN ('starting', 'ready', 'stopping')`;

type Late = { lateSeconds: number };

type Written = Identity &
  Late &
  Pick<Beat, "state" | "why" | "upSeconds" | "beats"> &
  Pick<ProcessRow, "refusedState" | "refusedReason" | "databaseAhead" | "platformAhead"> & {
    refusedAgoSeconds: number | null;
    refusedFirstAgoSeconds: number | null;
  } & Calls;

// One row, found by its key. It is inserted again if it was pruned, or lost with a restore.
const beat = statement<Written, Answer>("process_beat").sql(
  `WITH before AS (
     SELECT beats, CASE WHEN missed_at IS NOT NULL THEN extract(epoch FROM now() - beat_at)::float8 END AS seconds
     FROM processes WHERE id = :id
   ), written AS (
     INSERT INTO processes AS p (id, role, host, pid, version, commit, node, key_id, key_ids,
       state, why, started_at, beat_at, steady_since,
       refused_at, refused_since, refused_state, refused_reason, database_ahead, platform_ahead, beats,
       wrong_passwords, wrong_passwords_since, right_password_at)
     VALUES (:id, :role, :host, :pid, :version, :commit, :node, :keyId, :keyIds,
       :state, :why, now() - make_interval(secs => :upSeconds::float8), now(), now(),
       now() - make_interval(secs => :refusedAgoSeconds::float8),
       now() - make_interval(secs => :refusedFirstAgoSeconds::float8), :refusedState, :refusedReason,
       :databaseAhead, :platformAhead, :beats,
       :wrongPasswords, now() - make_interval(secs => :wrongAgoSeconds::float8),
       now() - make_interval(secs => :rightAgoSeconds::float8))
     ON CONFLICT (id) DO UPDATE SET state = excluded.state, why = excluded.why, beat_at = now(), missed_at = NULL,
       -- Begins again after a gap, and after a jump of the database's clock.
       steady_since = CASE WHEN now() - p.beat_at BETWEEN interval '0' AND make_interval(secs => :lateSeconds::float8 / 2)
         THEN p.steady_since ELSE now() END,
       refused_at = excluded.refused_at, refused_since = excluded.refused_since, refused_state = excluded.refused_state, refused_reason = excluded.refused_reason,
       database_ahead = excluded.database_ahead, platform_ahead = excluded.platform_ahead,
       beats = excluded.beats, wrong_passwords = excluded.wrong_passwords,
       wrong_passwords_since = excluded.wrong_passwords_since, right_password_at = excluded.right_password_at
     -- A process that has ended stays so: a beat that hung on its way may arrive after the last one.
     WHERE p.${RUNS} RETURNING p.id
   )
   SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS "nowMs", (SELECT seconds FROM before) AS "missedSeconds",
     coalesce((SELECT beats FROM before), 0) AS "beatsBefore", EXISTS (SELECT FROM written) AS "isWritten",
     -- The others that cannot decrypt what this process seals.
     ARRAY(SELECT role || ' ' || host || ':' || pid FROM processes
       WHERE id <> :id AND state = 'ready' AND beat_at > now() - make_interval(secs => :lateSeconds::float8)
         AND NOT :keyId = ANY(key_ids)
       ORDER BY 1) AS lacking`,
);

/** After how many seconds without a beat, a row that says that its process runs, says it wrongly. */
export const lateAfterSeconds = ({ beatMs }: { beatMs: number }) => (6 * beatMs) / 1_000;

export interface Answer {
  /** The database's time. */
  nowMs: number;
  /** For how long this process was thought missing. */
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
  identity: Identity,
  { state, why, upSeconds, refused, ahead, beats, calls }: Beat,
  lateSeconds: number,
): Promise<Answer> {
  const answer = await oneRow(db, beat, {
    ...identity,
    ...calls,
    state,
    why,
    upSeconds,
    beats,
    lateSeconds,
    refusedAgoSeconds: refused?.agoSeconds ?? null,
    refusedFirstAgoSeconds: refused?.firstAgoSeconds ?? null,
    refusedState: refused?.state ?? null,
    refusedReason: refused?.reason ?? null,
    databaseAhead: ahead.database,
    platformAhead: ahead.platform,
  });
  return answer!;
}

type Ended = Pick<Identity, "id" | "role" | "host" | "pid" | "version" | "commit" | "node"> & {
  why: string;
  upSeconds: number;
};
// Only columns that the table has had from its first migration on: the database may lack the later ones, and that may be why
// the process ends.
const misconfigured = statement<Ended>("note_misconfigured").sql(
  `INSERT INTO processes AS p (id, role, host, pid, version, commit, node, state, why, started_at, beat_at, steady_since)
   VALUES (:id, :role, :host, :pid, :version, :commit, :node, 'misconfigured', :why,
     now() - make_interval(secs => :upSeconds::float8), now(), now())
   ON CONFLICT (id) DO UPDATE SET state = excluded.state, why = excluded.why, beat_at = now() WHERE p.${RUNS}`,
);

/** Stores that a process ends because of its settings or surroundings. */
export const writeMisconfigured = (db: Queryable, ended: Ended) => db.query(misconfigured, ended);

// After an outage, or when the database has just started, all are late together. So a process is missing only if another
// one has beaten for as long without a gap, or if none beats at all.
const CAN_TELL = `(pg_postmaster_start_time() < now() - make_interval(secs => :lateSeconds::float8)
  AND coalesce((SELECT bool_or(q.steady_since <= now() - make_interval(secs => :lateSeconds::float8)) FROM processes q
    WHERE q.${RUNS} AND q.beat_at > now() - make_interval(secs => :lateSeconds::float8)), true))` as const;
const STATE =
  `CASE WHEN NOT p.${RUNS} OR p.beat_at > now() - make_interval(secs => :lateSeconds::float8) THEN p.state
  WHEN p.beat_at <= now() - interval '1 hour' THEN 'gone' WHEN ${CAN_TELL} THEN 'missing' ELSE p.state END` as const;

const MISSED = columnsOf<ProcessRow>()("m", "role", "host", "pid", "version", "commit");

export interface Missing extends RowOf<typeof MISSED> {
  role: Role;
  seconds: number;
}

const notice = statement<Late, Missing>("notice_missing_processes").sql(
  `WITH ended AS (
     -- They are of interest for a day, and of a process that is restarted again and again, the last hundred.
     SELECT id FROM (
       SELECT id, beat_at, row_number() OVER (ORDER BY beat_at DESC) AS nth FROM processes
       WHERE NOT ${RUNS} OR beat_at <= now() - interval '1 hour') old
     WHERE beat_at < now() - interval '1 day' OR nth > 100
   ), pruned AS (
     DELETE FROM processes WHERE id IN (SELECT id FROM processes WHERE id IN (SELECT id FROM ended) FOR UPDATE SKIP LOCKED)
   )
   -- One process raises the alarm for all, once.
   UPDATE processes m SET missed_at = now() WHERE m.missed_at IS NULL AND m.id IN (
     SELECT p.id FROM processes p WHERE p.missed_at IS NULL AND ${STATE} = 'missing' FOR UPDATE SKIP LOCKED)
   RETURNING ${MISSED}, extract(epoch FROM now() - m.beat_at)::float8 AS seconds`,
);

/** The processes that have been missing since the last call, of whichever process. Prunes what ended long ago. */
export const noticeMissing = (db: Queryable, lateSeconds: number): Promise<Missing[]> =>
  db.query(notice, { lateSeconds });

const SHOWN = columnsOf<ProcessRow>()(
  "p",
  "role",
  "host",
  "pid",
  "version",
  "commit",
  "node",
  "keyId",
  "keyIds",
  "why",
);

/** A process as its row and the database's clock show it. */
export interface Process extends RowOf<typeof SHOWN> {
  role: Role;
  startedAt: string;
  lastBeatAt: string;
  state: State;
  /** Since the last beat, and since the start. */
  beatSeconds: number;
  startSeconds: number;
  /** `since`: of the first refusal of the trouble that this one is part of; null: a release stored it that did not know. */
  lastRefusedWrite: (RefusedWrite & { at: string; since: string | null; agoSeconds: number }) | null;
  ahead: Ahead;
  calls: Calls;
}

const column = (member: keyof ProcessRow) => `p.${snakeCase(member)}`;
const time = (member: keyof ProcessRow) =>
  `to_char(${column(member)} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const ago = (member: keyof ProcessRow) => `extract(epoch FROM now() - ${column(member)})::float8`;
const list = statement<Late, Process>("list_processes").sql(
  `SELECT ${SHOWN}, ${STATE} AS state,
     ${time("startedAt")} AS "startedAt", ${time("beatAt")} AS "lastBeatAt",
     ${ago("beatAt")} AS "beatSeconds", ${ago("startedAt")} AS "startSeconds",
     CASE WHEN p.refused_at IS NOT NULL THEN json_build_object('state', p.refused_state, 'reason', p.refused_reason,
       'at', ${time("refusedAt")}, 'since', ${time("refusedSince")}, 'agoSeconds', ${ago("refusedAt")}) END AS "lastRefusedWrite",
     json_build_object('database', p.database_ahead, 'platform', p.platform_ahead) AS ahead,
     json_build_object('wrongPasswords', p.wrong_passwords, 'wrongAgoSeconds', ${ago("wrongPasswordsSince")},
       'rightAgoSeconds', ${ago("rightPasswordAt")}) AS calls
   FROM processes p ORDER BY p.${RUNS} DESC, p.started_at DESC, p.id LIMIT 1000`,
);

/** Those that run, then those that ended within the last day; of each, the newest first. */
export const listProcesses = (db: Queryable, lateSeconds: number): Promise<Process[]> =>
  db.query(list, { lateSeconds });

// What a sale writes first, into the tables of sales. No other session ever sees it.
//
//   resources + failed   credentials + erased   steps + provision   events + write_tried
const tryInsert = statement<{ uuid: string; some: string }>("try_insert").sql(
  `WITH resource AS (
     -- Some kilobytes, which are stored beside the row in pages of their own.
     INSERT INTO resources (uuid, plan, state, options)
     VALUES (:uuid, '', 'failed', jsonb_build_object('trial', :some::text))
   ), credential AS (
     INSERT INTO credentials (uuid, state) VALUES (:uuid, 'erased')
   ), step AS (
     INSERT INTO steps (uuid, kind) VALUES (:uuid, 'provision')
   )
   INSERT INTO events (uuid, type) VALUES (:uuid, 'write_tried')`,
);
const tryUpdate = statement<{ uuid: string }>("try_update").sql(
  `WITH resource AS (UPDATE resources SET updated_at = now() WHERE uuid = :uuid)
   UPDATE credentials SET last_error = NULL WHERE uuid = :uuid`,
);
// They are taken back, not deleted: the service's role may not delete a resource or what happened to it.
const mark = statement("try_mark").sql(`SAVEPOINT tried`);
const takeBack = statement("try_take_back").sql(`ROLLBACK TO SAVEPOINT tried`);
const littleMemory = statement("try_little_memory").sql(`SELECT set_config('work_mem', '64kB', true)`);
// Room that deleted rows left in the tables hides a full disk for a while. A read that does not fit its memory always
// takes new blocks of the disk, and needs no right.
const tryDisk = statement("try_disk").sql(`SELECT count(*)::int AS count FROM generate_series(1, 100000)`);

/** Writes a row of each kind that a sale writes, changes them, takes them back, and commits. Throws PostgreSQL's error. */
export async function tryWrite(db: Database, uuid: string, some: string): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.query(mark);
    await tx.query(tryInsert, { uuid, some });
    await tx.query(tryUpdate, { uuid });
    await tx.query(takeBack);
    await tx.query(littleMemory);
    await tx.query(tryDisk);
  });
}
