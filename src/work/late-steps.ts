import { statement, type Queryable } from "../database/database.ts";
import { ofPlanChange } from "./step.ts";

/**
 * After this time a provision is given up; for any other step to which the vendor still answers "later", an alarm is
 * raised.
 */
export const GIVEN_UP_AFTER = "interval '11 hours'";

// The statement that stores tokens wakes the steps that wait for them; this finds steps that were missed. Some wait for
// ever, for a grant that never comes, and may be many: each look reads `LOOKED_AT` of them, in the order of their ids,
// and the next one continues from there. The `finish` of a plan change whose grant was lost meanwhile runs without
// tokens, as it does if the grant was lost before: it holds up every change behind it. A put-off provision whose grant
// was lost is failed by `failStranded`.
const LOOKED_AT = 10_000;
const wake = statement(
  "wake_steps",
  `WITH part AS MATERIALIZED (
     SELECT id, kind, (SELECT state FROM credentials c WHERE c.uuid = s.uuid) AS credential,
       (SELECT state FROM resources r WHERE r.uuid = s.uuid) AS resource
     FROM steps s WHERE due_at IS NULL AND id > $1 ORDER BY id LIMIT ${LOOKED_AT}
   ), woken AS (
     UPDATE steps SET due_at = now() WHERE due_at IS NULL AND id = ANY(ARRAY(
       SELECT id FROM part WHERE credential IN ('active', 'needs_reauth')
         OR (kind = 'finish' AND credential <> 'grant_pending' AND resource = 'provisioned'))) RETURNING id
   )
   SELECT (SELECT count(*) FROM woken)::int AS woken, count(*)::int AS looked, coalesce(max(id), 0) AS last FROM part`,
);

// The platform gives an asynchronous provision up after 12 hours; we decide after 11 (assumed, section 2). A provision
// that was never answered is not asynchronous: its step decides it. A plan change behind it is not the provision, and
// has its own step. `leased_until` stays: the report waits until work that still runs has noticed.
const expire = statement(
  "expire_steps",
  `UPDATE steps s SET kind = 'report_failure', due_at = now(), attempts = 0, lease = s.lease + 1
   FROM resources r
   WHERE r.uuid = s.uuid AND r.state = 'provisioning' AND s.kind IN ('provision', 'finish', 'announce')
     AND r.answer_status IS NOT NULL AND NOT ${ofPlanChange("s")}
     AND s.created_at < now() - ${GIVEN_UP_AFTER} RETURNING s.uuid`,
);

/** Finds what no due time brings up: waiting steps that were not woken, and provisions that took too long. */
export function createLateSteps(db: Queryable) {
  let lookedUpTo = 0;
  return {
    /** Wakes steps whose credential is active, or whose grant will not come; returns their number. */
    async wake(): Promise<number> {
      const [part] = await db.query<{ woken: number; looked: number; last: number }>(wake, [lookedUpTo]);
      lookedUpTo = part?.looked === LOOKED_AT ? part.last : 0;
      return part?.woken ?? 0;
    },
    /** Turns steps that took too long into the report of failure; returns the uuids of their resources. */
    expire: async () => (await db.query<{ uuid: string }>(expire, [])).map(({ uuid }) => uuid),
  };
}
