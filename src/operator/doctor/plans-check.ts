import { statement } from "../../database/database.ts";
import type { OpenContext } from "../../open-context.ts";
import { counted, fine, warning, type Finding } from "./check.ts";

const notOffered = statement(
  "plans_not_offered",
  `SELECT plan, count(*)::int AS count FROM resources
   WHERE state IN ('provisioning', 'provisioned') AND plan <> ALL($1::text[]) GROUP BY plan ORDER BY count DESC`,
);

/** At most this many plans are named. */
const MOST_NAMED = 10;

/**
 * Checks that every plan a customer has is still on offer, because the vendor's functions are called with it. Reads
 * every resource.
 */
export async function plans({ db, offer }: OpenContext): Promise<Finding> {
  const names = Object.keys(offer.plans);
  const missing = await db.readWhole<{ plan: string; count: number }>(notOffered, [names]);
  if (missing.length === 0) return fine("Every plan that a customer has is on offer.");
  const listed = missing
    .slice(0, MOST_NAMED)
    .map(({ plan, count }) => `${plan} (${counted(count, "resource")})`);
  return warning(
    `Customers have plans that are not on offer: ${listed.join(", ")}${missing.length > MOST_NAMED ? ", and more" : ""}.`,
    "Put them back into src/your-service/plans.ts: a plan's name stays as long as a customer has it.",
  );
}
