import { isDeepStrictEqual } from "node:util";
import { createApplies, statement, type Queryable } from "../../database/database.ts";
import type { Vault } from "../../vault/vault.ts";
import { fullSet, openConfig, sealConfig } from "../config-vars.ts";
import { findResource } from "../rows.ts";
import { createFencedCommit, fenceOf, type Fence } from "./fence.ts";
import { isOfPlanChange, ofPlanChange } from "./of-plan-change.ts";
import type { Step } from "./queue.ts";

// What a step leaves behind, written together with its end: the config vars wanted, the plan, and the next step. A step
// that needs tokens has no due time while it waits for them. Every statement is fenced by the step's lease, so the work
// of a process that was overtaken, or of a deprovisioned resource, is dropped. The two hot ones (`announce`,
// `provisioned`) are written for all steps that are ready at the same moment.

const DUE_WHEN_ACTIVE = `CASE WHEN EXISTS (
    SELECT 1 FROM credentials c WHERE c.uuid = s.uuid AND c.state IN ('active', 'needs_reauth')) THEN now() END`;

/**
 * SQL for the resource's plan after plan `made` was made: it becomes the resource's plan, even if the process dies
 * before it tells the platform. A plan change that is queued behind this step keeps its plan. One that is just being
 * queued has no step in the statement's snapshot, but then the resource's plan differs from `seen`.
 */
const planAfter = (step: string, made: string, seen: string) => `CASE WHEN r.plan <> ${seen} OR EXISTS (
    SELECT 1 FROM steps behind WHERE behind.uuid = ${step}.uuid AND behind.id > ${step}.id AND behind.kind = 'change_plan')
  THEN r.plan ELSE ${made} END`;

const IS_WANTED = `r.state NOT IN ('deprovisioned', 'failed')`;

// Only if no operator has set a config var meanwhile. The resource is locked first, so that otherwise its step does not
// end.
const announce = statement(
  "settle_done",
  `WITH incoming AS (
     SELECT * FROM unnest($1::bigint[], $2::int[], $3::bytea[], $4::bytea[], $5::text[], $6::text[])
       AS i(id, lease, seen_config, sealed_config, applied_plan, event)
   ), unchanged AS (
     SELECT i.* FROM incoming i, steps s, resources r
     WHERE s.id = i.id AND s.lease = i.lease AND r.uuid = s.uuid AND r.sealed_config IS NOT DISTINCT FROM i.seen_config
     FOR UPDATE OF r
   ), next AS (
     UPDATE steps s SET kind = 'announce', due_at = ${DUE_WHEN_ACTIVE}, attempts = 0, leased_until = NULL, last_error = NULL
     FROM unchanged i, resources seen
     WHERE s.id = i.id AND s.lease = i.lease AND s.kind <> 'announce' AND seen.uuid = s.uuid
     RETURNING s.id, s.lease, s.uuid, i.sealed_config, i.applied_plan, i.event, seen.plan AS seen_plan
   ), told AS (
     INSERT INTO events (uuid, type, detail) SELECT uuid, event, jsonb_build_object('plan', applied_plan) FROM next
   )
   UPDATE resources r SET sealed_config = next.sealed_config, applied_plan = next.applied_plan,
     plan = ${planAfter("next", "next.applied_plan", "next.seen_plan")}, updated_at = now()
   FROM next WHERE r.uuid = next.uuid AND ${IS_WANTED} RETURNING next.id, next.lease`,
);

// The `finish` step waits for the tokens of a pending grant; if none is pending, it runs without. If `finish` is
// refused, the plan applied at this moment is restored (`previousPlan`).
const later = statement(
  "settle_later",
  `WITH next AS (
     UPDATE steps s SET kind = 'finish', attempts = 0, leased_until = NULL, last_error = NULL,
       due_at = CASE WHEN NOT EXISTS (
         SELECT 1 FROM credentials c WHERE c.uuid = s.uuid AND c.state = 'grant_pending') THEN now() END,
       detail = s.detail || jsonb_build_object('previousPlan', seen.applied_plan)
     FROM resources seen WHERE seen.uuid = s.uuid AND s.id = $1 AND s.lease = $2 AND s.kind <> 'finish'
     RETURNING s.id, s.uuid, seen.plan AS seen_plan
   )
   UPDATE resources r SET applied_plan = $3, plan = ${planAfter("next", "$3", "next.seen_plan")}, updated_at = now()
   FROM next WHERE r.uuid = next.uuid AND ${IS_WANTED} RETURNING r.uuid`,
);

// Only while the step is still the plan change: once the change is made, another may have followed.
const acceptPlan = statement(
  "accept_plan",
  `UPDATE resources r SET plan = ${planAfter("s", "$3", "seen.plan")}, updated_at = now() FROM steps s, resources seen
   WHERE s.id = $1 AND s.lease = $2 AND s.kind = 'change_plan' AND r.uuid = s.uuid AND seen.uuid = s.uuid AND ${IS_WANTED}
   RETURNING r.uuid`,
);

const keepPlan = statement(
  "refuse_plan_change",
  `WITH ended AS (DELETE FROM steps WHERE id = $1 AND lease = $2 RETURNING uuid
   ), told AS (INSERT INTO events (uuid, type) SELECT uuid, 'plan_change_refused' FROM ended
   )
   UPDATE resources r SET plan = CASE WHEN r.plan = $3 THEN $4 ELSE r.plan END, applied_plan = $4, updated_at = now()
   FROM ended WHERE r.uuid = ended.uuid AND ${IS_WANTED} RETURNING r.uuid`,
);

const fail = statement(
  "settle_failure",
  `WITH next AS (
     UPDATE steps s SET kind = 'report_failure', attempts = 0, leased_until = NULL,
       due_at = CASE WHEN EXISTS (SELECT 1 FROM credentials c WHERE c.uuid = s.uuid AND c.state = 'grant_pending')
         THEN NULL ELSE now() END
     WHERE s.id = $1 AND s.lease = $2 RETURNING s.uuid
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'provision_failed' FROM next RETURNING uuid`,
);

// The announcement of a plan change says nothing of the provision before it, which has its own.
const provisioned = statement(
  "settle_provisioned",
  `WITH ended AS (
     DELETE FROM steps s USING unnest($1::bigint[], $2::int[]) AS i(id, lease)
     WHERE s.id = i.id AND s.lease = i.lease
     RETURNING s.id, s.lease, s.uuid, s.kind = 'announce' AND ${ofPlanChange("s")} AS of_change
   ), turned AS (
     UPDATE resources r SET state = 'provisioned', updated_at = now() FROM ended
     WHERE r.uuid = ended.uuid AND r.state = 'provisioning' AND NOT ended.of_change RETURNING r.uuid
   ), told AS (INSERT INTO events (uuid, type) SELECT uuid, 'provisioned' FROM turned
   )
   SELECT id, lease FROM ended`,
);

interface Settled extends Fence {
  seenConfig: Buffer | null;
  sealedConfig: Uint8Array;
  appliedPlan: string;
  event: "plan_changed" | "config_ready";
}

export function createSettlements(db: Queryable, vault: Vault) {
  const commitDone = createFencedCommit<Settled>(db, announce, (rows) => [
    rows.map(({ seenConfig }) => seenConfig),
    rows.map(({ sealedConfig }) => sealedConfig),
    rows.map(({ appliedPlan }) => appliedPlan),
    rows.map(({ event }) => event),
  ]);
  const commitProvisioned = createFencedCommit(db, provisioned);
  const applies = createApplies(db);
  return {
    /**
     * The vendor's work for `appliedPlan` is done: stores the config vars and tells the platform next. False: the step
     * is not ours any more.
     */
    async done(step: Step, config: Readonly<Record<string, string>>, appliedPlan: string): Promise<boolean> {
      // Not the step's kind: a plan change that was put off ends as a `finish`.
      const event = isOfPlanChange(step) ? "plan_changed" : "config_ready";
      let { resource } = step;
      for (;;) {
        const { uuid, sealedConfig: seenConfig } = resource;
        const sealedConfig = sealConfig(vault, uuid, fullSet(openConfig(vault, resource), config));
        if (await commitDone({ ...fenceOf(step), seenConfig, sealedConfig, appliedPlan, event })) return true;
        const now = await findResource(db, uuid);
        // The config vars have not changed since they were read, so the step is not ours any more.
        if (!now || isDeepStrictEqual(now.sealedConfig, seenConfig)) return false;
        resource = now;
      }
    },
    /** The vendor's work for plan `applied` goes on in `finish`. */
    later: ({ id, lease }: Step, applied: string) => applies(later, [id, lease, applied]),
    /** The platform was told yes to a plan whose work still runs. */
    acceptPlan: ({ id, lease }: Step, plan: string) => applies(acceptPlan, [id, lease, plan]),
    /** The vendor refuses plan `refused`: the resource keeps the one it had, unless yet another was accepted. */
    keepPlan: ({ id, lease }: Step, refused: string, kept: string) =>
      applies(keepPlan, [id, lease, refused, kept]),
    /** The vendor refuses what it had promised: the platform must be told. */
    fail: ({ id, lease }: Step) => applies(fail, [id, lease]),
    /** The platform was told everything: the step ends, and the resource is provisioned. */
    provisioned: (step: Step) => commitProvisioned(fenceOf(step)),
  };
}

export type Settlements = ReturnType<typeof createSettlements>;
