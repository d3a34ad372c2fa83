import { statement } from "../../database/database.ts";
import { GRANT_SECONDS } from "../../resources/grant-time.ts";
import type { OpenContext } from "../../open-context.ts";
import { duration } from "../wording.ts";
import { counted, countedToMost, fault, fine, MOST_COUNTED, warning, type Finding } from "./check.ts";

/** A grant is normally exchanged within seconds of its arrival; an older one was tried in vain, or not at all. */
const GRANT_LATE_AFTER_SECONDS = 30;
/** If a token expires sooner than this, its late refresh is a fault. */
const LAST_HOUR_SECONDS = 3600;

// As in the metrics, a grant that the platform currently refuses is left out: the platform has not accepted it yet, and
// no operator can change that.
const readLateGrants = statement(
  "late_grants",
  `SELECT count(*)::int AS count, extract(epoch FROM min(grant_deadline) - now())::float8 AS "leftSeconds",
     (array_agg(last_error ORDER BY grant_deadline) FILTER (WHERE last_error IS NOT NULL))[1] AS "lastError"
   FROM credentials WHERE state = 'grant_pending' AND rejected_at IS NULL
     AND grant_deadline < now() + interval '${GRANT_SECONDS - GRANT_LATE_AFTER_SECONDS} seconds'`,
);
// While an outage holds refreshes back, most tokens are overdue and untried, and the few that were tried are not due
// again yet: so both kinds are read. Tokens that the platform refuses during a wave of refusals stay active; they need
// no attention one by one, but the operator must know. Either kind may be millions, so a bounded part is read. What
// fell due first expires first, to within an hour.
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

/** Finds grants that are not exchanged in time; null if there are none. */
export async function lateGrants({ db }: OpenContext): Promise<Finding | null> {
  const [late] = await db.query<Late>(readLateGrants);
  if (!late?.count) return null;
  const left =
    late.leftSeconds > 0 ? `the first is lost in ${duration(late.leftSeconds)}` : "the first is over";
  const message = `${counted(late.count, "grant")} ${late.count === 1 ? "is" : "are"} not exchanged: ${left}. ${answerOf(late)}`;
  return fault(message, "Mend what the other checks find; else the platform is in trouble: kit status");
}

/** Checks that grants are exchanged and tokens refreshed in time. */
export async function tokens(services: OpenContext): Promise<Finding> {
  const late = (await lateGrants(services)) ?? (await lateRefreshes(services));
  return late ?? fine("Grants are exchanged and tokens refreshed in time.");
}

/**
 * Finds tokens that wait for a refresh; null if none is late. A fault once the first of them expires within an hour.
 */
export async function lateRefreshes({ db }: OpenContext): Promise<Finding | null> {
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
