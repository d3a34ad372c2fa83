import type pg from "pg";
import { KitError, messageOf, Misconfigured } from "../errors.ts";
import { isConnectionConfigError, isRefusedByPooler, isSharedSession, refusalInWords } from "./failure.ts";
import { InvalidIndexes, invalidIndexes } from "./invalid-indexes.ts";
import type { LockWait } from "./lock-waits.ts";
import { migrationList, migrationNames } from "./migrations-folder.ts";
import { HOW_TO_BE_LET_IN, sharedSessions, sharesSessions } from "./pooler.ts";
import { statement, type Queryable } from "./statement.ts";
import { withCa } from "./tls.ts";
import type { Database } from "./types.ts";

/**
 * The database refused a migration, or it was cut off. Nothing of it is half done, except what runs outside of a
 * transaction (an index made CONCURRENTLY); the next run begins it again.
 */
export class MigrationFailed extends KitError {
  constructor(cause: unknown) {
    super("migration_failed", `the database could not be migrated: ${messageOf(cause).split("\n   0:")[0]}`, {
      cause,
    });
  }
}

/**
 * Brings the schema of a PostgreSQL up to date. Of two processes that do so at once, one applies the migrations, and
 * the other waits for it and finds nothing to do. `onWait` is called with what this one waits for, and for whom. Needs
 * a role with DDL rights, and a session of its own: a pooler that shares sessions would keep its lock for others.
 *
 * @returns the names of the migrations it applied, oldest first
 *
 * @throws MigrationFailed; InvalidIndexes before anything is applied; or Misconfigured where the database cannot store
 * every text and holds nothing yet, and behind a pooler that shares sessions
 */
export async function migrate({
  url,
  ca,
  onWait,
}: {
  url: string;
  ca?: string | undefined;
  onWait?: (wait: LockWait) => void;
}): Promise<{ applied: string[] }> {
  if (await sharesSessions(url, ca)) throw sharedSessions();
  return applyMigrations(withCa(url, ca), undefined, onWait);
}

/** The same, for an address in the driver's own form, and for migrations in another folder. */
export async function applyMigrations(
  address: pg.PoolConfig,
  folder?: string,
  onWait?: (wait: LockWait) => void,
): Promise<{ applied: string[] }> {
  // Loaded when needed: the engine is 4 MB, and a service that is up to date never needs it.
  const { withSchemaEngine } = await import("./schema-engine.ts");
  const migrationsList = await migrationList(folder);
  try {
    const { appliedMigrationNames } = await withSchemaEngine(
      address,
      async (engine, db) => {
        const isPending = (await pendingMigrations(db, folder)).length > 0;
        const invalid = isPending ? await invalidIndexes(db) : [];
        if (invalid.length > 0) throw new InvalidIndexes(invalid);
        return engine.applyMigrations({ migrationsList, filters: { externalTables: [], externalEnums: [] } });
      },
      onWait,
    );
    return { applied: appliedMigrationNames };
  } catch (error) {
    throw error instanceof KitError ? error : new MigrationFailed(error);
  }
}

// to_regclass gives null for a table that is not there, where a plain SELECT would fail.
const FIND_MIGRATIONS_TABLE = statement(
  "find_migrations_table",
  `SELECT to_regclass('_prisma_migrations')::text AS name`,
);
const FINISHED_MIGRATIONS = statement(
  "finished_migrations",
  `SELECT migration_name AS name FROM _prisma_migrations WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`,
);

/** The migrations that this version of the code needs and the database has not had, oldest first. Cheap to ask. */
export async function pendingMigrations(database: Queryable, folder?: string): Promise<string[]> {
  const known = await migrationNames(folder);
  const [table] = await database.query<{ name: string | null }>(FIND_MIGRATIONS_TABLE);
  if (!table?.name) return known;
  const finished = await database.query<{ name: string }>(FINISHED_MIGRATIONS);
  return known.filter((name) => !finished.some((row) => row.name === name));
}

/**
 * What to do about missing migrations. The process that opens the embedded database migrates it, so it lacks some only
 * while a service of an older build has it open.
 */
export const howToMigrate = (kind: Database["kind"]): string =>
  kind === "postgresql"
    ? "Run: npm run --silent kit -- migrate"
    : "A running service of an older build has it open: stop that, and start this build, which migrates as it opens.";

/** Throws {@link Misconfigured} if the database's schema is older than this code, or its address leads nowhere. */
export async function checkMigrations(db: Database): Promise<void> {
  const pending = await db.pendingMigrations().catch(tellOfAddress);
  if (pending.length > 0)
    throw new Misconfigured(
      `The database lacks ${pending.length} of our migrations. ${howToMigrate(db.kind)}`,
    );
}

/** Rethrows the error: as {@link Misconfigured} if the database's address, or what its role may do, is at fault. */
export function tellOfAddress(error: unknown): never {
  if (error instanceof KitError || !isConnectionConfigError(error)) throw error;
  if (isSharedSession(error)) throw sharedSessions(error);
  const advice = isRefusedByPooler(error) ? `. ${HOW_TO_BE_LET_IN}` : "";
  throw new Misconfigured(`${refusalInWords(error)}${advice}`, { cause: error });
}
