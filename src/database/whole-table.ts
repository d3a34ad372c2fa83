import type { Database } from "./database.ts";
import { statement, type Queryable, type Statement } from "./statement.ts";

// A read of every row goes through the table in the order of the disk, in pieces, so that no statement runs into its
// time limit however large the table is. In the order of a key, each row would be on another page: ten times as long.
// All pieces are read from one snapshot: a row that is updated meanwhile moves to another page, and would be read twice
// or not at all.

/**
 * Pages (8 KiB) of a table that one statement reads: some 100,000 rows, for a tenth of the time limit of a statement.
 */
const PIECE_PAGES = 8_192;

const seeOneMoment = statement(
  "see_one_moment",
  `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`,
);
const pagesOf = statement(
  "count_pages",
  `SELECT (pg_relation_size($1::regclass) / current_setting('block_size')::int)::int AS pages`,
);

/** The condition that limits a statement to its piece: its first two values are the piece's bounds. */
export const IN_PIECE = `ctid >= $1::tid AND ctid < $2::tid`;

/** Tables as they are in one snapshot. */
export interface WholeTables {
  /**
   * Runs `read`, which contains {@link IN_PIECE}, for each piece of `table`, of `pages` pages; `values` are $3 and on.
   */
  pieces<Row>(
    table: string,
    read: Statement,
    values?: readonly unknown[],
    pages?: number,
  ): AsyncGenerator<Row[]>;
}

/** Runs `work`, which reads tables from end to end, in one transaction with one snapshot. */
export function readWhole<T>(db: Database, work: (tables: WholeTables) => Promise<T>): Promise<T> {
  return db.transaction(async (tx) => {
    await tx.query(seeOneMoment);
    return work({ pieces: (...asked) => pieces(tx, ...asked) });
  });
}

async function* pieces<Row>(
  tx: Queryable,
  table: string,
  read: Statement,
  values: readonly unknown[] = [],
  pages = PIECE_PAGES,
): AsyncGenerator<Row[]> {
  const [size] = await tx.query<{ pages: number }>(pagesOf, [table]);
  for (let page = 0; page < size!.pages; page += pages)
    yield await tx.query<Row>(read, [`(${page},0)`, `(${page + pages},0)`, ...values]);
}
