import type { MetricTotal } from "../database/client/client.ts";
import type { Queryable } from "../database/database.ts";
import { statement } from "../database/statement.ts";
import type { Sample } from "./metrics.ts";

/** The metric that is also stored by the hour, for a plot of the operator's pages. */
export const KEPT_BY_THE_HOUR = "addon_refreshes_total";

// One total for each series, over all processes and beyond their restarts. Behind a router, a scrape reaches an
// arbitrary web process and never a worker: totals of one process would jump from scrape to scrape, and miss the work
// of the workers.
const add = statement<{ rows: readonly MetricTotal[] }>("add_metric_totals", {
  sample: "text",
  labels: "text",
  value: "float8",
}).sql(
  `WITH news AS (
     SELECT i.sample, i.labels, i.value FROM :rows AS i
   ), hourly AS (
     INSERT INTO metric_hours AS h (hour, sample, labels, value)
     SELECT date_trunc('hour', now(), 'UTC'), sample, labels, value FROM news
     WHERE sample = '${KEPT_BY_THE_HOUR}' AND value > 0 ORDER BY sample, labels
     ON CONFLICT (hour, sample, labels) DO UPDATE SET value = h.value + excluded.value
   ), past AS (
     DELETE FROM metric_hours WHERE hour < now() - make_interval(days => 14)
   )
   INSERT INTO metric_totals AS t (sample, labels, value)
   -- In the order of their key, as above, so that two processes cannot deadlock.
   SELECT sample, labels, value FROM news ORDER BY sample, labels
   ON CONFLICT (sample, labels) DO UPDATE SET value = t.value + excluded.value`,
);

/** Adds to the totals. `labels`: JSON, sorted by the labels' names. */
export async function addTotals(db: Queryable, news: readonly MetricTotal[]): Promise<void> {
  await db.query(add, { rows: news });
}

// By series, and the buckets of each by their bound.
const readAll = statement<object, Sample>("read_metric_totals").sql(
  `SELECT sample, labels::json, value FROM metric_totals
   ORDER BY sample, labels::jsonb - 'le', (labels::jsonb->>'le')::float8`,
);

/** What all processes have counted, this one as of its last {@link addTotals}. */
export const readTotals = (db: Queryable): Promise<Sample[]> => db.query(readAll);

/** In all processes. */
export interface Hour {
  at: Date;
  refreshed: number;
  failed: number;
}

// The series yields a row for every hour, also for those in which nothing was counted.
const hours = statement<object, Hour>("operator_hours").sql(
  `SELECT at,
     coalesce(sum(value) FILTER (WHERE labels LIKE '%"issued"%'), 0)::int AS refreshed,
     coalesce(sum(value) FILTER (WHERE labels NOT LIKE '%"issued"%'), 0)::int AS failed
   FROM generate_series(date_trunc('hour', now(), 'UTC') - interval '23 hours', now(), interval '1 hour') AS at
   LEFT JOIN metric_hours ON hour = at AND sample = '${KEPT_BY_THE_HOUR}' GROUP BY at ORDER BY at`,
);

/** The last 24 hours, oldest first; the last one is the current hour. */
export const readHours = (db: Queryable): Promise<Hour[]> => db.query(hours);
