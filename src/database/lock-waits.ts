import type pg from "pg";
import { createPool } from "./pool.ts";

/** What a migration waits for, and the sessions that keep it waiting. */
export interface LockWait {
  /** Another migration is under way. */
  isForMigration: boolean;
  /**
   * The table or index that other sessions hold. Null: it waits for another migration, or for others' transactions to
   * end.
   */
  lockOn: string | null;
  /**
   * The session that has been busy for longest first. Empty: a prepared transaction, or a session that has just let go.
   */
  holders: Holder[];
}

/** A session that a migration waits for. Members that PostgreSQL does not show to our role are null. */
export interface Holder {
  pid: number;
  /** Its `application_name`; may be empty. */
  name: string | null;
  /** `idle in transaction` and the like. */
  state: string | null;
  /** The age of its transaction, in seconds; of another migration, that of its connection. */
  seconds: number | null;
}

const LOOKS_EVERY_MS = 500;
const TELLS_EVERY_MS = 10_000;

// Migrations poll for their advisory locks ($2) instead of queueing for them, so PostgreSQL knows no such wait: each
// session that holds one is a holder. Other waits count after 300 ms.
const LOCK_WAIT = `WITH waits AS (
    SELECT false AS "isForMigration", relation::regclass::text AS "lockOn", pg_blocking_pids(pid) AS pids
      FROM pg_locks WHERE pid = $1 AND NOT granted AND waitstart < clock_timestamp() - interval '300 ms'
    UNION ALL
    SELECT true, NULL, array_agg(pid) FROM pg_locks
     WHERE locktype = 'advisory' AND granted AND pid <> $1 AND objsubid = 1
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND (classid::bigint << 32 | objid::bigint) = ANY ($2)
    HAVING count(*) > 0
  ), sessions AS (
    SELECT *, CASE WHEN "isForMigration" THEN backend_start ELSE xact_start END AS since
      FROM waits LEFT JOIN pg_stat_activity ON pid = ANY (pids)
  )
  SELECT "isForMigration", "lockOn",
         coalesce(json_agg(json_build_object('pid', pid, 'name', application_name, 'state', state,
           'seconds', extract(epoch FROM clock_timestamp() - since)::int) ORDER BY since)
           FILTER (WHERE pid IS NOT NULL), '[]') AS holders
    FROM sessions GROUP BY 1, 2`;

/**
 * Watches, over a connection of its own, what the session `pid` waits for, and calls `onWait` for each such thing:
 * after a second or so, then every 10 s. Without that connection nothing is told. `locks` are those under which
 * migrations run.
 *
 * @returns a function that ends the watch
 */
export function tellLockWaits(
  address: pg.PoolConfig,
  { pid, locks, onWait }: { pid: number; locks: readonly number[]; onWait: (wait: LockWait) => void },
): () => Promise<void> {
  const pool = createPool({ ...address, max: 1 });
  let told = { what: "", at: -Infinity };
  let isLooking = false;

  async function look(): Promise<void> {
    const { rows } = await pool.query<LockWait>(LOCK_WAIT, [pid, locks]);
    if (!rows[0]) return;
    const what = `${rows[0].isForMigration} ${rows[0].lockOn}`;
    if (what === told.what && performance.now() - told.at < TELLS_EVERY_MS) return;
    told = { what, at: performance.now() };
    onWait(rows[0]);
  }

  const timer = setInterval(() => {
    if (isLooking) return;
    isLooking = true;
    look()
      .catch(() => undefined)
      .finally(() => (isLooking = false));
  }, LOOKS_EVERY_MS);

  return () => {
    clearInterval(timer);
    return pool.end();
  };
}
