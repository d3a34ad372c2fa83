import { statement, type Queryable } from "../../database/database.ts";
import type { Vault } from "../../vault/vault.ts";
import { fullSet, openConfig, sealConfig } from "../config-vars.ts";
import type { Step } from "./queue.ts";

// What a step leaves behind, written together with its end: the config vars wanted, the plan, and the step that comes
// next. A step that needs the platform waits (no due time) while the credential is not active. Every statement is
// fenced by the step's lease, so the work of a process that was overtaken, or of a deprovisioned resource, is dropped.

const DUE_WHEN_ACTIVE = `CASE WHEN EXISTS (
    SELECT 1 FROM credentials c WHERE c.uuid = s.uuid AND c.state IN ('active', 'needs_reauth')) THEN now() END`;

const announce = statement(
  "settle_done",
  `WITH next AS (
     UPDATE steps s SET kind = 'announce', due_at = ${DUE_WHEN_ACTIVE}, attempts = 0, leased_until = NULL, last_error = NULL
     WHERE s.id = $1 AND s.lease = $2 RETURNING s.uuid
   ), told AS (
     INSERT INTO events (uuid, type, detail) SELECT uuid, $5, jsonb_build_object('plan', $4::text) FROM next
   )
   UPDATE resources r SET sealed_config = $3, plan = $4, updated_at = now() FROM next WHERE r.uuid = next.uuid
   RETURNING r.uuid`,
);

const later = statement(
  "settle_later",
  `WITH next AS (
     UPDATE steps s SET kind = 'finish', due_at = ${DUE_WHEN_ACTIVE}, attempts = 0, leased_until = NULL, last_error = NULL
     WHERE s.id = $1 AND s.lease = $2 RETURNING s.uuid
   )
   UPDATE resources r SET plan = $3, updated_at = now() FROM next WHERE r.uuid = next.uuid RETURNING r.uuid`,
);

const acceptPlan = statement(
  "accept_plan",
  `UPDATE resources r SET plan = $3, updated_at = now() FROM steps s
   WHERE s.id = $1 AND s.lease = $2 AND r.uuid = s.uuid RETURNING r.uuid`,
);

const keepPlan = statement(
  "refuse_plan_change",
  `WITH ended AS (DELETE FROM steps WHERE id = $1 AND lease = $2 RETURNING uuid
   ), told AS (INSERT INTO events (uuid, type) SELECT uuid, 'plan_change_refused' FROM ended
   )
   UPDATE resources r SET plan = $3, updated_at = now() FROM ended WHERE r.uuid = ended.uuid RETURNING r.uuid`,
);

const fail = statement(
  "settle_failure",
  `WITH next AS (
     UPDATE steps s SET kind = 'report_failure', due_at = now(), attempts = 0, leased_until = NULL
     WHERE s.id = $1 AND s.lease = $2 RETURNING s.uuid
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'provision_failed' FROM next RETURNING uuid`,
);

const provisioned = statement(
  "settle_provisioned",
  `WITH ended AS (DELETE FROM steps WHERE id = $1 AND lease = $2 RETURNING uuid
   ), turned AS (
     UPDATE resources r SET state = 'provisioned', updated_at = now() FROM ended
     WHERE r.uuid = ended.uuid AND r.state = 'provisioning' RETURNING r.uuid
   ), told AS (INSERT INTO events (uuid, type) SELECT uuid, 'provisioned' FROM turned
   )
   SELECT uuid FROM ended`,
);

export function createSettlements(db: Queryable, vault: Vault) {
  const applies = async (...[what, values]: Parameters<Queryable["query"]>) =>
    (await db.query(what, values)).length > 0;
  return {
    /** The vendor's work is done: keep the config vars and tell the platform next. */
    async done(
      { id, lease, resource, kind }: Step,
      config: Readonly<Record<string, string>>,
      plan = resource.plan,
    ) {
      const sealed = sealConfig(vault, resource.uuid, fullSet(openConfig(vault, resource), config));
      return applies(announce, [
        id,
        lease,
        sealed,
        plan,
        kind === "change_plan" ? "plan_changed" : "config_ready",
      ]);
    },
    /** The vendor's work goes on in `finish`. */
    later: ({ id, lease, resource }: Step, plan = resource.plan) => applies(later, [id, lease, plan]),
    /** The platform was told yes to a plan whose work still runs. */
    acceptPlan: ({ id, lease }: Step, plan: string) => applies(acceptPlan, [id, lease, plan]),
    /** The vendor refuses the plan: the resource keeps the one it had. */
    keepPlan: ({ id, lease }: Step, plan: string) => applies(keepPlan, [id, lease, plan]),
    /** The vendor refuses what it had promised: the platform must be told. */
    fail: ({ id, lease }: Step) => applies(fail, [id, lease]),
    /** The platform knows everything. */
    provisioned: ({ id, lease }: Step) => applies(provisioned, [id, lease]),
  };
}

export type Settlements = ReturnType<typeof createSettlements>;
