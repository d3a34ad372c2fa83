import { randomUUID } from "node:crypto";
import type { Context } from "../context.ts";
import { retryWhileDatabaseAway, statement, type Queryable } from "../database/database.ts";
import { KitError, Misconfigured } from "../errors.ts";
import type { Rotation } from "../extend/contract.ts";
import { lockedResource } from "../resources/store.ts";
import { claimOf, IS_OURS, TOLD } from "./queue.ts";
import { isIn, type Step } from "./step.ts";

// Rotation of customers' credentials: who may ask for it, and what ends it. A `rotate` step makes new ones, then sets
// them as config vars, and turns into `retire`, which is due when the overlap is over.

export const NO_ROTATION =
  "This service cannot rotate credentials: its createYourService() returns no rotation (docs/extend-it.md).";

/** How your service rotates. Throws if it cannot. */
export function rotationOf({ vendor }: Pick<Context, "vendor">): Rotation {
  if (!vendor.rotation) throw new KitError("no_rotation", NO_ROTATION);
  return vendor.rotation;
}

/** Throws `Misconfigured` for times that are none. */
export function checkRotation({ overlapMinutes = 0, everyDays = 1 }: Partial<Rotation> = {}): void {
  if (!(overlapMinutes >= 0 && everyDays >= 1))
    throw new Misconfigured(
      "src/your-service: of rotation, overlapMinutes is at least 0 and everyDays at least 1.",
    );
}

// Sent in a transaction that has locked the resource. Nothing is written while another rotation has not reached the
// app, or if an earlier try of this one ($2) was committed; nor while old credentials wait for the end of their
// overlap, unless that is to end now ($5). One that goes first ($6) stands before all that is due.
const rotation = statement(
  "write_rotation",
  `WITH place AS (
     SELECT CASE WHEN $6::bool THEN least(now(), min(due_at) - interval '1 millisecond') ELSE now() END AS at
     FROM steps WHERE due_at IS NOT NULL AND ${isIn("rotation")}
   ), open AS (
     SELECT key, kind FROM steps
     WHERE uuid = $1 AND (kind = 'rotate' OR key = $2 OR (kind = 'retire' AND NOT $5::bool))
   ), free AS (
     SELECT at FROM place WHERE NOT EXISTS (SELECT FROM open)
       AND EXISTS (SELECT FROM credentials WHERE uuid = $1 AND state IN (${TOLD}, 'grant_pending'))
   ), hastened AS (
     UPDATE steps s SET due_at = at FROM free WHERE s.uuid = $1 AND s.kind = 'retire' AND s.due_at > at
   ), noted AS (
     INSERT INTO events (uuid, type, detail) SELECT $1, 'rotation_asked', jsonb_build_object('by', $3::text) FROM free
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

/** How a rotation is asked for. */
interface HowAsked {
  by: "operator" | "service" | "timetable";
  /** Old credentials that wait to be retired are retired at once. */
  endsOverlap: boolean;
  /** It does not wait behind those of many resources. */
  goesFirst: boolean;
}

/** Asks for new credentials of one resource, which are made soon; unless it is "asked", nothing is. */
export async function askRotation(
  ctx: Context,
  uuid: string,
  { by, endsOverlap, goesFirst }: HowAsked,
): Promise<Asked | "not_provisioned"> {
  rotationOf(ctx);
  const values = [uuid, randomUUID(), by, ctx.trace.current(), endsOverlap, goesFirst];
  const result = await retryWhileDatabaseAway(() =>
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
   LIMIT (SELECT 50 - count(*) FROM (SELECT FROM steps WHERE due_at <= now() AND ${isIn("rotation")} LIMIT 50) due)`,
);

export const findOldCredentials = (db: Queryable, days: number) =>
  db.query<{ uuid: string }>(oldCredentials, [days]);

/** Asks for the rotation of some resources whose credentials are older than your service allows. */
export async function planRotations(ctx: Context): Promise<void> {
  const { everyDays } = ctx.vendor.rotation ?? {};
  if (everyDays === undefined) return;
  for (const { uuid } of await findOldCredentials(ctx.db, everyDays))
    await askRotation(ctx, uuid, { by: "timetable", endsOverlap: false, goesFirst: false });
}

const retired = statement(
  "settle_retired",
  `WITH ended AS (DELETE FROM steps s WHERE ${IS_OURS} AND s.kind = 'retire' RETURNING s.uuid)
   INSERT INTO events (uuid, type) SELECT uuid, 'retired' FROM ended`,
);

/** The old credentials are gone: the rotation ends. */
export const settleRetired = (db: Queryable, step: Step) => db.query(retired, claimOf(step));
