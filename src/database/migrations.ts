import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { KitError, messageOf, Misconfigured } from "../errors.ts";
import { throwAsMisconfigured } from "./database.ts";
import {
  controlsTransaction,
  makesNamelessIndex,
  type SqlStatement,
  statementsOf,
} from "./sql-statements.ts";
import { oneRow, type Queryable, statement } from "./statement.ts";

// The folders of migrations, and the tables that record the applied ones, in the format of `prisma migrate`.

/** The migrations of one folder, ordered by name, and the schema of the table that records them. */
export interface Series {
  whose: "the kit" | "your service";
  folder: string;
  schema: "public" | "yours";
}

export interface Migration {
  of: Series;
  /** The name of the migration's folder. */
  name: string;
  /** The name in messages: those of your service begin with `yours/`. */
  shown: string;
  file: string;
  checksum: string;
  isInTransaction: boolean;
  statements: SqlStatement[];
}

/** The folders of the kit and of your service. The relative paths are the same from `src/` and `dist/`. */
const [KIT, YOURS] = ["../../prisma/migrations", "../your-service/migrations"].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.url)),
) as [string, string];
export const seriesIn = (kit = KIT, yours = YOURS): Series[] => [
  { whose: "the kit", folder: kit, schema: "public" },
  { whose: "your service", folder: yours, schema: "yours" },
];

const tableOf = ({ schema }: Series) => `${schema}._prisma_migrations`;
const shown = ({ schema }: Series, name: string) => (schema === "yours" ? `yours/${name}` : name);

/** Creates the table as Prisma does. CREATE SCHEMA IF NOT EXISTS would need the right even if the schema exists. */
export const createTable = (of: Series) => `
DO $$ BEGIN IF to_regnamespace('${of.schema}') IS NULL THEN CREATE SCHEMA ${of.schema}; END IF; END $$;
CREATE TABLE IF NOT EXISTS ${tableOf(of)} (
  id varchar(36) PRIMARY KEY NOT NULL, checksum varchar(64) NOT NULL, finished_at timestamptz,
  migration_name varchar(255) NOT NULL, logs text, rolled_back_at timestamptz,
  started_at timestamptz NOT NULL DEFAULT now(), applied_steps_count integer NOT NULL DEFAULT 0)`;

interface Finished {
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
async function finishedElsewhere(database: Queryable, of: Series): Promise<Finished[]> {
  const table = statement<object, { name: string | null }>("migrations_elsewhere").sql(
    `SELECT to_regclass('${tableOf(of)}')::text AS name`,
  );
  const found = await oneRow(database, table).catch(() => null);
  return found?.name ? finishedIn(database, of) : [];
}

/** The names of the migrations in this build. The folder of your service may be absent. */
async function namesIn({ folder, schema }: Series): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    if (schema === "yours" && (error as { code?: unknown }).code === "ENOENT") return [];
    throw error;
  });
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
}

const fileOf = ({ folder }: Series, name: string) => path.join(folder, name, "migration.sql");
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const withoutMark = (text: string) => text.replace(/^\ufeff/, "");

/** The first line of a migration whose statements PostgreSQL refuses in a transaction. */
const OUTSIDE = /^-- *not in a transaction\s*?(\r?\n|$)/i;
export const MARK_OUTSIDE = "-- not in a transaction";

/** Reads a migration. Throws `migration_refused`, with the file and the line, if it cannot be applied. */
export async function readMigration(of: Series, name: string): Promise<Migration> {
  const file = path.relative("", fileOf(of, name));
  const refuse = (words: string, cause?: unknown): never => {
    throw new KitError("migration_refused", `The migration ${shown(of, name)} was not run. ${words}`, {
      cause,
    });
  };
  const bytes = await readFile(fileOf(of, name)).catch((error: unknown) =>
    refuse(`${file} cannot be read: ${messageOf(error)}`, error),
  );
  // Text in UTF-16 without a byte order mark is valid UTF-8 with NUL characters.
  if (!isUtf8(bytes) || bytes.includes(0))
    refuse(`${file} is not in UTF-8 (it may be in UTF-16): save it as UTF-8.`);
  const text = withoutMark(bytes.toString());
  const statements = statementsOf(text);
  const control = statements.find(controlsTransaction);
  if (control)
    refuse(
      `${placeIn(file, control)}. Remove this statement: the kit begins and ends the transaction of a migration.`,
    );
  const isInTransaction = !OUTSIDE.test(text);
  const nameless = statements.find(makesNamelessIndex);
  if (!isInTransaction && nameless)
    refuse(
      `${placeIn(file, nameless)}. Give the index a name, by which an interrupted attempt can be cleaned up.`,
    );
  return {
    of,
    name,
    file,
    statements,
    isInTransaction,
    shown: shown(of, name),
    checksum: sha256(text),
  };
}

const MOST_LETTERS = 100;

/** Describes a statement: file, line, its beginning, and the line of `position`, a character offset from PostgreSQL. */
export function placeIn(file: string, { text, line }: SqlStatement, position?: string): string {
  const words = text.replaceAll(/\s+/g, " ");
  const begin = words.length > MOST_LETTERS ? `${words.slice(0, MOST_LETTERS).toWellFormed()}…` : words;
  const before = [...text]
    .slice(0, Number(position) - 1)
    .join("")
    .split("\n");
  const at = position && before.length > 1 ? ` (the error is in line ${line + before.length - 1})` : "";
  return `${file}, line ${line}: ${begin}${at}`;
}

/** The differences between the migrations of this build and of a database. */
export interface Comparison {
  /** The migrations that the database lacks, in order. */
  pending: { of: Series; name: string }[];
  /** Applied migrations whose files have changed since. */
  edited: string[];
  /** Applied migrations that this build does not have. */
  missing: string[];
  /** Pending migrations before an applied one in the order of names. */
  late: string[];
}

export async function compareMigrations(
  database: Queryable,
  all: readonly Series[] = seriesIn(),
): Promise<Comparison> {
  const found: Comparison = { pending: [], edited: [], missing: [], late: [] };
  for (const of of all) {
    const names = await namesIn(of);
    const finished = await (names.length > 0 ? finishedIn : finishedElsewhere)(database, of);
    const pending = lackedOf(names, finished);
    found.pending.push(...pending.map((name) => ({ of, name })));
    const last =
      finished
        .map(({ name }) => name)
        .filter((name) => names.includes(name))
        .sort()
        .at(-1) ?? "";
    // Only your service's series: a release of the kit may add migrations with earlier names.
    if (of.schema === "yours")
      found.late.push(...pending.filter((name) => name < last).map((name) => shown(of, name)));
    for (const { name, checksum } of finished) {
      if (!names.includes(name)) found.missing.push(shown(of, name));
      else if (!(await isUnchanged(of, name, checksum))) found.edited.push(shown(of, name));
    }
  }
  return found;
}

const lackedOf = (names: readonly string[], finished: readonly Finished[]) =>
  names.filter((name) => !finished.some((each) => each.name === name));

/** Compares with all variants of line ends and byte order marks, because Git may change line ends. */
async function isUnchanged(of: Series, name: string, checksum: string): Promise<boolean> {
  const asIs = await readFile(fileOf(of, name), "utf8").catch(() => "");
  const text = withoutMark(asIs);
  const ended = text.replaceAll("\r\n", "\n");
  return [asIs, text, ended, ended.replaceAll("\n", "\r\n")].some((each) => sha256(each) === checksum);
}

export const HOW_TO_MIGRATE = "Run: npm run --silent kit -- migrate";

/** The sentence that names the pending migrations. */
export function lacks(pending: Comparison["pending"]): string {
  const groups = seriesIn().flatMap(({ whose, schema }) => {
    const names = pending.filter(({ of }) => of.schema === schema).map(({ of, name }) => shown(of, name));
    const counted = `${names.length} migration${names.length === 1 ? "" : "s"}`;
    return names.length === 0 ? [] : [`${counted} of ${whose} (${someOf(names)})`];
  });
  return `The database lacks ${groups.join(", and ")}.`;
}

const MOST_NAMED = 5;
function someOf(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  return [...names.slice(0, MOST_NAMED), ...(more > 0 ? [`${more} more`] : [])].join(", ");
}

/** The remarks of `kit migrate` and `kit doctor` about edited, missing and late migrations. */
export function remarksOn({ edited, missing, late }: Comparison): string[] {
  const remarks: [names: string[], what: string, then: string][] = [
    [
      edited,
      "Edited after they were applied",
      "The database has the earlier text: restore the files, and put changes into new migrations.",
    ],
    [
      missing,
      "Applied to this database, but not in this build",
      "A later build applied them, or their folders were deleted.",
    ],
    [
      late,
      "Applied now, after migrations with later names",
      "A new database gets them in the order of their names.",
    ],
  ];
  return remarks.flatMap(([names, what, then]) =>
    names.length > 0 ? [`${what}: ${someOf(names)}. ${then}`] : [],
  );
}

/** Throws Misconfigured, with the names, if the database lacks migrations of this build. */
export async function checkMigrations(database: Queryable): Promise<void> {
  const all = seriesIn().map(async (of) => {
    const names = await namesIn(of);
    const finished = names.length > 0 ? await finishedIn(database, of) : [];
    return lackedOf(names, finished).map((name) => ({ of, name }));
  });
  const pending = (await Promise.all(all).catch(throwAsMisconfigured)).flat();
  if (pending.length > 0) throw new Misconfigured(`${lacks(pending)} ${HOW_TO_MIGRATE}`);
}
