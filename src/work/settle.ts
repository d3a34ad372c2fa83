import { isDeepStrictEqual } from "node:util";
import {
  createApplies,
  createGroupCommit,
  statement,
  type Queryable,
  type Statement,
} from "../database/database.ts";
import { fullSet, openConfig, sealConfig } from "../resources/config-vars.ts";
import { findResource } from "../resources/rows.ts";
import type { Vault } from "../vault/vault.ts";
import { ofPlanChange, type Step } from "./step.ts";

// What a step leaves behind, written together with its end: the config vars wanted, the plan, and the next step. A step
// that needs tokens has no due time while it waits for them. Every statement is fenced by the step's lease, so the work
// of a process that was overtaken, or of a deprovisioned resource, is dropped. Each also checks the step's kind: a try
// whose acknowledgement was lost may have taken effect. The hot ones are written for all steps that are ready at the
// same moment.

const DUE_WHEN_ACTIVE = `CASE WHEN EXISTS (
    SELECT 1 FROM credentials c WHERE c.uuid = s.uuid AND c.state IN ('active', 'needs_reauth')) THEN now() END`;

const IS_WANTED = `r.state NOT IN ('deprovisioned', 'failed')`;

// Only if no operator has set a config var since they were read. The resource is locked first, so that otherwise its
// step does not end.
const done = statement(
  "settle_done",
  `WITH incoming AS (
     SELECT * FROM unnest($1::bigint[], $2::int[], $3::bytea[], $4::bytea[])
       AS i(id, lease, seen_config, sealed_config)
   ), unchanged AS (
     SELECT i.*, coalesce(s.detail->>'plan', r.applied_plan) AS plan, ${ofPlanChange("s")} AS of_change FROM incoming i, steps s, resources r
     WHERE s.id = i.id AND s.lease = i.lease AND r.uuid = s.uuid AND ${IS_WANTED} AND r.sealed_config IS NOT DISTINCT FROM i.seen_config
     FOR UPDATE OF r
   ), next AS (
     UPDATE steps s SET kind = 'announce', due_at = ${DUE_WHEN_ACTIVE}, attempts = 0, leased_until = NULL, last_error = NULL
     FROM unchanged i WHERE s.id = i.id AND s.lease = i.lease AND s.kind <> 'announce'
     RETURNING s.id, s.lease, s.uuid, i.sealed_config, i.plan, i.of_change
   ), noted AS (
     INSERT INTO events (uuid, type, detail)
     SELECT uuid, CASE WHEN of_change THEN 'plan_changed' ELSE 'config_ready' END, jsonb_build_object('plan', plan) FROM next
   )
   UPDATE resources r SET sealed_config = next.sealed_config, plan = next.plan, applied_plan = next.plan, updated_at = now()
   FROM next WHERE r.uuid = next.uuid RETURNING next.id, next.lease`,
);

// The `finish` step waits for the tokens of a pending grant; if none is pending, it runs without.
const later = statement(
  "settle_later",
  `UPDATE steps s SET kind = 'finish', attempts = 0, leased_until = NULL, last_error = NULL,
     detail = CASE WHEN ${ofPlanChange("s")} THEN detail || '{"isAccepted": true}' ELSE detail END,
     due_at = CASE WHEN NOT EXISTS (
       SELECT 1 FROM credentials c WHERE c.uuid = s.uuid AND c.state = 'grant_pending') THEN now() END
   FROM resources r WHERE r.uuid = s.uuid AND s.id = $1 AND s.lease = $2 AND s.kind IN ('provision', 'change_plan') AND ${IS_WANTED}
   RETURNING s.id`,
);

// `previousPlan`: of the release before, which wrote the new plan into the resource before it was made.
const refuseChange = statement(
  "refuse_plan_change",
  `WITH ended AS (DELETE FROM steps WHERE id = $1 AND lease = $2 AND kind IN ('change_plan', 'finish') RETURNING uuid, kind, detail
   ), noted AS (INSERT INTO events (uuid, type) SELECT uuid, 'plan_change_refused' FROM ended
   ), kept AS (UPDATE resources r SET plan = p.plan, applied_plan = p.plan FROM ended e, resources seen,
       coalesce(CASE WHEN e.kind = 'finish' THEN e.detail->>'previousPlan' END, seen.applied_plan) AS p(plan)
     WHERE r.uuid = e.uuid AND seen.uuid = e.uuid AND e.detail ? 'previousPlan'
   )
   SELECT detail ? 'isAccepted' AS "isAccepted" FROM ended`,
);

const fail = statement(
  "settle_failure",
  `WITH next AS (
     UPDATE steps s SET kind = 'report_failure', attempts = 0, leased_until = NULL,
       due_at = CASE WHEN EXISTS (SELECT 1 FROM credentials c WHERE c.uuid = s.uuid AND c.state = 'grant_pending')
         THEN NULL ELSE now() END
     WHERE s.id = $1 AND s.lease = $2 AND s.kind IN ('provision', 'finish') RETURNING s.uuid
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
   ), noted AS (INSERT INTO events (uuid, type) SELECT uuid, 'provisioned' FROM turned
   )
   SELECT id, lease FROM ended`,
);

// Every resource is discovered once, right after its first tokens.
const discovered = statement(
  "store_discovered",
  `WITH incoming AS (
     SELECT * FROM unnest($1::bigint[], $2::int[], $3::uuid[], $4::text[], $5::int[])
       AS i(id, lease, app_id, app_name, attached)
   ), ended AS (
     DELETE FROM steps s USING incoming i WHERE s.id = i.id AND s.lease = i.lease
     RETURNING s.id, s.lease, s.uuid, i.app_id, i.app_name, i.attached
   ), kept AS (
     UPDATE resources r SET app_id = e.app_id, app_name = e.app_name, updated_at = now()
     FROM ended e WHERE r.uuid = e.uuid AND r.state <> 'deprovisioned'
   ), noted AS (
     INSERT INTO events (uuid, type, detail)
     SELECT uuid, 'apps_found', jsonb_build_object('attached', attached) FROM ended
   )
   SELECT id, lease FROM ended`,
);

/** A claimed step that is to be ended. Nothing happens unless its lease number is still `lease`. */
export interface Fence {
  uuid: string;
  id: number;
  lease: number;
}

export function fenceOf({ id, lease, resource }: Step): Fence {
  return { uuid: resource.uuid, id, lease };
}

interface DoneStep extends Fence {
  seenConfig: Buffer | null;
  sealedConfig: Uint8Array;
}

interface Discovered extends Fence {
  app: { id: string; name: string };
  attached: number;
}

/**
 * Ends steps and writes what they leave behind, with one `statement` for all that are ready at the same moment. The
 * statement is given ids, leases and the other `columns`, and returns the ids and leases of the steps that were still
 * ours. The returned function resolves to whether its step was; of two holders of the same step, the older has lost it.
 *
 * The rows are in the order of their resources, in which PostgreSQL locks them as long as its plan looks up each of
 * them: two batches about the same resources then wait for each other in turn. If they deadlock under another plan, the
 * group commit tries row by row.
 */
function createFencedCommit<Row extends Fence>(
  db: Queryable,
  statement: Statement,
  columns: (rows: readonly Row[]) => unknown[] = () => [],
): (row: Row) => Promise<boolean> {
  return createGroupCommit({
    async write(rows) {
      const ordered = rows.toSorted((one, other) => one.uuid.localeCompare(other.uuid));
      const values = [ordered.map(({ id }) => id), ordered.map(({ lease }) => lease), ...columns(ordered)];
      const ended = await db.query<{ id: number; lease: number }>(statement, values);
      const leases = new Map(ended.map(({ id, lease }) => [id, lease]));
      return rows.map(({ id, lease }) => leases.get(id) === lease);
    },
  });
}

/** Ends steps. Each function resolves to false if the step is not ours any more, or its end is stored already. */
export function createSettlements(db: Queryable, vault: Vault) {
  const commitDone = createFencedCommit<DoneStep>(db, done, (rows) => [
    rows.map(({ seenConfig }) => seenConfig),
    rows.map(({ sealedConfig }) => sealedConfig),
  ]);
  const commitProvisioned = createFencedCommit(db, provisioned);
  const applies = createApplies(db);
  return {
    /** The vendor's work is done: stores the config vars, and the plan if that changed, and announces them next. */
    async done(step: Step, config: Readonly<Record<string, string>>): Promise<boolean> {
      let { resource } = step;
      for (;;) {
        const { uuid, sealedConfig: seenConfig } = resource;
        const sealedConfig = sealConfig(vault, uuid, fullSet(openConfig(vault, resource), config));
        if (await commitDone({ ...fenceOf(step), seenConfig, sealedConfig })) return true;
        const now = await findResource(db, uuid);
        // The config vars have not changed since they were read, so the step is not ours any more.
        if (!now || isDeepStrictEqual(now.sealedConfig, seenConfig)) return false;
        resource = now;
      }
    },
    /** The vendor's work goes on in `finish`. */
    later: ({ id, lease }: Step) => applies(later, [id, lease]),
    /** The vendor refuses a plan change: the resource keeps its plan. Null: as false; else whether it was accepted. */
    async refuseChange({ id, lease }: Step): Promise<{ isAccepted: boolean } | null> {
      return (await db.query<{ isAccepted: boolean }>(refuseChange, [id, lease]))[0] ?? null;
    },
    /** The vendor refuses a provision that was answered "later": the platform must be told. */
    fail: ({ id, lease }: Step) => applies(fail, [id, lease]),
    /** The platform was told everything: the step ends, and the resource is provisioned. */
    provisioned: (step: Step) => commitProvisioned(fenceOf(step)),
    /** What a discovery found. */
    discovered: createFencedCommit<Discovered>(db, discovered, (rows) => [
      rows.map(({ app }) => app.id),
      rows.map(({ app }) => app.name),
      rows.map(({ attached }) => attached),
    ]),
  };
}

export type Settlements = ReturnType<typeof createSettlements>;
