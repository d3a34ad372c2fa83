import { statement } from "../../database/database.ts";
import type { Services } from "../../services.ts";
import { countedToMost, fine, MOST_COUNTED, warning, type Finding } from "./check.ts";

const notOffered = statement(
  "plans_not_offered",
  `SELECT plan, count(*)::int AS count FROM (
     SELECT plan FROM resources WHERE state IN ('provisioning', 'provisioned') AND plan <> ALL($1::text[]) LIMIT ${MOST_COUNTED}
   ) each GROUP BY plan ORDER BY count DESC, plan LIMIT 10`,
);

/** Whether every plan that a customer has is still on offer: your functions are called with it. */
export async function plans({ db, offer }: Services): Promise<Finding> {
  const names = Object.keys(offer.plans);
  const missing = await db.query<{ plan: string; count: number }>(notOffered, [names]);
  if (missing.length === 0) return fine("Every plan that a customer has is on offer.");
  const listed = missing.map(({ plan, count }) => `${plan} (${countedToMost(count, "resource")})`);
  return warning(
    `Customers have plans that are not on offer: ${listed.join(", ")}.`,
    "Put them back into src/your-service/plans.ts: a plan's name stays as long as a customer has it.",
  );
}
