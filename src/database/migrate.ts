import { createHash, randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { KitError, messageOf, Misconfigured } from "../errors.ts";
import { connectionTo } from "./address.ts";
import { statement, type Queryable } from "./connection.ts";
import { isConflict, isConnectionConfigError, isLockTimeout, refused } from "./retry.ts";

/** Migrations that follow each other by name, and the schema that has their table; "" is that of the kit. */
interface Series {
  folder: string;
  schema: "" | "yours";
}

/** The kit's, the same from `src/` and from `dist/`: `prisma/` is beside both. */
const KIT: Series = {
  folder: fileURLToPath(new URL("../../prisma/migrations", import.meta.url)),
  schema: "",
};
/** Those of your service, if it has any; a build copies them. Their tables stand in a schema of their own. */
const YOURS: Series = {
  folder: fileURLToPath(new URL("../your-service/migrations", import.meta.url)),
  schema: "yours",
};

/** The advisory lock of `prisma migrate`, so that it and we wait for each other. */
const LOCK = 72707369;

/**
 * A migration that needs a table for itself waits until all who read it have let go, and everybody who comes then waits
 * behind the migration. Behind a backup that would stop the whole service, so it waits for `lockMs` (longer than
 * `deadlock_timeout`, after which PostgreSQL ends its own vacuum for the migration), lets the others through, and tries
 * again, until `inAllMs` are over.
 */
const PATIENCE = { lockMs: 1_500, stepsBackMs: 2_000, inAllMs: 10 * 60_000 };

/**
 * The first line of a migration that cannot run in a transaction, such as one with CREATE INDEX CONCURRENTLY. It begins
 * by removing what a run that was cut off may have left.
 */
const NOT_IN_A_TRANSACTION = "-- not in a transaction";

const tableOf = ({ schema }: Series) => `${schema && `${schema}.`}_prisma_migrations`;

/** Not `IF NOT EXISTS`, which asks for the right to create schemas even where it is there. */
const MAKE_YOURS = `DO $$ BEGIN IF to_regnamespace('yours') IS NULL THEN CREATE SCHEMA yours; END IF; END $$;`;

/** As Prisma makes it. */
const createTable = (series: Series) => `${series.schema && MAKE_YOURS}
CREATE TABLE IF NOT EXISTS ${tableOf(series)} (
  id varchar(36) PRIMARY KEY NOT NULL, checksum varchar(64) NOT NULL, finished_at timestamptz,
  migration_name varchar(255) NOT NULL, logs text, rolled_back_at timestamptz,
  started_at timestamptz NOT NULL DEFAULT now(), applied_steps_count integer NOT NULL DEFAULT 0)`;

/** Those of an earlier run that was cut off: with nothing done, or to be begun again. */
const forgetUnfinished = (series: Series) =>
  `UPDATE ${tableOf(series)} SET rolled_back_at = now() WHERE finished_at IS NULL AND rolled_back_at IS NULL`;

/** Lifts the limits that the role has for the service's statements: a migration may take as long as it takes. */
const NO_LIMITS = `SELECT set_config(name, '0', false) FROM pg_settings
  WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout',
    'idle_session_timeout')`;

// to_regclass gives null for a table that is not there, where a plain SELECT would fail.
const findTable = (series: Series) =>
  statement(
    `find_migrations_table${series.schema}`,
    `SELECT to_regclass('${tableOf(series)}')::text AS name`,
  );
const finishedOf = (series: Series) =>
  statement(
    `finished_migrations${series.schema}`,
    `SELECT migration_name AS name FROM ${tableOf(series)} WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`,
  );

/** The database refused a migration, or it was cut off. The next run begins it again. */
export class MigrationFailed extends KitError {
  constructor(name: string, cause: unknown) {
    super("migration_failed", `the migration ${name} failed: ${messageOf(cause)}`, { cause });
  }
}

interface Wishes {
  url: string;
  ca?: string | undefined;
  /** Other folders with migrations. */
  folder?: string;
  yours?: string;
  /** Called with a sentence when other sessions keep it waiting. */
  say?(sentence: string): void;
  patience?: typeof PATIENCE;
}

/**
 * Brings the schema up to date, and keeps the table of migrations as `prisma migrate` does. Of two processes that do so
 * at once, one applies the migrations, and the other waits and finds nothing to do. Needs a role with DDL rights, and a
 * session of its own: a pooler that shares sessions would keep its lock for others.
 *
 * @returns the names of the migrations it applied, oldest first
 *
 * @throws MigrationFailed; Misconfigured if the address is at fault; the driver's own errors if nothing answers there
 */
export async function migrate(wishes: Wishes): Promise<{ applied: string[] }> {
  const { url, ca, say = () => undefined, patience = PATIENCE } = wishes;
  const { folder = KIT.folder, yours = YOURS.folder } = wishes;
  const client = new pg.Client({
    ...connectionTo(url, ca),
    ...{ application_name: "addon-migrate", connectionTimeoutMillis: 10_000, keepAlive: true },
  });
  client.on("error", () => undefined);
  await client.connect().catch((error: unknown) => throwInWords(refused(error)));
  try {
    await client.query(NO_LIMITS);
    await takeLock(client, say);
    const applied: string[] = [];
    for (const series of [
      { ...KIT, folder },
      { ...YOURS, folder: yours },
    ])
      applied.push(...(await applySeries(client, series, { say, patience })));
    return { applied };
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * Takes the lock by polling. A statement that blocked on it would be waited for by an index that another session makes
 * CONCURRENTLY, until PostgreSQL ended one of the two as a deadlock.
 */
async function takeLock(client: pg.Client, say: (sentence: string) => void): Promise<void> {
  const take = `SELECT pg_try_advisory_lock(${LOCK}) AS "isMine"`;
  for (let isFirst = true; ; isFirst = false) {
    if ((await client.query<{ isMine: boolean }>(take)).rows[0]!.isMine) return;
    if (isFirst) say("Waiting for another migration to end.");
    await sleep(200);
  }
}

type Manner = Required<Pick<Wishes, "say" | "patience">>;

async function applySeries(client: pg.Client, series: Series, manner: Manner): Promise<string[]> {
  const db: Queryable = { query: async ({ text }) => (await client.query(text)).rows as never };
  const pending = await pendingOf(db, series);
  if (pending.length === 0) return [];
  const { rows } = await client.query(findTable(series).text);
  if (!rows[0].name) await client.query(createTable(series));
  await client.query(forgetUnfinished(series));
  // Names without a schema are looked for, and made, in the series' own first.
  if (series.schema) await client.query(`SET search_path = ${series.schema}, public`);
  for (const name of pending) {
    try {
      await apply(client, name, series, manner);
    } catch (error) {
      throw new MigrationFailed(shown(series, name), error);
    }
  }
  return pending.map((name) => shown(series, name));
}

/** The name of a migration, in words that tell a fork's own from the kit's. */
const shown = ({ schema }: Series, name: string) => (schema ? `${schema}/${name}` : name);

async function apply(client: pg.Client, name: string, series: Series, manner: Manner): Promise<void> {
  const script = await readFile(path.join(series.folder, name, "migration.sql"), "utf8");
  const checksum = createHash("sha256").update(script).digest("hex");
  const id = randomUUID();
  const begin = `INSERT INTO ${tableOf(series)} (id, checksum, migration_name) VALUES ('${id}', '${checksum}', '${name}')`;
  const finish = `UPDATE ${tableOf(series)} SET finished_at = clock_timestamp(), applied_steps_count = 1 WHERE id = '${id}'`;
  if (script.startsWith(NOT_IN_A_TRANSACTION)) {
    // One by one: PostgreSQL runs statements that are sent together in one transaction.
    const steps = script.split(/;[^\S\n]*$/m).filter((each) => each.trim() !== "");
    for (const each of [begin, ...steps, finish]) await client.query(each);
    return;
  }
  // The transaction that does the work also records it: if this process dies, PostgreSQL may still complete it. The
  // script may end with a comment, or with a statement without its semicolon.
  await whenFree(client, name, `${begin};\n${script}\n;${finish}`, manner);
}

/** Runs SQL in one transaction, again and again while other sessions hold what it changes. */
async function whenFree(client: pg.Client, name: string, sql: string, manner: Manner): Promise<void> {
  const { say, patience } = manner;
  const until = performance.now() + patience.inAllMs;
  for (let isFirst = true; ; isFirst = false) {
    try {
      await client.query(`BEGIN; SET LOCAL lock_timeout = ${patience.lockMs};\n${sql}; COMMIT`);
      return;
    } catch (error) {
      await client.query("ROLLBACK").catch(() => undefined);
      const isHeldByOthers = isLockTimeout(error) || isConflict(error);
      if (!isHeldByOthers || performance.now() > until) throw error;
      if (isFirst)
        say(`${name}: another session holds what it changes (${messageOf(error)}). Trying until it lets go.`);
      await sleep(patience.stepsBackMs);
    }
  }
}

/** The migrations that this version of the code needs and the database has not had: the kit's, then your service's. */
export async function pendingMigrations(database: Queryable): Promise<string[]> {
  const pending: string[] = [];
  for (const series of [KIT, YOURS])
    pending.push(...(await pendingOf(database, series)).map((name) => shown(series, name)));
  return pending;
}

async function pendingOf(database: Queryable, series: Series): Promise<string[]> {
  const entries = await readdir(series.folder, { withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (series.schema && error.code === "ENOENT") return [];
      throw error;
    },
  );
  const all = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
  if (all.length === 0) return [];
  const [table] = await database.query<{ name: string | null }>(findTable(series));
  if (!table?.name) return all;
  const finished = await database.query<{ name: string }>(finishedOf(series));
  return all.filter((name) => !finished.some((row) => row.name === name));
}

export const HOW_TO_MIGRATE = "Run: npm run --silent kit -- migrate";

/** Throws {@link Misconfigured} if the schema is older than this code, or the database's address leads nowhere. */
export async function checkMigrations(db: { pendingMigrations(): Promise<string[]> }): Promise<void> {
  const pending = await db.pendingMigrations().catch(throwInWords);
  if (pending.length > 0)
    throw new Misconfigured(`The database lacks ${pending.length} of our migrations. ${HOW_TO_MIGRATE}`);
}

/** Rethrows the error: as {@link Misconfigured} if the database's address, or what its role may do, is at fault. */
export function throwInWords(error: unknown): never {
  if (error instanceof KitError || !isConnectionConfigError(error)) throw error;
  const words = `DATABASE_URL: the database says: ${messageOf(error)}`;
  const where =
    'TLS: sslmode in DATABASE_URL, and DATABASE_CA. A pooler: docs/scale.md, "Connection poolers".';
  throw new Misconfigured(`${words}. ${where}`, { cause: error });
}
