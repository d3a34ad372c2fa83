import type { LostSale } from "../database/client/client.ts";
import { columnsOf, oneRow, type Queryable, type RowOf, statement } from "../database/statement.ts";
import { ENDS_BY_ITSELF } from "../resources/refused-provisions.ts";
import { whereCan } from "../resources/states.ts";

// The statements for lost sales. Not through Prisma, whose first use takes 300 ms: `kit doctor` looks at them each time.

/**
 * `lost`: there is nothing of it here. `made_here`: its resource was stored although the platform was refused, so that
 * nobody uses it. `taken_down`: that resource has ended since. `installed`: a later request for the same uuid has succeeded.
 */
export type LostState = "lost" | "made_here" | "taken_down" | "installed";

const SALE = columnsOf<LostSale>()(
  "l",
  "id",
  "uuid",
  "plan",
  "name",
  "region",
  "at",
  "requestId",
  "reason",
  "doneAt",
  "doneBy",
);
/**
 * `app`: as far as its resource knows one. `quietSince`: when the last refusal of its uuid was stored, if its resource will be
 * taken down a time after that.
 */
type LostRow = RowOf<typeof SALE> & { app: string | null; state: LostState; quietSince: Date | null };

// Its tokens prove that the platform has it, as does a provision that was repeated after this refusal was stored.
const IS_INSTALLED = `(r.state <> 'failed' AND (c.generation > 0 OR c.state IN ('active', 'needs_reauth') OR EXISTS (
       SELECT FROM events e WHERE e.uuid = r.uuid AND e.type = 'provision_repeated' AND e.at >= l.stored_at)))`;
// A tombstone without a plan was never a resource.
const SALES = `(SELECT l.*, r.app_name AS app, CASE WHEN ${IS_INSTALLED} THEN 'installed'
       WHEN ${whereCan("change_plan")} THEN 'made_here' WHEN r.state = 'deprovisioned' AND r.plan <> '' THEN 'taken_down'
       ELSE 'lost' END AS state,
     CASE WHEN ${ENDS_BY_ITSELF} THEN (SELECT max(stored_at) FROM lost_sales last WHERE last.uuid = l.uuid) END AS quiet_since
     FROM lost_sales l LEFT JOIN resources r USING (uuid) LEFT JOIN credentials c USING (uuid)) l`;
const IS_OPEN = "l.done_at IS NULL AND l.state <> 'installed'";

type Wanted = { before: number | null; onlyOpen: boolean; most: number };
const list = statement<Wanted, LostRow>("list_lost_sales").sql(
  `SELECT ${SALE}, l.app, l.state, l.quiet_since AS "quietSince" FROM ${SALES}
   WHERE (:before::bigint IS NULL OR l.id < :before) AND (NOT :onlyOpen OR (${IS_OPEN}))
   ORDER BY l.id DESC LIMIT :most`,
);
const open = statement<object, { count: number }>("count_open_lost_sales").sql(
  `SELECT count(*) AS count FROM ${SALES} WHERE ${IS_OPEN}`,
);
const done = statement<{ ids: readonly number[]; by: string }, { count: number }>("tick_off_lost_sales").sql(
  `WITH ticked AS (
     UPDATE lost_sales SET done_at = now(), done_by = :by WHERE id = ANY(:ids::bigint[]) AND done_at IS NULL RETURNING id
   ) SELECT count(*) AS count FROM ticked`,
);

/** The newest first. */
export const lostSalesBefore = (db: Queryable, wanted: Wanted) => db.query(list, wanted);

export const countOpenLost = async (db: Queryable): Promise<number> => (await oneRow(db, open))!.count;

/** Returns how many of these were open, and are not any more. */
export const tickOffLost = async (db: Queryable, ids: readonly number[], by: string): Promise<number> =>
  (await oneRow(db, done, { ids, by }))!.count;
