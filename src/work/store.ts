import { isDeepStrictEqual } from "node:util";
import type { Context } from "../context.ts";
import { groupCommit, statement, type Queryable, type Statement } from "../database/database.ts";
import type { Result } from "../resources/answers.ts";
import { fullSet, openConfig, sealConfig } from "../resources/config-vars.ts";
import { mayBe } from "../resources/states.ts";
import { findResource } from "../resources/store.ts";
import { ofPlanChange, type Step } from "./step.ts";

// What a step leaves behind, written together with its end: the config vars wanted, the plan, and the next step. A step
// that needs tokens has no due time while it waits for them. Every statement is fenced by the step's lease, so the work
// of a process that was overtaken, or of a deprovisioned resource, is dropped. Each also checks the step's kind: a try
// whose acknowledgement was lost may have taken effect. They are written for all steps that are ready at the same moment.

const CREDENTIAL = `(SELECT c.state FROM credentials c WHERE c.uuid = s.uuid)`;
const CLAIMED = `s.uuid = i.uuid AND s.key = i.key AND s.lease = i.lease`;

// The vendor's result of work whose caller was answered already. Done: the config vars are to be announced, unless an
// operator has set one since they were read (`seen_config`). Later: `finish` goes on with it, once a pending grant has
// its tokens. Refused: a plan change is dropped and the resource keeps its plan; of a provision the platform must be
// told. The resource is locked first, so that otherwise its step does not end.
// `previousPlan`: of the release before, which wrote the new plan into the resource before it was made.
const settle = statement(
  "settle_steps",
  `WITH incoming AS (
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::text[], $5::bytea[], $6::bytea[])
       AS i(uuid, key, lease, result, seen_config, sealed_config)
   ), ours AS (
     SELECT i.*, s.id, s.kind, s.detail, ${ofPlanChange("s")} AS of_change, coalesce(s.detail->>'plan', r.applied_plan) AS plan
     FROM incoming i, steps s, resources r
     WHERE ${CLAIMED} AND s.kind IN ('provision', 'finish', 'change_plan') AND r.uuid = i.uuid AND ${mayBe("change_plan")}
       AND (i.result <> 'done' OR r.sealed_config IS NOT DISTINCT FROM i.seen_config)
     FOR UPDATE OF r
   ), dropped AS (
     DELETE FROM steps s USING ours o WHERE s.id = o.id AND s.lease = o.lease AND o.result = 'refused' AND o.of_change
     RETURNING o.*
   ), next AS (
     UPDATE steps s SET attempts = 0, leased_until = NULL, last_error = NULL,
       kind = CASE o.result WHEN 'done' THEN 'announce' WHEN 'later' THEN 'finish' ELSE 'report_failure' END,
       due_at = CASE WHEN o.result = 'done' AND ${CREDENTIAL} IN ('active', 'needs_reauth')
         OR o.result <> 'done' AND ${CREDENTIAL} IS DISTINCT FROM 'grant_pending' THEN now() END,
       detail = CASE WHEN o.result = 'later' AND o.of_change THEN s.detail || '{"isAccepted": true}' ELSE s.detail END
     FROM ours o WHERE s.id = o.id AND s.lease = o.lease AND NOT (o.result = 'refused' AND o.of_change)
     RETURNING o.*
   ), noted AS (
     INSERT INTO events (uuid, type, detail)
     SELECT uuid, CASE WHEN of_change THEN 'plan_changed' ELSE 'config_ready' END, jsonb_build_object('plan', plan)
       FROM next WHERE result = 'done'
     UNION ALL SELECT uuid, 'provision_failed', '{}' FROM next WHERE result = 'refused'
     UNION ALL SELECT uuid, 'plan_change_refused', '{}' FROM dropped
   ), made AS (
     UPDATE resources r SET sealed_config = n.sealed_config, plan = n.plan, applied_plan = n.plan, updated_at = now()
     FROM next n WHERE r.uuid = n.uuid AND n.result = 'done'
   ), kept AS (
     UPDATE resources r SET plan = p.plan, applied_plan = p.plan FROM dropped d, resources seen,
       coalesce(CASE WHEN d.kind = 'finish' THEN d.detail->>'previousPlan' END, seen.applied_plan) AS p(plan)
     WHERE r.uuid = d.uuid AND seen.uuid = d.uuid AND d.detail ? 'previousPlan'
   )
   SELECT uuid, key, lease, detail ? 'isAccepted' AS "isAccepted" FROM next
   UNION ALL SELECT uuid, key, lease, detail ? 'isAccepted' FROM dropped`,
);

// The announcement of a plan change says nothing of the provision before it, which has its own.
const announced = statement(
  "settle_announced",
  `WITH ended AS (
     DELETE FROM steps s USING unnest($1::uuid[], $2::uuid[], $3::int[]) AS i(uuid, key, lease)
     WHERE ${CLAIMED}
     RETURNING s.uuid, s.key, s.lease, s.kind = 'announce' AND ${ofPlanChange("s")} AS of_change
   ), turned AS (
     UPDATE resources r SET state = 'provisioned', updated_at = now() FROM ended
     WHERE r.uuid = ended.uuid AND ${mayBe("announced")} AND NOT ended.of_change RETURNING r.uuid
   ), noted AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'provisioned' FROM turned
   )
   SELECT uuid, key, lease FROM ended`,
);

// Every resource is discovered once, right after its first tokens.
const discovered = statement(
  "store_discovered",
  `WITH incoming AS (
     SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::uuid[], $5::text[], $6::int[])
       AS i(uuid, key, lease, app_id, app_name, attached)
   ), ended AS (
     DELETE FROM steps s USING incoming i WHERE ${CLAIMED}
     RETURNING s.uuid, s.key, s.lease, i.app_id, i.app_name, i.attached
   ), kept AS (
     UPDATE resources r SET app_id = e.app_id, app_name = e.app_name, updated_at = now()
     FROM ended e WHERE r.uuid = e.uuid AND r.state <> 'deprovisioned'
   ), noted AS (
     INSERT INTO events (uuid, type, detail)
     SELECT uuid, 'apps_found', jsonb_build_object('attached', attached) FROM ended
   )
   SELECT uuid, key, lease FROM ended`,
);

interface Claim {
  uuid: string;
  key: string;
  lease: number;
}

const claimOf = ({ resource: { uuid }, key, lease }: Step): Claim => ({ uuid, key, lease });

/**
 * Sends a statement for claims and further columns, and gives each row what it returned for its claim; null: the step is
 * not ours any more, or its end is stored already.
 *
 * The rows are sent in the order of their resources, in which PostgreSQL locks them as long as its plan looks up each of
 * them: two batches about the same resources then wait for each other in turn. If they deadlock under another plan, the
 * group commit tries row by row.
 */
function fenced<Row extends Claim, Ended extends Claim>(
  one: Statement,
  columns: (rows: readonly Row[]) => unknown[] = () => [],
) {
  return groupCommit<Context, Row, Ended | null>({
    async write({ db }, rows) {
      const ordered = rows.toSorted((row, other) => row.uuid.localeCompare(other.uuid));
      const claims = [
        ordered.map(({ uuid }) => uuid),
        ordered.map(({ key }) => key),
        ordered.map(({ lease }) => lease),
      ];
      const ended = await db.query<Ended>(one, [...claims, ...columns(ordered)]);
      return rows.map(
        ({ key, lease }) => ended.find((each) => each.key === key && each.lease === lease) ?? null,
      );
    },
  });
}

interface Settled extends Claim {
  result: Result["is"];
  seenConfig: Buffer | null;
  sealedConfig: Uint8Array | null;
}

const settleAll = fenced<Settled, Claim & { isAccepted: boolean }>(settle, (rows) => [
  rows.map(({ result }) => result),
  rows.map(({ seenConfig }) => seenConfig),
  rows.map(({ sealedConfig }) => sealedConfig),
]);

/**
 * Stores a result of the vendor's whose caller was answered already, and what happens next. `isAccepted`: the answer was
 * yes, or "later". Null: the step is not ours any more, or its end is stored already.
 */
export async function settleStep(
  ctx: Context,
  step: Step,
  result: Result,
): Promise<{ isAccepted: boolean } | null> {
  let { resource } = step;
  for (;;) {
    const { uuid, sealedConfig: seenConfig } = resource;
    const sealedConfig =
      result.is === "done"
        ? sealConfig(ctx.vault, uuid, fullSet(openConfig(ctx.vault, resource), result.config))
        : null;
    const ended = await settleAll(ctx, { ...claimOf(step), result: result.is, seenConfig, sealedConfig });
    if (ended || result.is !== "done") return ended;
    const now = await findResource(ctx.db, uuid);
    // The config vars have not changed since they were read, so the step is not ours any more.
    if (!now || isDeepStrictEqual(now.sealedConfig, seenConfig)) return null;
    resource = now;
  }
}

const announceAll = fenced<Claim, Claim>(announced);

/** The platform was told everything: the step ends, and the resource is provisioned. False: as for `settleStep`. */
export async function settleAnnounced(ctx: Context, step: Step): Promise<boolean> {
  return (await announceAll(ctx, claimOf(step))) !== null;
}

interface Found {
  app: { id: string; name: string };
  attached: number;
}

const discoverAll = fenced<Claim & Found, Claim>(discovered, (rows) => [
  rows.map(({ app }) => app.id),
  rows.map(({ app }) => app.name),
  rows.map(({ attached }) => attached),
]);

/** Ends a discovery with what it found. False: as for `settleStep`. */
export async function settleDiscovered(ctx: Context, step: Step, found: Found): Promise<boolean> {
  return (await discoverAll(ctx, { ...claimOf(step), ...found })) !== null;
}

const storeApp = statement(
  "store_app",
  `UPDATE resources SET app_id = $2, app_name = $3, updated_at = now()
   WHERE uuid = $1 AND state <> 'deprovisioned' AND (app_id, app_name) IS DISTINCT FROM ($2, $3)`,
);

/** Stores the primary app of a resource, as last seen. */
export async function storePrimaryApp(db: Queryable, uuid: string, app: Found["app"]): Promise<void> {
  await db.query(storeApp, [uuid, app.id, app.name]);
}
