import type { Series } from "./migrations.ts";
import { oneRow, type Queryable, statement } from "./statement.ts";

// The tables that record the applied migrations, in the format of `prisma migrate`.

const tableOf = ({ schema }: Series) => `${schema}._prisma_migrations`;

/** Creates the table as Prisma does. CREATE SCHEMA IF NOT EXISTS would need the right even if the schema exists. */
export const createTable = (of: Series) => `
DO $$ BEGIN IF to_regnamespace('${of.schema}') IS NULL THEN CREATE SCHEMA ${of.schema}; END IF; END $$;
CREATE TABLE IF NOT EXISTS ${tableOf(of)} (
  id varchar(36) PRIMARY KEY NOT NULL, checksum varchar(64) NOT NULL, finished_at timestamptz,
  migration_name varchar(255) NOT NULL, logs text, rolled_back_at timestamptz,
  started_at timestamptz NOT NULL DEFAULT now(), applied_steps_count integer NOT NULL DEFAULT 0)`;

/** An applied migration. */
export interface Finished {
  name: string;
  checksum: string;
}

const finishedOf = (of: Series) =>
  statement<object, Finished>(`finished_migrations${of.schema === "yours" ? "yours" : ""}`).sql(
    `SELECT migration_name AS name, checksum FROM ${tableOf(of)} WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL`,
  );

/** Records a migration. Returns no row if the current transaction is not the one that ran the migration. */
export const recordIn = (of: Series) =>
  statement<Finished & { transaction: string }, Finished>("record_migration").sql(
    `INSERT INTO ${tableOf(of)} (id, checksum, migration_name, finished_at, applied_steps_count)
     SELECT gen_random_uuid(), :checksum, :name, clock_timestamp(), 1
     WHERE pg_current_xact_id()::text = :transaction RETURNING migration_name AS name, checksum`,
  );

export interface Try {
  id: string;
  /** How many statements the previous attempt had applied. */
  done: number;
  /** The previous attempt was interrupted, so the number of applied statements is unknown. */
  isCutOff: boolean;
}

/** Records the begin of an attempt to apply a migration outside a transaction. */
export const beginTry = (of: Series) =>
  statement<Finished, Try>("begin_migration").sql(
    `WITH before AS (
       -- An attempt with another text of the migration does not count.
       SELECT id, applied_steps_count AS done, logs IS NULL AS is_cut_off, checksum = :checksum AS is_same
       FROM ${tableOf(of)} WHERE migration_name = :name AND finished_at IS NULL AND rolled_back_at IS NULL
       ORDER BY started_at DESC LIMIT 1
     ), ended AS (
       DELETE FROM ${tableOf(of)} WHERE id IN (SELECT id FROM before)
     )
     INSERT INTO ${tableOf(of)} (id, checksum, migration_name) VALUES (gen_random_uuid(), :checksum, :name)
     RETURNING id, COALESCE((SELECT done FROM before WHERE is_same), 0) AS done,
       COALESCE((SELECT is_cut_off FROM before WHERE is_same), false) AS "isCutOff"`,
  );

type Done = Pick<Try, "id" | "done">;

/** Records how many statements were applied before one failed, and PostgreSQL's error. */
export const failTry = (of: Series) =>
  statement<Done & { logs: string }>("fail_migration").sql(
    `UPDATE ${tableOf(of)} SET applied_steps_count = :done, logs = :logs WHERE id = :id`,
  );
export const finishTry = (of: Series) =>
  statement<Done>("finish_migration").sql(
    `UPDATE ${tableOf(of)} SET applied_steps_count = :done, finished_at = clock_timestamp() WHERE id = :id`,
  );

const NO_SUCH_TABLE = "42P01";

/** The applied migrations of a series; none if the table does not exist. */
export async function finishedIn(database: Queryable, of: Series): Promise<Finished[]> {
  return database.query(finishedOf(of)).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === NO_SUCH_TABLE) return [];
    throw error;
  });
}

/**
 * The applied migrations of a series without files in this build. Most databases have no table for it, and the role may
 * lack the right to read it, so errors count as none.
 */
export async function finishedElsewhere(database: Queryable, of: Series): Promise<Finished[]> {
  const table = statement<object, { name: string | null }>("migrations_elsewhere").sql(
    `SELECT to_regclass('${tableOf(of)}')::text AS name`,
  );
  const found = await oneRow(database, table).catch(() => null);
  return found?.name ? finishedIn(database, of) : [];
}
