import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { KitError, messageOf } from "../errors.ts";
import {
  controlsTransaction,
  makesNamelessIndex,
  type SqlStatement,
  statementsOf,
} from "./sql-statements.ts";

// The files of migrations: one folder of the kit, one of your service.

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

/** The name of a migration in messages. */
export const shown = ({ schema }: Series, name: string) => (schema === "yours" ? `yours/${name}` : name);

/** The names of the migrations in this build. The folder of your service may be absent. */
export async function namesIn({ folder, schema }: Series): Promise<string[]> {
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

/** Whether a file has the text of this checksum. Git may have changed line ends, so all variants are compared. */
export async function isUnchanged(of: Series, name: string, checksum: string): Promise<boolean> {
  const asIs = await readFile(fileOf(of, name), "utf8").catch(() => "");
  const text = withoutMark(asIs);
  const ended = text.replaceAll("\r\n", "\n");
  return [asIs, text, ended, ended.replaceAll("\n", "\r\n")].some((each) => sha256(each) === checksum);
}
