/** What a migration may do to tables that an older build still uses. */
const HARMLESS = [
  /^CREATE TABLE "/,
  /^CREATE INDEX "/,
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
    (each) => !HARMLESS.some((allowed) => allowed.test(each)) && !own.some((table) => isAbout(each, table)),
  );
}

function isAbout(statement: string, table: string): boolean {
  return new RegExp(`^(ALTER TABLE|CREATE UNIQUE INDEX "\\w+" ON|INSERT INTO|UPDATE) "${table}"`).test(
    statement,
  );
}
