import { statement, type Queryable } from "../../../database/database.ts";

/** The refreshes of one hour, in all processes. */
export interface Hour {
  at: Date;
  refreshed: number;
  failed: number;
  /** How often refreshes were held back, because the platform failed several times in a row. */
  heldBack: number;
}

const HOURS = 24;

// The series yields a row for every hour, also for those in which nothing was counted.
const read = statement(
  "operator_hours",
  `SELECT at,
     coalesce(sum(value) FILTER (WHERE sample = 'addon_refreshes_total' AND labels LIKE '%"issued"%'), 0)::int AS refreshed,
     coalesce(sum(value) FILTER (WHERE sample = 'addon_refreshes_total' AND labels NOT LIKE '%"issued"%'), 0)::int AS failed,
     coalesce(sum(value) FILTER (WHERE sample = 'addon_refresh_breaker_openings_total'), 0)::int AS "heldBack"
   FROM generate_series(date_trunc('hour', now(), 'UTC') - make_interval(hours => ${HOURS - 1}), now(), make_interval(hours => 1)) AS at
   LEFT JOIN metric_hours ON hour = at GROUP BY at ORDER BY at`,
);

/** The last 24 hours, oldest first; the last one is the current hour. */
export function readHours(db: Queryable): Promise<Hour[]> {
  return db.query<Hour>(read);
}
