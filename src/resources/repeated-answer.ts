import { isDeepStrictEqual } from "node:util";
import { statement, type Queryable } from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import type { Answer, ProvisionAnswers } from "./provision-answers.ts";
import type { ProvisionRequest } from "./provision-store.ts";
import { deprovisioned } from "./refusals.ts";
import type { ResourceRow } from "./rows.ts";

// After a plan change, the plan of the first request is no longer known: a repeated request with another plan is then
// taken for a redelivery of it.
const countPlanChanges = statement(
  "count_plan_changes",
  `SELECT count(*)::int AS changes FROM (
     SELECT FROM events WHERE uuid = $1 AND type IN ('plan_change_queued', 'plan_changed') LIMIT 1) one`,
);

/**
 * The answer that `resource` was given first, for a repeated request. If the request differs from the first one, that
 * is logged. Throws the `Refusal` of a deprovisioned resource.
 */
export type RepeatedAnswer = (resource: ResourceRow, request: ProvisionRequest) => Promise<Answer>;

export function createRepeatedAnswer({
  db,
  answers,
  log,
}: {
  db: Queryable;
  answers: ProvisionAnswers;
  log: Log;
}): RepeatedAnswer {
  async function wasPlanChanged({ uuid }: ResourceRow): Promise<boolean> {
    const [row] = await db.query<{ changes: number }>(countPlanChanges, [uuid]);
    return row!.changes > 0;
  }

  return async (resource, request) => {
    const answer = answers.given(resource);
    if (resource.state === "deprovisioned" || !answer) throw deprovisioned();
    let differs = differences(resource, request);
    // Needed for the log only: an error of the database is ignored, so that it does not delay or change the answer.
    if (differs.includes("plan") && (await wasPlanChanged(resource).catch(() => false)))
      differs = differs.filter((member) => member !== "plan");
    if (differs.length > 0) {
      const { uuid, requestId, plan: asked } = request;
      log.warn(
        { uuid, requestId, differs, kept: resource.plan, asked },
        "A repeated provision differs; the first answer stands",
      );
    }
    return answer;
  };
}

/** The names of the members in which a repeated request differs from what is stored; their values are not logged. */
function differences(stored: ResourceRow, { plan, region, options }: ProvisionRequest): string[] {
  const others = {
    plan: stored.plan !== plan,
    region: stored.region !== region,
    // Compared as plain objects: the options of a request have no prototype.
    options: !isDeepStrictEqual({ ...stored.options }, { ...options }),
  };
  return Object.entries(others).flatMap(([member, isOther]) => (isOther ? [member] : []));
}
