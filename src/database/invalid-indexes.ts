import { KitError } from "../errors.ts";
import { OUR_TABLES } from "./our-tables.ts";
import { statement, type Queryable } from "./statement.ts";

// A migration with IF NOT EXISTS accepts a half-made index and drops the one that it replaces: every query that used that
// one would read the whole table from then on.

const readInvalid = statement(
  "invalid_indexes",
  `SELECT i.indexrelid::regclass::text AS name, i.indrelid::regclass::text AS table
   FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
   WHERE NOT i.indisvalid AND t.relname = ANY($1::text[]) AND pg_table_is_visible(t.oid) ORDER BY 1`,
);

interface InvalidIndex {
  /** With quotes where it needs them. */
  name: string;
  table: string;
}

/** The indexes of our tables that PostgreSQL keeps up to date and uses for no query. */
export function invalidIndexes(db: Queryable): Promise<InvalidIndex[]> {
  return db.query<InvalidIndex>(readInvalid, [OUR_TABLES]);
}

/** Which they are, and why. */
export function invalidInWords(indexes: readonly InvalidIndex[]): string {
  const named = indexes.map(({ name, table }) => `${name} (of ${table})`).join(", ");
  return `Not valid: the index ${named}. A CREATE INDEX CONCURRENTLY was cut off, or is still at work.`;
}

/** What to run, as the tables' owner; each command is a line of its own. */
export function howToMakeValid(indexes: readonly InvalidIndex[]): string {
  const each = (command: string) => indexes.map(({ name }) => `${command} ${name};`);
  return [
    "If it is still at work, wait. Otherwise remove what was cut off:",
    ...each("DROP INDEX CONCURRENTLY"),
    "Or complete it:",
    ...each("REINDEX INDEX CONCURRENTLY"),
  ].join("\n");
}

/** An index of ours is half-made, and so no migration was applied. */
export class InvalidIndexes extends KitError {
  constructor(indexes: readonly InvalidIndex[]) {
    super("invalid_index", `${invalidInWords(indexes)} ${howToMakeValid(indexes)}`);
  }
}
