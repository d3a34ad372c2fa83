import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";

// A migration that needs a table for itself waits until all sessions that read the table have let go, and everybody who
// comes meanwhile waits behind the migration. Behind a backup, which reads for an hour, that would stop the whole
// service. So the migration gives up after a moment, lets the others through, and tries again. The timeout is longer
// than `deadlock_timeout`, by which PostgreSQL ends its own vacuum for the migration, and shorter than the service's
// patience with a lock.
const LOCK_TIMEOUT_MS = 1_500;
const STEPS_BACK_FOR_MS = 2_000;
/** A session that holds a table for longer than this may never let go of it, so the migration fails. */
const GIVES_UP_AFTER_MS = 10 * 60_000;

/**
 * A script that goes on after a COMMIT could not be started again after a timeout, so it waits for locks without limit.
 */
const GOES_ON_AFTER_COMMIT = /(^|;)\s*(COMMIT|END)\b[^;]*;\s*\S/i;
/**
 * What is not a statement: comments, strings, quoted names, and bodies of functions, where END means something else.
 */
const NO_STATEMENT =
  /--.*|\/\*[^]*?\*\/|\bE'(?:\\[^]|[^'\\])*'|'[^']*'|"[^"]*"|(\$\w*\$)[^]*?\1|\bBEGIN\s+ATOMIC\b[^]*?;\s*END\b/gi;

/** Not RESET, which restores the setting of the role: behind a pooler, the service's own role has two seconds. */
const WAIT_FOR_LOCKS = "SET lock_timeout = 0";

const LOCK_NOT_AVAILABLE = "55P03";
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
    if (!goesOnAfterCommit(script)) await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await steppingBack(() => send(client, script, done));
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

function goesOnAfterCommit(script: string): boolean {
  return GOES_ON_AFTER_COMMIT.test(script.replace(NO_STATEMENT, " "));
}

async function steppingBack(work: () => Promise<unknown>): Promise<void> {
  const until = performance.now() + GIVES_UP_AFTER_MS;
  for (;;) {
    try {
      return void (await work());
    } catch (error) {
      if (!hasState(error, LOCK_NOT_AVAILABLE) || performance.now() > until) throw error;
      await wait(STEPS_BACK_FOR_MS);
    }
  }
}

/**
 * Sends the script together with `done`, the statement that records its end. What PostgreSQL refuses in a transaction
 * (an index made CONCURRENTLY) is alone in its script: it is sent without `done`, keeps no other session waiting, and
 * may itself wait for as long as it takes. Cut off, it leaves a half-made index behind.
 */
async function send(client: pg.PoolClient, script: string, done: string): Promise<void> {
  try {
    await client.query(script + done);
  } catch (error) {
    // A transaction that the script itself began is still open: no statement could succeed in it, not even recording
    // the error.
    await client.query("ROLLBACK").catch(() => undefined);
    if (done === "" || !hasState(error, NOT_IN_A_TRANSACTION)) throw error;
    await client.query(WAIT_FOR_LOCKS);
    await client.query(script);
  }
}

function hasState(error: unknown, state: string): boolean {
  return error instanceof pg.DatabaseError && error.code === state;
}
