import type { Database } from "../../database/database.ts";
import { statement } from "../../database/statement.ts";

// Not through Prisma, whose first use takes 300 ms: without it `kit doctor` answers in half a second.

type Wanted = { offered: readonly string[]; most: number };
const others = statement<Wanted, { plan: string; count: number }>("count_plans_not_offered").sql(
  `SELECT plan, count(*) AS count FROM resources
   WHERE state IN ('provisioning', 'provisioned') AND plan <> ALL(:offered::text[]) GROUP BY plan ORDER BY plan LIMIT :most`,
);

/** The plans that customers have and that are not `offered`, by name, and how many have each. */
export const plansNotOffered = (db: Database, wanted: Wanted) => db.readWhole(others, wanted);
