import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";

// A table that a migration wants for itself is handed over when everybody who reads it has let go, and whoever comes
// meanwhile waits behind the migration. Behind a backup, which reads for an hour, that would be the whole service: so it
// steps back after a moment, lets the others through, and tries again. Longer than `deadlock_timeout`, or PostgreSQL
// would not have sent its own vacuum away by then; shorter than the service's patience with a lock.
const LOCK_TIMEOUT_MS = 1_500;
const STEPS_BACK_FOR_MS = 2_000;
/** Whoever holds a table for longer than this may never let go of it. */
const GIVES_UP_AFTER_MS = 10 * 60_000;

/** Committed in pieces of its own, it could not be begun again: whatever keeps it waiting, it waits. */
const GOES_ON_AFTER_COMMIT = /(^|;)\s*(COMMIT|END)\b[^;]*;\s*\S/i;
/** What is no statement: comments, strings, quoted names, and bodies of functions, where END is another word. */
const NO_STATEMENT =
  /--.*|\/\*[^]*?\*\/|\bE'(?:\\[^]|[^'\\])*'|'[^']*'|"[^"]*"|(\$\w*\$)[^]*?\1|\bBEGIN\s+ATOMIC\b[^]*?;\s*END\b/gi;

/** Not RESET: that leads back to what the role has, and the service's own role has two seconds behind a pooler. */
const WAIT_FOR_LOCKS = "SET lock_timeout = 0";

const LOCK_NOT_AVAILABLE = "55P03";
const NOT_IN_A_TRANSACTION = "25001";

/**
 * Runs the script of a migration over a pool of one connection. That it is done is written down in the transaction that
 * does it: if the migrating process dies, PostgreSQL may still carry it out, and then the next one must know.
 */
export async function runScript(pool: pg.Pool, script: string): Promise<void> {
  const [id] = await unfinished(pool);
  // What ends the script may be a comment, or a statement without its semicolon.
  const done = id ? `\n;UPDATE _prisma_migrations SET finished_at = now() WHERE id = '${id}'` : "";
  // A pool would drop the connection with the first error, and with it the lock that whoever migrates holds.
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
 * Takes the migrations that another process began, and did not live to see the end of, for what they are: rolled back,
 * or it would be written down that they are done. Only for who holds the lock under which migrations run.
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
 * What PostgreSQL only does outside of a transaction (an index made CONCURRENTLY) stands alone in its script. It keeps
 * nobody waiting, and may itself wait for as long as it takes. Cut off, it leaves a half-made index behind.
 */
async function send(client: pg.PoolClient, script: string, done: string): Promise<void> {
  try {
    await client.query(script + done);
  } catch (error) {
    // One that it began itself is still open: nothing more could be done in it, not even to say what was wrong.
    await client.query("ROLLBACK").catch(() => undefined);
    if (done === "" || !hasState(error, NOT_IN_A_TRANSACTION)) throw error;
    await client.query(WAIT_FOR_LOCKS);
    await client.query(script);
  }
}

function hasState(error: unknown, state: string): boolean {
  return error instanceof pg.DatabaseError && error.code === state;
}
