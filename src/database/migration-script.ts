import { setTimeout as sleep } from "node:timers/promises";
import pg from "./driver.ts";
import { lockingFirst } from "./migration-locks.ts";
import { goesOnAfterCommit } from "./script-text.ts";

// A migration that needs a table for itself waits until all sessions that read the table have let go, and everybody who
// comes meanwhile waits behind the migration. Behind a backup, which reads for an hour, that would stop the whole
// service. So the migration gives up after a moment, lets the others through, and tries again. The timeout is longer
// than `deadlock_timeout`, by which PostgreSQL ends its own vacuum for the migration, and shorter than the service's
// patience with a lock.
const LOCK_TIMEOUT_MS = 1_500;
const STEPS_BACK_FOR_MS = 2_000;
/** A session that holds a table for longer than this may never let go of it, so the migration fails. */
const GIVES_UP_AFTER_MS = 10 * 60_000;

/** Not RESET, which restores the setting of the role: behind a pooler, the service's own role has two seconds. */
const WAIT_FOR_LOCKS = "SET lock_timeout = 0";

/** Another session held a lock for too long; or PostgreSQL ended the migration to resolve a deadlock. */
const HELD_BY_OTHERS = ["55P03", "40P01"];
const NOT_IN_A_TRANSACTION = "25001";

/**
 * Runs the script of a migration over a pool of one connection. The transaction that does the work also records that it
 * is done: if the migrating process dies, PostgreSQL may still complete it, and then the next process must know.
 */
export async function runScript(pool: pg.Pool, script: string): Promise<void> {
  const [id] = await unfinished(pool);
  // The script may end with a comment, or with a statement without its semicolon.
  const done = id ? `\n;UPDATE _prisma_migrations SET finished_at = now() WHERE id = '${id}'` : "";
  // `pool.query` would drop the connection after an error, and with it the lock that the migrating process holds.
  const client = await pool.connect();
  try {
    // A script that goes on after a COMMIT could not be started again, so it waits for locks without limit.
    if (goesOnAfterCommit(script)) await send(client, script + done);
    else await steppingBack(client, `${await lockingFirst(client, script)}${script}${done}`);
  } catch (error) {
    if (done === "" || !hasState(error, NOT_IN_A_TRANSACTION)) throw error;
    // What PostgreSQL refuses in a transaction (an index made CONCURRENTLY) is alone in its script: it is sent without
    // `done`, keeps no other session waiting, and may itself wait for as long as it takes. Cut off, it leaves a half-made
    // index behind, so it is not repeated.
    await client.query(WAIT_FOR_LOCKS);
    await client.query(script);
  } finally {
    await client.query(WAIT_FOR_LOCKS).catch(() => undefined);
    client.release();
  }
}

/**
 * Marks the migrations that another process began and did not finish as rolled back; otherwise {@link runScript} would
 * record them as done. Only for the process that holds the lock under which migrations run.
 */
export async function forgetUnfinished(pool: pg.Pool): Promise<void> {
  const ids = await unfinished(pool);
  if (ids.length > 0)
    await pool.query("UPDATE _prisma_migrations SET rolled_back_at = now() WHERE id = ANY($1)", [ids]);
}

async function unfinished(pool: pg.Pool): Promise<string[]> {
  const { rows: tables } = await pool.query<{ name: string | null }>(
    "SELECT to_regclass('_prisma_migrations')::text AS name",
  );
  if (!tables[0]?.name) return [];
  const { rows } = await pool.query<{ id: string }>(
    "SELECT id FROM _prisma_migrations WHERE finished_at IS NULL AND rolled_back_at IS NULL",
  );
  return rows.map(({ id }) => id);
}

async function steppingBack(client: pg.PoolClient, script: string): Promise<void> {
  const until = performance.now() + GIVES_UP_AFTER_MS;
  await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`);
  for (;;) {
    try {
      return await send(client, script);
    } catch (error) {
      if (!hasState(error, ...HELD_BY_OTHERS) || performance.now() > until) throw error;
      await sleep(STEPS_BACK_FOR_MS);
    }
  }
}

async function send(client: pg.PoolClient, script: string): Promise<void> {
  try {
    await client.query(script);
  } catch (error) {
    // A transaction that the script itself began is still open: no statement could succeed in it, not even recording
    // the error.
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

function hasState(error: unknown, ...states: string[]): boolean {
  return error instanceof pg.DatabaseError && states.includes(error.code ?? "");
}
