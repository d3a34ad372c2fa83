/** What a migration may do to tables that an older build still uses. */
const HARMLESS = [
  /^CREATE TABLE "/,
  /^CREATE INDEX (IF NOT EXISTS )?"/,
  /^COMMENT ON /,
  // How its pages are filled from now on.
  /^ALTER TABLE "\w+" SET \(fillfactor = \d+\)$/,
  // An older build writes rows without the new column.
  /^ALTER TABLE "\w+" (ADD COLUMN (?![^,]*NOT NULL(?![^,]*DEFAULT))[^,]*(, )?)+$/,
];

/**
 * The statements of a migration by which a build that does not know it might fail: whatever does more than add. Tables
 * that the migration makes itself it may treat as it likes.
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
 * An index that goes for another under its name. One that an older build does not find is used for nothing there, and
 * costs time; it must not be unique, for those are rules.
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
