import type { Context } from "../context.ts";
import type { Database } from "../database/database.ts";
import { type Queryable, statement } from "../database/statement.ts";
import { whereBroughtBack } from "../processes/history-store.ts";
import { GIVEN_UP_AFTER, LATER_MEMBERS } from "../work/queue.ts";
import { forgetKept } from "./end-store.ts";
import { whereCan } from "./states.ts";
import { HAS_TOKENS, whereOfPlanChange } from "./step-kinds.ts";
import { wakeAll } from "./steps.ts";

// Finds steps without a due time that must run now: provisions that took too long, and steps that waited for tokens.

// The statement that stores tokens also wakes the steps that wait for them. This statement wakes the steps that were
// missed there. Many steps may wait for a grant that never comes.
const wake = statement<Record<never, never>, { id: number }>("wake_steps").sql(
  `UPDATE steps SET due_at = now() WHERE due_at IS NULL AND id = ANY(ARRAY(
     SELECT s.id FROM steps s JOIN credentials c USING (uuid) JOIN resources r USING (uuid)
     WHERE s.due_at IS NULL AND (c.state IN (${HAS_TOKENS})
       -- The finish of a plan change blocks every later change, so it runs without tokens if the grant is lost. An
       -- asynchronous provision with a lost grant is failed by the job fail-stranded.
       OR (s.kind = 'finish' AND c.state <> 'grant_pending' AND r.state = 'provisioned')) LIMIT 10000
     FOR UPDATE OF s SKIP LOCKED)) RETURNING id`,
);

export const wakeSteps = async (db: Database) => (await db.planned((tx) => tx.query(wake))).length;

/** SQL: turns the steps of the provisions to give up into failure reports, and returns their `uuid`. */
const expiring = <Which extends string>(which: Which, skip = "") =>
  `UPDATE steps SET kind = 'report_failure', due_at = now(), attempts = 0, lease = lease + 1, detail = detail - ${LATER_MEMBERS}
     -- leased_until is kept: the report waits until a running call of the step has noticed.
   WHERE id = ANY(ARRAY(SELECT s.id FROM steps s JOIN resources r USING (uuid)
     WHERE ${whereCan("given_up")} AND s.kind IN ('provision', 'finish', 'announce')
       -- A provision without a stored answer is not asynchronous: its own step decides the answer.
       AND r.answer_status IS NOT NULL
       -- The steps of a plan change behind the provision are not its steps.
       AND NOT ${whereOfPlanChange("s")} AND ${which} FOR UPDATE OF s ${skip})) RETURNING uuid` as const;
// The platform gives up an asynchronous provision after 12 hours, this service after 11 (assumed, section 2). A resource
// that a backup restored is left out: its provision may have been completed after the backup, so an operator decides.
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

/** Gives up one provision that the vendor's service has not completed, whatever its age. */
export const expireProvision = (tx: Queryable, uuid: string) => tx.query(expireOne, { uuid });

/**
 * Gives up the provisions that took too long, wakes the steps whose tokens are there, and forgets the customers of clean-ups
 * that take too long.
 */
export async function findLateSteps(ctx: Context): Promise<void> {
  const expired = await expireSteps(ctx.db);
  for (const { uuid } of expired)
    ctx.log.error(
      { alarm: "provision_failed", uuid },
      "Provision given up: it was not completed within 11 hours",
    );
  await forgetKept(ctx.db, null);
  const woken = await wakeSteps(ctx.db);
  if (woken + expired.length > 0) wakeAll(ctx);
}
