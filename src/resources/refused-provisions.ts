import type { Context } from "../context.ts";
import type { LostSale } from "../database/client/client.ts";
import { isConflict } from "../database/retry.ts";
import { anyRow, columnsOf, type Queryable, type RowOf, statement } from "../database/statement.ts";
import { EACH } from "../logging/log.ts";
import { whereBroughtBack, whereHeld } from "../processes/history-store.ts";
import { isFree } from "../work/lease.ts";
import { type End, ending, IS_STRANDED, lockWithCredential, TOMBSTONE } from "./end-store.ts";
import { whereCan } from "./states.ts";

// Provisions that were stored and answered with an error all the same: the commit was not acknowledged in time. The platform
// takes the error as final, so what was made serves no customer. It is taken down after an hour (`pace.refusedStaysMs`)
// unless the platform repeats the provision: then it has the resource.

/** The events of requests by which the platform shows that it has a resource. */
const KNOWN_BY = `'provision_repeated', 'plan_change_asked', 'plan_change_queued', 'plan_unchanged'`;
/** SQL condition: the platform has the resource `r` with the credential `c`: it issued tokens for it, or sent such a request. */
const IS_AT_PLATFORM = `(c.generation > 0
    -- For EXISTS, PostgreSQL might read all events of these types into a hash table.
    OR (SELECT true FROM events e WHERE e.uuid = r.uuid AND e.type IN (${KNOWN_BY}) LIMIT 1) IS TRUE)`;

/** A lost sale that is older than this was left to an operator. */
const LOOKED_FOR = "interval '30 days'";

/**
 * SQL condition: nothing shows that the platform has the resource `r` with the credential `c`. A second grant would: a
 * repeated provision brings it, or the oauth-grant endpoint, which gives one for what the platform has. Of a resource that a
 * backup restored, what would show it may be lost, so an operator decides.
 */
const IS_UNKNOWN_THERE = `(${whereCan("change_plan")} AND NOT ${IS_AT_PLATFORM} AND c.grant_number <= 1
    AND NOT ${whereBroughtBack("r.created_at")} AND NOT ${whereHeld()})`;

/** SQL condition: the lost sale was answered, and is not too old. */
const whereWatched = (sale: string) => `(${sale}.is_heard AND ${sale}.stored_at > now() - ${LOOKED_FOR})`;

/**
 * SQL condition: the resource `r` with the credential `c` will be taken down: the request that made it was answered with an
 * error. The credential has the id of the request that brought its first grant, or came without one.
 */
export const ENDS_BY_ITSELF = `(${IS_UNKNOWN_THERE} AND EXISTS (SELECT FROM lost_sales made
    WHERE made.uuid = r.uuid AND made.request_id = c.request_id AND ${whereWatched("made")}))`;

/**
 * SQL condition: no call for the grant can bring tokens any more. The two minutes are those of a suspended process, which may
 * hold the tokens of a call in time.
 */
const IS_EXCHANGE_OVER = `(c.sent_at IS NULL AND ${isFree("c")} AND (c.state = 'no_grant' OR ${IS_STRANDED}
    OR (c.state = 'grant_pending' AND c.grant_deadline <= now() - interval '2 minutes')))`;

/** SQL condition: no provision of the resource `r` was refused so lately. */
const IS_QUIET = `NOT EXISTS (SELECT FROM lost_sales last WHERE last.uuid = r.uuid
    AND last.stored_at > now() - make_interval(secs => :staySeconds::float8))` as const;

type Stay = { staySeconds: number };

/** The most that one run takes down. */
const MOST_AT_ONCE = 100;
const SALE = columnsOf<LostSale>()("l", "uuid", "plan", "at", "requestId", "reason");
// Lateral, so that PostgreSQL begins with the lost sales, and looks up the credential and the resource of each. Of a join it would
// begin with all lost grants, or with all resources.
const find = statement<Stay, RowOf<typeof SALE>>("find_refused_provisions").sql(
  `SELECT ${SALE} FROM lost_sales l CROSS JOIN LATERAL (
       SELECT * FROM credentials WHERE uuid = l.uuid AND request_id = l.request_id LIMIT 1
     ) c CROSS JOIN LATERAL (SELECT * FROM resources WHERE uuid = c.uuid LIMIT 1) r
   WHERE ${whereWatched("l")} AND ${IS_UNKNOWN_THERE} AND ${IS_EXCHANGE_OVER} AND ${IS_QUIET}
   ORDER BY l.stored_at LIMIT ${MOST_AT_ONCE}`,
);

// Its conditions are those of the search, and hold for the rows as they are after the lock.
const takeDown = statement<End & Stay, { uuid: string }>("take_down_refused").sql(
  ending("deprovisioned", {
    ...TOMBSTONE,
    where: `${IS_QUIET}
       AND EXISTS (SELECT FROM credentials c WHERE c.uuid = r.uuid AND ${ENDS_BY_ITSELF} AND ${IS_EXCHANGE_OVER})`,
    detail: `(SELECT jsonb_build_object('because', 'lost sale', 'refusedAt', min(l.at)) FROM lost_sales l WHERE l.uuid = gone.uuid)`,
  }),
);

/**
 * Takes down what was made for provisions that were answered with an error an hour ago and were not repeated since, as a
 * deprovision does. The lost sale stays open: its customer is still to be written to.
 */
export async function takeDownRefused(ctx: Pick<Context, "db" | "log" | "pace" | "wake">): Promise<void> {
  const staySeconds = ctx.pace.refusedStaysMs / 1_000;
  let count = 0;
  for (const { uuid, plan, at, requestId, reason } of await ctx.db.query(find, { staySeconds }))
    try {
      const isTakenDown = await ctx.db.transaction(async (tx) => {
        await lockWithCredential(tx, uuid);
        return anyRow(tx, takeDown, { uuid, requestId: null, traceparent: null, staySeconds });
      });
      if (!isTakenDown) continue;
      count += 1;
      ctx.log.warn(
        { uuid, plan, requestId, refusedAt: at, reason, [EACH]: true },
        "Resource taken down: its provision was answered with an error, and the platform has not repeated it. Its customer is still to be written to: kit lost",
      );
    } catch (error) {
      if (!isConflict(error)) throw error;
      ctx.log.warn(
        { uuid, error },
        "The resource of a refused provision could not be taken down: its row is locked; the next tick retries",
      );
    }
  if (count > 0) ctx.wake.runVendorSteps();
}

// Tokens prove as much as the event, so it is not written once there are some. Until then the lock makes a repeated provision
// and the end of its resource follow each other. A request whose first attempt was not acknowledged writes the event once.
const repeated = statement<{ uuid: string; requestId: string | null }, { uuid: string }>(
  "note_repeated_provision",
).sql(
  `WITH unproven AS (
     SELECT r.uuid FROM resources r JOIN credentials c USING (uuid)
     WHERE r.uuid = :uuid AND ${whereCan("change_plan")} AND c.generation = 0 FOR KEY SHARE OF r
   ), noted AS (
     INSERT INTO events (uuid, type, detail)
     SELECT uuid, 'provision_repeated', jsonb_build_object('requestId', :requestId::text) FROM unproven u
     WHERE NOT EXISTS (SELECT FROM events e WHERE e.uuid = u.uuid AND e.type = 'provision_repeated'
       AND e.detail->>'requestId' IS NOT DISTINCT FROM :requestId)
   )
   SELECT uuid FROM unproven
   UNION ALL SELECT r.uuid FROM resources r JOIN credentials c USING (uuid)
     WHERE r.uuid = :uuid AND ${whereCan("change_plan")} AND c.generation > 0`,
);

/** Stores that the platform has the resource of a repeated provision. Returns `false` if it has ended. */
export const noteRepeated = (db: Queryable, uuid: string, requestId: string | null) =>
  anyRow(db, repeated, { uuid, requestId });
