import type { Database } from "./database.ts";
import { statement, type Queryable, type Statement } from "./statement.ts";

// What only a look at every row can tell is read in the order of the disk, piece by piece, so that no statement runs into
// its time limit however large the table is. In the order of a key each row would be a page of its own: ten times as
// long. All pieces see the table as it was at the first: a row that is written meanwhile moves to another page, and would
// be met twice, or not at all.

/** Pages (8 KiB) of a table that one statement reads: some 100,000 rows, a tenth of the time that a statement has. */
const PIECE_PAGES = 8_192;

const seeOneMoment = statement(
  "see_one_moment",
  `SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`,
);
const pagesOf = statement(
  "count_pages",
  `SELECT (pg_relation_size($1::regclass) / current_setting('block_size')::int)::int AS pages`,
);

/** The condition by which a statement keeps to its piece: its first two values are the piece's bounds. */
export const IN_PIECE = `ctid >= $1::tid AND ctid < $2::tid`;

/** Tables as they are at one moment. */
export interface WholeTables {
  /** Runs `read`, which has {@link IN_PIECE} and from $3 on `values`, for each piece of `table`, of so many pages. */
  pieces<Row>(
    table: string,
    read: Statement,
    values?: readonly unknown[],
    pages?: number,
  ): AsyncGenerator<Row[]>;
}

/** Has `work` read tables from end to end, all as they are when it begins. */
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
