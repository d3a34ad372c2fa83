import { statement, type Database } from "../database/database.ts";
import { IN_PIECE, readWhole } from "../database/whole-table.ts";

/** Counts the rows of `tables` that meet `condition`, piece by piece. `name` becomes part of the statements' names. */
export function countRows(
  db: Database,
  name: string,
  tables: readonly string[],
  condition = "true",
): Promise<number> {
  return readWhole(db, async ({ pieces }) => {
    let total = 0;
    for (const table of tables) {
      const count = statement(
        `${name}_in_${table}`,
        `SELECT count(*)::int AS count FROM ${table} WHERE ${IN_PIECE} AND ${condition}`,
      );
      for await (const [piece] of pieces<{ count: number }>(table, count)) total += piece!.count;
    }
    return total;
  });
}
