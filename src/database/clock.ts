import { oneRow, type Queryable, statement } from "./statement.ts";

const readClock = statement<object, { nowMs: number }>("database_clock").sql(
  `SELECT extract(epoch FROM now())::float8 * 1000 AS "nowMs"`,
);

/** The database's clock, in ms since 1970. */
export const databaseClock = async (db: Queryable): Promise<number> => (await oneRow(db, readClock))!.nowMs;
