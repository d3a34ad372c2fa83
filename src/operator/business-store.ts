import type { Resource } from "../database/client/client.ts";
import { type Queryable, statement } from "../database/statement.ts";

// What the numbers of a week are read from: a bounded number of pages of the resources, and of all else what an index finds
// by its time. Days are those of UTC.

/** SQL: the beginning of the first of seven days, of which today is the last. */
const WEEK = "date_trunc('day', now(), 'UTC') - interval '6 days'";
const DAYS = `generate_series(${WEEK}, now(), interval '1 day')`;
const dayOf = (time: string) => `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD')`;

/** 160 MB. Of a larger table as much is read, and its counts are estimates. */
const MOST_PAGES_READ = 20_000;
const SHARE = `least(100, 100.0 * ${MOST_PAGES_READ} * current_setting('block_size')::int / greatest(pg_relation_size('resources'), 1))`;

/** `customers`: resources that are provisioned, or are being provisioned (`arriving`). */
export interface PlanCount extends Pick<Resource, "plan"> {
  customers: number;
  arriving: number;
  percent: number;
}

const byPlan = statement<object, PlanCount>("customers_by_plan").sql(
  `SELECT plan, count(*)::int AS customers, (count(*) FILTER (WHERE state = 'provisioning'))::int AS arriving,
     (${SHARE})::float8 AS percent
   FROM resources TABLESAMPLE SYSTEM (${SHARE}) WHERE state IN ('provisioning', 'provisioned')
   GROUP BY plan ORDER BY customers DESC, plan`,
);

/** Of the pages of the table `percent` were read. */
export const countByPlan = (db: Queryable) => db.query(byPlan);

/** `day`: 2026-01-31. */
export interface DayCount {
  day: string;
  came: number;
  gone: number;
  changed: number;
  lost: number;
}

// A provision that the vendor refused is no new customer, nor is a tombstone of one that never was.
const days = statement<object, DayCount>("changes_by_day").sql(
  `WITH came AS (
     SELECT ${dayOf("created_at")} AS day, count(*)::int AS count FROM resources
     WHERE created_at >= ${WEEK} AND state <> 'failed' AND plan <> '' GROUP BY 1
   ), noted AS (
     SELECT ${dayOf("at")} AS day, count(*) FILTER (WHERE type = 'deprovisioned')::int AS gone,
       count(*) FILTER (WHERE type = 'plan_changed')::int AS changed
     FROM events WHERE at >= ${WEEK} AND type IN ('deprovisioned', 'plan_changed') GROUP BY 1
   ), lost AS (
     SELECT ${dayOf("at")} AS day, count(*)::int AS count FROM lost_sales WHERE at >= ${WEEK} GROUP BY 1
   )
   SELECT day, coalesce(came.count, 0) AS came, coalesce(gone, 0) AS gone, coalesce(changed, 0) AS changed,
     coalesce(lost.count, 0) AS lost
   FROM (SELECT ${dayOf("at")} AS day FROM ${DAYS} AS at) each
   LEFT JOIN came USING (day) LEFT JOIN noted USING (day) LEFT JOIN lost USING (day) ORDER BY day`,
);

/** The last seven days, the oldest first. */
export const countByDay = (db: Queryable) => db.query(days);

/** So many provisions were answered with this status on this day. */
export interface AnswerCount {
  day: string;
  status: string;
  count: number;
}

const answers = statement<object, AnswerCount>("answers_by_day").sql(
  `SELECT ${dayOf("hour")} AS day, labels::json->>'status' AS status, sum(value)::int AS count
   FROM metric_hours WHERE hour >= ${WEEK} AND sample = 'addon_http_request_duration_seconds_count' GROUP BY 1, 2`,
);

/** As far as the processes have stored what they counted. */
export const countAnswers = (db: Queryable) => db.query(answers);

/** Calls of a function of the vendor's that failed or were cut off today. */
export interface FailedCalls {
  function: string;
  count: number;
}

const failedCalls = statement<object, FailedCalls>("failed_calls_of_today").sql(
  `SELECT labels::json->>'function' AS function, sum(value)::int AS count FROM metric_hours
   WHERE hour >= date_trunc('day', now(), 'UTC') AND sample = 'addon_your_service_duration_seconds_count'
     AND labels::json->>'result' IN ('failed', 'cut_off') GROUP BY 1 ORDER BY 2 DESC, 1`,
);

export const countFailedCalls = (db: Queryable) => db.query(failedCalls);

/** Resources to which the same happened today; `some`: the uuids of the last five. */
export interface FailureCount {
  type: string;
  count: number;
  lastAt: Date;
  some: string[];
}

const OF_TODAY = "at >= date_trunc('day', now(), 'UTC')";
// A provision that fails after "later" notes that your service refused it, and then its end. Two indexes find the events.
const failures = statement<object, FailureCount>("failures_of_today").sql(
  `SELECT type, count(*)::int AS count, max(at) AS "lastAt", (array_agg(uuid::text ORDER BY at DESC))[1:5] AS some
   FROM (SELECT CASE type WHEN 'failed' THEN 'provision_failed' ELSE type END AS type, uuid, max(at) AS at FROM (
       SELECT type, uuid, at FROM events WHERE ${OF_TODAY} AND type IN ('provision_failed', 'failed', 'plan_change_refused',
         'rotation_refused', 'grant_lost', 'needs_reauth', 'quarantined', 'step_given_up', 'gone_at_platform')
       UNION ALL SELECT type, uuid, at FROM events WHERE ${OF_TODAY} AND type IN ('suspension_refused', 'resume_refused')
     ) noted GROUP BY 1, 2) each
   GROUP BY type ORDER BY count DESC, type`,
);

export const countFailures = (db: Queryable) => db.query(failures);

/** A resource as a person knows it. One that was never stored here has its uuid alone. */
export type Named = Pick<Resource, "uuid" | "name" | "plan"> & { app: string | null };

const named = statement<{ uuids: readonly string[] }, Named>("name_resources").sql(
  `SELECT uuid, r.name, coalesce(r.plan, '') AS plan, r.app_name AS app
   FROM unnest(:uuids::uuid[]) WITH ORDINALITY AS given(uuid, place) LEFT JOIN resources r USING (uuid) ORDER BY place`,
);

/** Names, plans and apps of these resources, in their order. */
export const nameResources = async (db: Queryable, uuids: readonly string[]): Promise<Named[]> =>
  uuids.length === 0 ? [] : db.query(named, { uuids });
