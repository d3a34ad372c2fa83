import { anyRow, oneRow, type Queryable, statement } from "../database/statement.ts";
import { IS_HELD, OWN_XID } from "../processes/history-store.ts";
import { RUNS } from "../processes/store.ts";
import { whereCan } from "../resources/states.ts";
import { IS_CURRENT, whereGone } from "./store.ts";

// Marks that a restore leaves which no process could notice: the platform contradicts several rows, in several ways.

// A change that is under way, or was made while the platform answered, is no difference.
const markPlan = statement<{ uuid: string; plan: string }>("mark_plan").sql(
  `WITH looked AS (
     SELECT r.uuid, r.plan <> :plan AS differs FROM resources r
     WHERE r.uuid = :uuid AND r.state = 'provisioned' AND r.updated_at < now() - interval '10 minutes'
       AND NOT EXISTS (SELECT FROM steps s WHERE s.uuid = r.uuid AND s.kind IN ('change_plan', 'finish', 'announce'))
   ), ended AS (
     DELETE FROM ledger_marks m USING looked WHERE m.uuid = looked.uuid AND m.kind = 'plan_differs' AND NOT differs
   )
   INSERT INTO ledger_marks AS m (uuid, kind, detail)
   SELECT uuid, 'plan_differs', jsonb_build_object('plan', :plan::text) FROM looked WHERE differs
   ON CONFLICT (uuid, kind) DO UPDATE SET last_at = now(), times = m.times + 1, detail = excluded.detail`,
);

/** `plan`: the platform's, by its bare name. */
export const writePlan = (db: Queryable, uuid: string, plan: string) => db.query(markPlan, { uuid, plan });

/** How many resources the platform contradicts, and in which way. */
export interface Contradicted {
  ended: number;
  unknown: number;
  otherPlan: number;
  /** When the first of them was noticed. */
  since: Date;
}

// A refresh token lives as long as its add-on (platform document, "Token response").
const CONTRADICTIONS = `
  SELECT CASE m.kind WHEN 'gone_at_platform' THEN 'ended' ELSE m.kind END AS how, m.first_at AS at
  FROM ledger_marks m WHERE ${IS_CURRENT}
  UNION ALL
  SELECT 'ended', c.rejected_at FROM credentials c JOIN resources r USING (uuid)
  WHERE c.state IN ('active', 'needs_reauth') AND c.rejected_at > now() - interval '1 day'
    AND ${whereCan("change_plan")} AND NOT ${whereGone("c.uuid")}`;

/**
 * SQL: the contradictions of the last day, or of what is left of it since some times of the row `h`; one row, or none if
 * they are few or all alike. A lost request leaves one, a wrong ADDON_ID makes them alike; of 10,000 resources, one may go
 * wrong each day.
 */
const contradictedSince = (...times: readonly string[]) => `
  SELECT count(*) FILTER (WHERE how = 'ended')::int AS ended,
    count(*) FILTER (WHERE how = 'unknown_resource')::int AS unknown,
    count(*) FILTER (WHERE how = 'plan_differs')::int AS "otherPlan", min(at) AS since
  FROM (${CONTRADICTIONS}) said WHERE at > greatest(now() - interval '1 day', ${times.join(", ")})
  HAVING count(DISTINCT how) > 1
    AND count(*) >= 3 + (SELECT floor(greatest(reltuples, 0) / 10000) FROM pg_class WHERE oid = 'resources'::regclass)`;

/** SQL: a restore would be noticed by a process that has run for longer than the daily looks take. */
const CAN_BE = `NOT ${IS_HELD} AND NOT EXISTS (SELECT FROM processes
  WHERE ${RUNS} AND beat_at > now() - interval '1 minute' AND started_at < now() - interval '26 hours')`;

const find = statement<Record<never, never>, Contradicted>("find_suspicion").sql(
  `SELECT found.* FROM database_history h CROSS JOIN LATERAL (${contradictedSince("h.done_at")}) found WHERE ${CAN_BE}` as string,
);

/** Null: nothing suggests a restore that was not noticed. */
export const findSuspicion = (db: Queryable) => oneRow(db, find);

const take = statement("take_suspicion").sql(
  `UPDATE database_history h SET written_by = ${OWN_XID}, suspected_at = now()
   WHERE ${CAN_BE} AND EXISTS (${contradictedSince("h.done_at", "h.suspected_at")}) RETURNING h.id` as string,
);

/** True: it is news, which one process reports. */
export const takeSuspicion = (db: Queryable) => anyRow(db, take);
