import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { KitError, messageOf, Misconfigured } from "../errors.ts";
import { connectionTo, statement, type Queryable } from "./database.ts";
import { isConnectionConfigError, isHeldUp, refused } from "./retry.ts";

/** Migrations that follow each other by name, and the schema that has their table. */
interface Series {
  folder: string;
  schema: "" | "yours";
}

/** The kit's, the same from `src/` and from `dist/`, and those of your service, if it has any; a build copies these. */
const [KIT, YOURS] = ["../../prisma/migrations", "../your-service/migrations"].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.url)),
) as [string, string];
const series = (kit = KIT, yours = YOURS): Series[] => [
  { folder: kit, schema: "" },
  { folder: yours, schema: "yours" },
];

/** That of `prisma migrate`, so that it and we wait for each other. */
const LOCK = 72707369;

/**
 * Everybody waits behind a migration that waits for a table. Behind a backup that would stop the whole service, so it
 * waits for `lockMs` (longer than `deadlock_timeout`, after which PostgreSQL ends its own vacuum for the migration), lets
 * the others through, and tries again, until `inAllMs` are over.
 */
const PATIENCE = { lockMs: 1_500, stepsBackMs: 2_000, inAllMs: 10 * 60_000 };

const tableOf = ({ schema }: Series) => `${schema && `${schema}.`}_prisma_migrations`;

/** The table as Prisma makes it. Not CREATE SCHEMA IF NOT EXISTS: that asks for the right even where it is there. */
const createTable = (of: Series) => `
${of.schema && `DO $$ BEGIN IF to_regnamespace('yours') IS NULL THEN CREATE SCHEMA yours; END IF; END $$;`}
CREATE TABLE IF NOT EXISTS ${tableOf(of)} (
  id varchar(36) PRIMARY KEY NOT NULL, checksum varchar(64) NOT NULL, finished_at timestamptz,
  migration_name varchar(255) NOT NULL, logs text, rolled_back_at timestamptz,
  started_at timestamptz NOT NULL DEFAULT now(), applied_steps_count integer NOT NULL DEFAULT 0)`;

/** Lifts the limits that the role has: a migration may take as long as it takes. */
const NO_LIMITS = `SELECT set_config(name, '0', false) FROM pg_settings
  WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout',
    'idle_session_timeout')`;

const finishedOf = (of: Series) =>
  statement(
    `finished_migrations${of.schema}`,
    `SELECT migration_name AS name FROM ${tableOf(of)} WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`,
  );

interface Wishes {
  url: string;
  /** Where the address comes from; DATABASE_URL unless given. */
  setting?: string;
  ca?: string | undefined;
  /** Other folders with migrations. */
  folder?: string;
  yours?: string;
  /** Called with a sentence when other sessions keep it waiting. */
  say?(sentence: string): void;
  patience?: typeof PATIENCE;
}

/**
 * Brings the schema up to date, and keeps the table of migrations as `prisma migrate` does; returns the names of those it
 * applied. Of two processes that do so at once, the other waits and finds nothing to do. Needs a role with DDL rights, and
 * a session of its own: a pooler that shares sessions would keep its lock for others.
 *
 * @throws KitError `migration_failed`: the next run begins it again; Misconfigured if the address is at fault; the driver's
 * own errors if nothing answers there
 */
export async function migrate(wishes: Wishes): Promise<{ applied: string[] }> {
  const { url, setting, ca, folder, yours } = wishes;
  const client = new pg.Client({
    ...connectionTo(url, ca, "", setting),
    ...{ application_name: "addon-migrate", connectionTimeoutMillis: 10_000, keepAlive: true },
  });
  client.on("error", () => undefined);
  await client.connect().catch((error: unknown) => throwInWords(refused(error), setting));
  const db: Queryable = { query: async ({ text }) => (await client.query(text)).rows as never };
  try {
    await client.query(NO_LIMITS);
    await lock(client, wishes);
    const applied: string[] = [];
    for (const each of series(folder, yours)) {
      const pending = await pendingOf(db, each);
      if (pending.length > 0) await client.query(createTable(each));
      // Names without a schema are looked for, and made, in the series' own first.
      if (each.schema) await client.query(`SET search_path = ${each.schema}, public`);
      for (const name of pending) {
        await apply(client, name, each, wishes).catch((cause: unknown) => {
          const words = `the migration ${shown(each, name)} failed: ${messageOf(cause)}`;
          throw new KitError("migration_failed", words, { cause });
        });
        applied.push(shown(each, name));
      }
    }
    return { applied };
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function lock(client: pg.Client, { say }: Wishes): Promise<void> {
  const { rows } = await client.query<{ has: boolean }>(`SELECT pg_try_advisory_lock(${LOCK}) AS has`);
  if (rows[0]!.has) return;
  say?.("Another process migrates the database. Waiting until it has ended.");
  await client.query(`SELECT pg_advisory_lock(${LOCK})`);
}

const shown = ({ schema }: Series, name: string) => (schema ? `${schema}/${name}` : name);

/** In one transaction, retried while other sessions hold locks on its tables. */
async function apply(
  client: pg.Client,
  name: string,
  of: Series,
  { say, patience = PATIENCE }: Wishes,
): Promise<void> {
  const script = await readFile(path.join(of.folder, name, "migration.sql"), "utf8");
  const checksum = createHash("sha256").update(script).digest("hex");
  const record = `INSERT INTO ${tableOf(of)} (id, checksum, migration_name, finished_at, applied_steps_count)
    VALUES (gen_random_uuid(), '${checksum}', ${pg.escapeLiteral(name)}, clock_timestamp(), 1)`;
  // The transaction that does the work also records it: if this process dies, PostgreSQL may still complete it. The
  // script may end with a comment, or with a statement without its semicolon.
  const sql = `BEGIN; SET LOCAL lock_timeout = ${patience.lockMs};\n${script}\n;${record}; COMMIT`;
  const until = performance.now() + patience.inAllMs;
  for (let tries = 1; ; tries++) {
    try {
      return void (await client.query(sql));
    } catch (error) {
      await client.query("ROLLBACK").catch(() => undefined);
      if (!isHeldUp(error) || performance.now() > until) throw error;
      if (tries === 1) say?.(`${name}: another session locks its tables. Retrying until they are free.`);
      await sleep(patience.stepsBackMs);
    }
  }
}

/** The migrations that this version of the code needs and the database has not had: the kit's, then your service's. */
export async function pendingMigrations(database: Queryable): Promise<string[]> {
  const all = series().map(async (each) =>
    (await pendingOf(database, each)).map((name) => shown(each, name)),
  );
  return (await Promise.all(all)).flat();
}

async function pendingOf(database: Queryable, of: Series): Promise<string[]> {
  const isNone = of.schema !== "" && !existsSync(of.folder);
  const entries = isNone ? [] : await readdir(of.folder, { withFileTypes: true });
  const all = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
  if (all.length === 0) return [];
  const finished = await database.query<{ name: string }>(finishedOf(of)).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === NO_SUCH_TABLE) return [];
    throw error;
  });
  return all.filter((name) => !finished.some((row) => row.name === name));
}

const NO_SUCH_TABLE = "42P01";

export const HOW_TO_MIGRATE = "Run: npm run --silent kit -- migrate";

export async function checkMigrations(database: Queryable): Promise<void> {
  const pending = await pendingMigrations(database).catch(throwInWords);
  if (pending.length > 0)
    throw new Misconfigured(`The database lacks ${pending.length} of our migrations. ${HOW_TO_MIGRATE}`);
}

/** As {@link Misconfigured} if the database's address, or what its role may do, is at fault. */
export function throwInWords(error: unknown, setting = "DATABASE_URL"): never {
  if (error instanceof KitError || !isConnectionConfigError(error)) throw error;
  const words = `${setting}: the database says: ${messageOf(error)}`;
  const where = `TLS: sslmode in ${setting}, and DATABASE_CA. A pooler: docs/scale.md, "Connection poolers".`;
  throw new Misconfigured(`${words}. ${where}`, { cause: error });
}
