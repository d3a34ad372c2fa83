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
  return `Not valid: the index ${named}. A CREATE INDEX or REINDEX with CONCURRENTLY was cut off, or is still at work.`;
}

/** What a REINDEX CONCURRENTLY that was cut off leaves beside the index that it was to replace. */
const LEFT_BY_REINDEX = /_ccnew\d*"?$/;

/** What to run, as the tables' owner; each command is a line of its own. */
export function howToMakeValid(indexes: readonly InvalidIndex[]): string {
  const commands = (command: string, those: readonly InvalidIndex[]) =>
    those.map(({ name }) => `${command} ${name};`);
  const toComplete = indexes.filter(({ name }) => !LEFT_BY_REINDEX.test(name));
  return [
    "If it is still at work, wait. Otherwise remove what was cut off:",
    ...commands("DROP INDEX CONCURRENTLY", indexes),
    ...(toComplete.length > 0 ? ["Or complete it:"] : []),
    ...commands("REINDEX INDEX CONCURRENTLY", toComplete),
  ].join("\n");
}

/** An index of ours is half-made, and so no migration was applied. */
export class InvalidIndexes extends KitError {
  constructor(indexes: readonly InvalidIndex[]) {
    super("invalid_index", `${invalidInWords(indexes)} ${howToMakeValid(indexes)}`);
  }
}
