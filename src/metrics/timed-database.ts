import type { Database, Queryable } from "../database/database.ts";
import type { Metrics } from "./metrics.ts";

/** Wraps the database and times its statements by name. Prisma's statements are not timed. */
export function timedDatabase(db: Database, { query: observe }: Metrics): Database {
  const timed =
    ({ query }: Queryable): Queryable["query"] =>
    async (statement, values) => {
      const startedMs = performance.now();
      try {
        return await query(statement, values);
      } finally {
        observe({ statement: statement.name }, (performance.now() - startedMs) / 1_000);
      }
    };
  return {
    ...db,
    query: timed(db),
    readWhole: timed({ query: db.readWhole }),
    transaction: (work) => db.transaction((tx) => work({ query: timed(tx) })),
  };
}
