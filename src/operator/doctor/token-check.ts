import { statement } from "../../database/database.ts";
import { GRANT_SECONDS } from "../../resources/grant-time.ts";
import type { Services } from "../../services.ts";
import { duration } from "../wording.ts";
import { counted, countedToMost, fault, fine, MOST_COUNTED, warning, type Finding } from "./check.ts";

/** A grant is exchanged within seconds of its arrival; one that is older has been tried in vain, or by nobody. */
const GRANT_LATE_AFTER_SECONDS = 30;
/** With less than this left of a token, waiting is no longer harmless. */
const LAST_HOUR_SECONDS = 3600;

// As the metrics have it: a grant that the platform refuses has not been accepted yet, and nobody here can change that.
const readLateGrants = statement(
  "late_grants",
  `SELECT count(*)::int AS count, extract(epoch FROM min(grant_deadline) - now())::float8 AS "leftSeconds",
     (array_agg(last_error ORDER BY grant_deadline) FILTER (WHERE last_error IS NOT NULL))[1] AS "lastError"
   FROM credentials WHERE state = 'grant_pending' AND rejected_at IS NULL
     AND grant_deadline < now() + interval '${GRANT_SECONDS - GRANT_LATE_AFTER_SECONDS} seconds'`,
);
// While refreshes are held back for an outage most are due and not tried, and the few that are tried are not due. Of those
// that the platform refuses in a wave, none is given up: they need no attention one by one, and yet somebody must know.
// Either kind may be millions, of which a part is read. What fell due first ends first, give or take an hour.
const readLateRefreshes = statement(
  "late_refreshes",
  `SELECT count(*)::int AS count, extract(epoch FROM min(expires_at) - now())::float8 AS "leftSeconds",
     (array_agg(last_error ORDER BY due_at DESC) FILTER (WHERE last_error IS NOT NULL))[1] AS "lastError"
   FROM (
     (SELECT uuid, expires_at, due_at, last_error FROM credentials
      WHERE state = 'active' AND due_at < now() - interval '5 minutes' ORDER BY due_at LIMIT ${MOST_COUNTED})
     UNION
     (SELECT uuid, expires_at, due_at, last_error FROM credentials
      WHERE state = 'active' AND (attempts >= 3 OR rejected_at IS NOT NULL)
        AND (attempts >= 3 OR rejected_at < now() - interval '1 minute') LIMIT ${MOST_COUNTED})
   ) late`,
);

interface Late {
  count: number;
  leftSeconds: number;
  lastError: string | null;
}

/** Grants that are not exchanged; null: none is late. */
export async function lateGrants({ db }: Services): Promise<Finding | null> {
  const [late] = await db.query<Late>(readLateGrants);
  if (!late?.count) return null;
  const left =
    late.leftSeconds > 0 ? `the first is lost in ${duration(late.leftSeconds)}` : "the first is over";
  const message = `${counted(late.count, "grant")} ${late.count === 1 ? "is" : "are"} not exchanged: ${left}. ${answerOf(late)}`;
  return fault(message, "Mend what the other checks find; else the platform is in trouble: kit status");
}

/** Whether grants are exchanged and tokens refreshed when they should be. */
export async function tokens(services: Services): Promise<Finding> {
  const late = (await lateGrants(services)) ?? (await lateRefreshes(services));
  return late ?? fine("Grants are exchanged and tokens refreshed in time.");
}

/** Tokens that wait for a refresh, a fault in the last hour of one; null: none is late. */
export async function lateRefreshes({ db }: Services): Promise<Finding | null> {
  const [late] = await db.query<Late>(readLateRefreshes);
  if (!late?.count) return null;
  const { count, leftSeconds } = late;
  const ends = leftSeconds > 0 ? `ends in ${duration(leftSeconds)}` : `ended ${duration(-leftSeconds)} ago`;
  const message = `${countedToMost(count, "token")} ${count === 1 ? "waits" : "wait"} for a refresh: the first ${ends}. ${answerOf(late)}`;
  const fix =
    "Mend what the other checks find; else the platform is in trouble (kit status). They catch up by themselves.";
  return leftSeconds < LAST_HOUR_SECONDS ? fault(message, fix) : warning(message, fix);
}

function answerOf({ lastError }: Late): string {
  return lastError === null ? "None was tried." : `The last try: ${lastError}`;
}
