/** The statements that a migration may run on tables which an older build still uses. */
const HARMLESS = [
  /^CREATE TABLE "/,
  /^CREATE INDEX (IF NOT EXISTS )?"/,
  /^COMMENT ON /,
  // Changes only how pages are filled from now on.
  /^ALTER TABLE "\w+" SET \(fillfactor = \d+\)$/,
  // An older build writes rows without the new column.
  /^ALTER TABLE "\w+" (ADD COLUMN (?![^,]*NOT NULL(?![^,]*DEFAULT))[^,]*(, )?)+$/,
];

/**
 * The statements of a migration that might break a build which does not know it: everything except additions.
 * Statements about tables that the migration itself creates are allowed.
 */
export function harmfulTo(migration: string): string[] {
  const statements = migration
    .replace(/--.*$/gm, "")
    .split(";")
    .map((each) => each.replace(/\s+/g, " ").trim())
    .filter((each) => each !== "");
  const own = statements.flatMap((each) => /^CREATE TABLE "(\w+)"/.exec(each)?.[1] ?? []);
  return statements.filter(
    (each) =>
      !HARMLESS.some((allowed) => allowed.test(each)) &&
      !own.some((table) => isAbout(each, table)) &&
      !isReplacing(each, statements),
  );
}

/**
 * Whether a statement replaces an index by another of the same name. The older build can do without the index, only
 * slower. It must not be unique, because a unique index is a constraint.
 */
function isReplacing(statement: string, all: readonly string[]): boolean {
  const renamed = (name: string) =>
    all.find((each) => new RegExp(`^ALTER INDEX "\\w+" RENAME TO "${name}"$`).test(each));
  const [, dropped = ""] = /^DROP INDEX "(\w+)"$/.exec(statement) ?? [];
  const [, made = ""] = /^ALTER INDEX "(\w+)" RENAME TO "\w+"$/.exec(statement) ?? [];
  return (
    (dropped !== "" && renamed(dropped) !== undefined) ||
    (made !== "" && all.some((each) => new RegExp(`^CREATE INDEX (IF NOT EXISTS )?"${made}"`).test(each)))
  );
}

function isAbout(statement: string, table: string): boolean {
  return new RegExp(`^(ALTER TABLE|CREATE UNIQUE INDEX "\\w+" ON|INSERT INTO|UPDATE) "${table}"`).test(
    statement,
  );
}
