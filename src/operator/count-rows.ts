import { statement, type Database } from "../database/database.ts";

/** Counts the rows of `tables` that meet `condition`. `name` is that of the statement. */
export async function countRows(
  db: Database,
  name: string,
  tables: readonly string[],
  condition = "true",
): Promise<number> {
  const counts = tables.map((table) => `(SELECT count(*) FROM ${table} WHERE ${condition})`);
  const [row] = await db.readWhole<{ count: number }>(
    statement(name, `SELECT ${counts.join(" + ")} AS count`),
  );
  return row!.count;
}
