import type { Context } from "../context.ts";
import type { Database, Queryable } from "../database/database.ts";
import { statement } from "../database/statement.ts";
import { whereBroughtBack } from "../processes/history-store.ts";
import { GIVEN_UP_AFTER, UNSAID } from "../work/queue.ts";
import { whereCan } from "./states.ts";
import { HAS_TOKENS, whereOfPlanChange } from "./step.ts";
import { wakeAll } from "./steps.ts";

// The steps that no due time brings up: provisions that took too long, and steps that wait for tokens and were missed.

// The statement that stores tokens wakes the steps that wait for them; this finds the others. Some wait for ever, for a
// grant that never comes, and may be many.
const wake = statement<Record<never, never>, { id: number }>("wake_steps").sql(
  `UPDATE steps SET due_at = now() WHERE due_at IS NULL AND id = ANY(ARRAY(
     SELECT s.id FROM steps s JOIN credentials c USING (uuid) JOIN resources r USING (uuid)
     WHERE s.due_at IS NULL AND (c.state IN (${HAS_TOKENS})
       -- The finish of a plan change whose grant was lost meanwhile runs without tokens, as it does if the grant was lost
       -- before: it holds up every change behind it. A put-off provision whose grant was lost is failed by fail-stranded.
       OR (s.kind = 'finish' AND c.state <> 'grant_pending' AND r.state = 'provisioned')) LIMIT 10000
     FOR UPDATE OF s SKIP LOCKED)) RETURNING id`,
);

export const wakeSteps = async (db: Database) => (await db.planned((tx) => tx.query(wake))).length;

/** SQL: turns the steps of provisions that are given up, and returns their `uuid`. */
const expiring = <Which extends string>(which: Which, skip = "") =>
  `UPDATE steps SET kind = 'report_failure', due_at = now(), attempts = 0, lease = lease + 1, detail = detail - ${UNSAID}
     -- leased_until stays: the report waits until work that still runs has noticed.
   WHERE id = ANY(ARRAY(SELECT s.id FROM steps s JOIN resources r USING (uuid)
     WHERE ${whereCan("given_up")} AND s.kind IN ('provision', 'finish', 'announce')
       -- A provision that was never answered is not asynchronous: its step decides it.
       AND r.answer_status IS NOT NULL
       -- A plan change behind the provision has its own step.
       AND NOT ${whereOfPlanChange("s")} AND ${which} FOR UPDATE OF s ${skip})) RETURNING uuid` as const;
// The platform gives an asynchronous provision up after 12 hours; we decide after 11 (assumed, section 2). One that came
// back with a backup may have been completed since, and lives: an operator decides.
const expire = statement<Record<never, never>, { uuid: string }>("expire_steps").sql(
  expiring(
    `s.created_at < now() - ${GIVEN_UP_AFTER} AND NOT ${whereBroughtBack("r.created_at")}`,
    "SKIP LOCKED",
  ),
);
const expireOne = statement<{ uuid: string }, { uuid: string }>("expire_step").sql(
  expiring(`s.uuid = :uuid AND s.kind <> 'announce'`),
);

export const expireSteps = (db: Queryable) => db.query(expire);

/** The same for one provision that the vendor's service has not made, however long it took. */
export const expireProvision = (tx: Queryable, uuid: string) => tx.query(expireOne, { uuid });

/** Finds what no due time brings up. */
export async function findLateSteps(ctx: Context): Promise<void> {
  const expired = await expireSteps(ctx.db);
  for (const { uuid } of expired)
    ctx.log.error(
      { alarm: "provision_failed", uuid },
      "A provision was not completed in 11 hours and is given up",
    );
  const woken = await wakeSteps(ctx.db);
  if (woken + expired.length > 0) wakeAll(ctx);
}
