import { randomUUID } from "node:crypto";
import type { Context } from "../context.ts";
import { retryWhileUnreachable, statement, type Queryable } from "../database/database.ts";
import { KitError } from "../errors.ts";
import type { Rotation } from "../extend/contract.ts";
import { lockedResource } from "../resources/store.ts";
import { claimOf, IS_OURS, HAS_TOKENS } from "./queue.ts";
import { whereIn, type Step } from "./step.ts";

// Rotation of customers' credentials: who may ask for it, and what ends it. A `rotate` step makes new ones, then sets
// them as config vars, and turns into `retire`, which is due when the overlap is over.

export const NO_ROTATION =
  "This service cannot rotate credentials: its createYourService() returns no rotation (docs/extend-it.md).";

export function rotationOf({ vendor }: Pick<Context, "vendor">): Rotation {
  if (!vendor.rotation) throw new KitError("no_rotation", NO_ROTATION);
  return vendor.rotation;
}

// Sent in a transaction that has locked the resource. Nothing is written while another rotation has not reached the
// app, or if an earlier try of this one ($2) was committed; nor while old credentials wait for the end of their
// overlap, unless an operator names the resource. What is asked for one resource stands before all that is due.
const rotation = statement(
  "write_rotation",
  `WITH open AS (
     SELECT key, kind FROM steps
     WHERE uuid = $1 AND (kind = 'rotate' OR key = $2 OR (kind = 'retire' AND $3::text <> 'operator'))
   ), free AS (
     SELECT CASE WHEN $3 IN ('operator', 'service')
       THEN least(now(), (SELECT min(due_at) FROM steps WHERE ${whereIn("rotation")}) - interval '1 millisecond') ELSE now() END AS at
     FROM credentials WHERE uuid = $1 AND state IN (${HAS_TOKENS}, 'grant_pending') AND NOT EXISTS (SELECT FROM open)
   ), hastened AS (
     UPDATE steps s SET due_at = at FROM free WHERE s.uuid = $1 AND s.kind = 'retire' AND s.due_at > at
   ), noted AS (
     INSERT INTO events (uuid, type, detail) SELECT $1, 'rotation_asked', jsonb_build_object('by', CASE WHEN $3 LIKE 'operator%' THEN 'operator' ELSE $3 END) FROM free
   ), written AS (
     INSERT INTO steps (uuid, key, kind, due_at, traceparent) SELECT $1, $2, 'rotate', at, $4 FROM free
   )
   SELECT CASE WHEN EXISTS (SELECT FROM open WHERE key = $2) OR EXISTS (SELECT FROM free) THEN 'asked'
     WHEN EXISTS (SELECT FROM open WHERE kind = 'rotate') THEN 'under_way'
     WHEN EXISTS (SELECT FROM open) THEN 'overlap' ELSE 'no_tokens' END AS result`,
);

/**
 * `under_way`: the app does not have the credentials of the last rotation yet; `overlap`: the old ones are not retired
 * yet; `no_tokens`: the app could not get new ones.
 */
export type Asked = "asked" | "under_way" | "overlap" | "no_tokens";

/** Asks for new credentials of one resource, which are made soon; unless it is "asked", nothing is. */
export async function askRotation(
  ctx: Context,
  uuid: string,
  by: "operator" | "operator_of_all" | "service" | "timetable",
): Promise<Asked | "not_provisioned"> {
  rotationOf(ctx);
  const values = [uuid, randomUUID(), by, ctx.trace.current()];
  const result = await retryWhileUnreachable(() =>
    ctx.db.transaction(async (tx) => {
      const resource = await lockedResource(tx, uuid);
      if (resource?.state !== "provisioned") return "not_provisioned";
      return (await tx.query<{ result: Asked }>(rotation, values))[0]!.result;
    }),
  );
  if (result === "asked") ctx.nudge("run-rotations");
  return result;
}

// A resource that your service refused to rotate is left for a day. Of a large table some pages are read, others each
// time; and none are found while so many rotations are due that more would only wait.
const SAMPLE = `least(100, 100.0 * 2000 * current_setting('block_size')::int / greatest(pg_relation_size('resources'), 1))`;
const oldCredentials = statement(
  "find_old_credentials",
  `SELECT r.uuid FROM resources r TABLESAMPLE SYSTEM (${SAMPLE}) JOIN credentials c USING (uuid)
   WHERE r.state = 'provisioned' AND c.state = 'active'
     AND coalesce(r.rotated_at, r.created_at) < now() - make_interval(secs => $1::float8 * 86400)
     AND NOT EXISTS (SELECT FROM steps s WHERE s.uuid = r.uuid AND s.kind IN ('rotate', 'retire'))
     AND NOT EXISTS (SELECT FROM events e
       WHERE e.uuid = r.uuid AND e.type = 'rotation_refused' AND e.at > now() - interval '1 day')
   LIMIT (SELECT 50 - count(*) FROM (SELECT FROM steps WHERE due_at <= now() AND ${whereIn("rotation")} LIMIT 50) due)`,
);

export const findOldCredentials = (db: Queryable, days: number) =>
  db.query<{ uuid: string }>(oldCredentials, [days]);

export async function planRotations(ctx: Context): Promise<void> {
  const { everyDays } = ctx.vendor.rotation ?? {};
  if (everyDays === undefined) return;
  for (const { uuid } of await findOldCredentials(ctx.db, everyDays))
    await askRotation(ctx, uuid, "timetable");
}

const retired = statement(
  "settle_retired",
  `WITH ended AS (DELETE FROM steps s WHERE ${IS_OURS} AND s.kind = 'retire' RETURNING s.uuid)
   INSERT INTO events (uuid, type) SELECT uuid, 'retired' FROM ended`,
);

export const settleRetired = (db: Queryable, step: Step) => db.query(retired, claimOf(step));
