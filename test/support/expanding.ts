/** The statements that a migration may run on tables which an older build still uses. */
const HARMLESS = [
  /^CREATE TABLE "/,
  /^CREATE INDEX (CONCURRENTLY )?(IF NOT EXISTS )?"/,
  // Without an index the older build is only slower. PostgreSQL refuses it for the index of a constraint.
  /^DROP INDEX CONCURRENTLY IF EXISTS "\w+"$/,
  /^COMMENT ON /,
  // What the older build writes may be moved elsewhere.
  /^CREATE (FUNCTION|TRIGGER) /,
  // The older build writes such rows itself, later.
  /^INSERT INTO "steps" \(.*\) SELECT .* AND NOT EXISTS \(.*\)$/,
  // Changes nothing itself, and has the triggers see each row.
  /^UPDATE "\w+" SET "(\w+)" = "\1"$/,
  // An older build writes the column itself.
  /^ALTER TABLE "\w+" ALTER COLUMN "\w+" SET DEFAULT '\w*'$/,
  // About a state that the older build does not know.
  /^ALTER TABLE "\w+" ADD CONSTRAINT "\w+" CHECK \("state" <> '\w+' OR .*\) NOT VALID$/,
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
    .replace(/\$\$.*?\$\$/gs, "")
    .split(";")
    .map((each) => each.replace(/\s+/g, " ").trim())
    .filter((each) => each !== "");
  const own = statements.flatMap((each) => /^CREATE TABLE "(\w+)"/.exec(each)?.[1] ?? []);
  return statements.filter(
    (each) =>
      !HARMLESS.some((allowed) => allowed.test(each)) &&
      !own.some((table) => isAbout(each, table)) &&
      !isReplacing(each, statements) &&
      !isWidening(each, statements),
  );
}

/** Whether a statement takes part in replacing the check of a column's words, without a look at the rows there are. */
function isWidening(statement: string, all: readonly string[]): boolean {
  const [, table, name] = /^ALTER TABLE "(\w+)" (?:DROP|ADD) CONSTRAINT "(\w+)"/.exec(statement) ?? [];
  return (
    name !== undefined &&
    all.includes(`ALTER TABLE "${table}" DROP CONSTRAINT "${name}"`) &&
    all.some(
      (each) =>
        each.startsWith(`ALTER TABLE "${table}" ADD CONSTRAINT "${name}" CHECK (`) &&
        each.endsWith(" NOT VALID"),
    )
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
