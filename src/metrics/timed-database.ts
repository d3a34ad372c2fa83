import type { Database, Queryable } from "../database/database.ts";
import type { Metrics } from "./metrics.ts";

/** A database whose statements are timed, by the name each has. Those of Prisma are not. */
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
    transaction: (work) => db.transaction((tx) => work({ query: timed(tx) })),
  };
}
