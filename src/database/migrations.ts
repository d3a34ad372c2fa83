import { createHash } from "node:crypto";
import { isUtf8 } from "node:buffer";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { KitError, messageOf, Misconfigured } from "../errors.ts";
import { throwInWords } from "./database.ts";
import {
  controlsTransaction,
  makesNamelessIndex,
  statementsOf,
  type SqlStatement,
} from "./sql-statements.ts";
import { oneRow, statement, type Queryable } from "./statement.ts";

// The folders of migrations, and the tables that say which of them a database has had, as `prisma migrate` keeps them.

/** Migrations that follow each other by name, and the schema that has their table. */
export interface Series {
  whose: "the kit" | "your service";
  folder: string;
  schema: "public" | "yours";
}

export interface Migration {
  of: Series;
  /** The name of its folder. */
  name: string;
  /** The same for people: those of your service begin with `yours/`. */
  shown: string;
  file: string;
  checksum: string;
  isInTransaction: boolean;
  statements: SqlStatement[];
}

/** The kit's, the same from `src/` and from `dist/`, and those of your service, if it has any; a build copies these. */
const [KIT, YOURS] = ["../../prisma/migrations", "../your-service/migrations"].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.url)),
) as [string, string];
export const seriesIn = (kit = KIT, yours = YOURS): Series[] => [
  { whose: "the kit", folder: kit, schema: "public" },
  { whose: "your service", folder: yours, schema: "yours" },
];

const tableOf = ({ schema }: Series) => `${schema}._prisma_migrations`;
const shown = ({ schema }: Series, name: string) => (schema === "yours" ? `yours/${name}` : name);

/** The table as Prisma makes it. Not CREATE SCHEMA IF NOT EXISTS: that asks for the right even where it is there. */
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

/** Records a migration with the transaction that did its work; returns no row if that is no longer the same one. */
export const recordIn = (of: Series) =>
  statement<Finished & { transaction: string }, Finished>("record_migration").sql(
    `INSERT INTO ${tableOf(of)} (id, checksum, migration_name, finished_at, applied_steps_count)
     SELECT gen_random_uuid(), :checksum, :name, clock_timestamp(), 1
     WHERE pg_current_xact_id()::text = :transaction RETURNING migration_name AS name, checksum`,
  );

export interface Try {
  id: string;
  /** How many statements the try before had done. */
  done: number;
  /** The try before was cut off, so that it is unknown how many. */
  isCutOff: boolean;
}

/** Begins a try of a migration that runs outside a transaction. */
export const beginTry = (of: Series) =>
  statement<Finished, Try>("begin_migration").sql(
    `WITH before AS (
       -- A try of another text says nothing.
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

/** How many of its statements were applied before one failed, with PostgreSQL's answer. */
export const failTry = (of: Series) =>
  statement<Done & { logs: string }>("fail_migration").sql(
    `UPDATE ${tableOf(of)} SET applied_steps_count = :done, logs = :logs WHERE id = :id`,
  );
export const finishTry = (of: Series) =>
  statement<Done>("finish_migration").sql(
    `UPDATE ${tableOf(of)} SET applied_steps_count = :done, finished_at = clock_timestamp() WHERE id = :id`,
  );

const NO_SUCH_TABLE = "42P01";

/** Those that the database has had: none where there is no table of them. */
export async function finishedIn(database: Queryable, of: Series): Promise<Finished[]> {
  return database.query(finishedOf(of)).catch((error: unknown) => {
    if ((error as { code?: unknown }).code === NO_SUCH_TABLE) return [];
    throw error;
  });
}

/** The same for a series that this build has none of: most databases have no table of it, and a role need not see it. */
async function finishedElsewhere(database: Queryable, of: Series): Promise<Finished[]> {
  const table = statement<object, { name: string | null }>("migrations_elsewhere").sql(
    `SELECT to_regclass('${tableOf(of)}')::text AS name`,
  );
  const found = await oneRow(database, table).catch(() => null);
  return found?.name ? finishedIn(database, of) : [];
}

/** The names of the migrations that this build has. Your service need not have a folder of them. */
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

/** Throws `migration_refused`, with the file and the line, if it cannot be applied as it is. */
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
  // UTF-16 without a mark has a NUL in each letter.
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
    refuse(`${placeIn(file, nameless)}. Give the index a name: one that is cut off is found by it.`);
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

/** Where a statement stands, how it begins, and the place in it that PostgreSQL names, by its characters. */
export function placeIn(file: string, { text, line }: SqlStatement, position?: string): string {
  const words = text.replaceAll(/\s+/g, " ");
  const begin = words.length > MOST_LETTERS ? `${words.slice(0, MOST_LETTERS).toWellFormed()}…` : words;
  const before = [...text]
    .slice(0, Number(position) - 1)
    .join("")
    .split("\n");
  const at = position && before.length > 1 ? ` (the fault is in line ${line + before.length - 1})` : "";
  return `${file}, line ${line}: ${begin}${at}`;
}

/** What this build and a database have of migrations, by the names for people. */
export interface Comparison {
  /** Those that the database lacks, in their order. */
  pending: { of: Series; name: string }[];
  /** Applied; but their files say something else now. */
  edited: string[];
  /** Applied; but this build does not have them. */
  missing: string[];
  /** Pending; but one that comes after them is applied. */
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
    // Those of a release of the kit may lie between any others.
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

/** Git may change the ends of lines. */
async function isUnchanged(of: Series, name: string, checksum: string): Promise<boolean> {
  const asIs = await readFile(fileOf(of, name), "utf8").catch(() => "");
  const text = withoutMark(asIs);
  const ended = text.replaceAll("\r\n", "\n");
  return [asIs, text, ended, ended.replaceAll("\n", "\r\n")].some((each) => sha256(each) === checksum);
}

export const HOW_TO_MIGRATE = "Run: npm run --silent kit -- migrate";

/** The sentence that names them. */
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

/** What `kit migrate` and `kit doctor` say of migrations that are not as they were. */
export function remarksOn({ edited, missing, late }: Comparison): string[] {
  const remarks: [names: string[], what: string, then: string][] = [
    [
      edited,
      "Edited after they were applied",
      "The database has what they said before: restore the files, and put changes into new migrations.",
    ],
    [
      missing,
      "Applied to this database, and not in this build",
      "A later build applied them, or their folders were deleted.",
    ],
    [
      late,
      "Applied now, after migrations that come after them by name",
      "A new database gets them in another order.",
    ],
  ];
  return remarks.flatMap(([names, what, then]) =>
    names.length > 0 ? [`${what}: ${someOf(names)}. ${then}`] : [],
  );
}

/** Throws Misconfigured, with their names, if the database lacks migrations that this version of the code needs. */
export async function checkMigrations(database: Queryable): Promise<void> {
  const all = seriesIn().map(async (of) => {
    const names = await namesIn(of);
    const finished = names.length > 0 ? await finishedIn(database, of) : [];
    return lackedOf(names, finished).map((name) => ({ of, name }));
  });
  const pending = (await Promise.all(all).catch(throwInWords)).flat();
  if (pending.length > 0) throw new Misconfigured(`${lacks(pending)} ${HOW_TO_MIGRATE}`);
}
