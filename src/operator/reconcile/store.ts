import type { Resource } from "../../database/client/client.ts";
import type { Database } from "../../database/database.ts";
import {
  anyRow,
  columnsOf,
  type Queryable,
  type RowOf,
  statement,
  type Typed,
} from "../../database/statement.ts";
import { type ResourceState, whereCan } from "../../resources/states.ts";
import { whereNotHeld } from "../../resources/step-kinds.ts";

// What the comparison of the ledgers reads of ours, page by page, and what takes an orphan down.

const RESOURCE = columnsOf<Typed<Resource, { state: ResourceState }>>()(
  "r",
  "uuid",
  "state",
  "plan",
  "appId",
  "appName",
  "attached",
  "sealedConfig",
);

/** A resource of ours, tombstones included, as far as it is compared. */
export interface OwnRow extends RowOf<typeof RESOURCE> {
  /** The state of its credential. */
  credential: string;
  ageSeconds: number;
  /** Since it last changed. */
  quietSeconds: number;
  /** Something is being made, changed, told or taken down; what is held after a restore does not count. */
  isUnderWay: boolean;
}

const IS_ALIVE = whereCan("change_plan");
const OURS = `SELECT ${RESOURCE}, c.state AS credential, extract(epoch FROM now() - r.created_at)::float8 AS "ageSeconds",
     extract(epoch FROM now() - r.updated_at)::float8 AS "quietSeconds",
     EXISTS (SELECT FROM steps s WHERE s.uuid = r.uuid AND s.kind NOT IN ('discover', 'retire') AND ${whereNotHeld("s")}) AS "isUnderWay"
   FROM resources r JOIN credentials c USING (uuid)`;

export const PAGE_SIZE = 500;
const LEAST_UUID = "00000000-0000-0000-0000-000000000000";

const page = statement<{ after: string }, OwnRow>("page_of_ours").sql(
  `${OURS} WHERE r.uuid > :after AND ${IS_ALIVE} ORDER BY r.uuid LIMIT ${PAGE_SIZE}`,
);

/** Those that are alive, in the order of their uuids, after one. */
export async function* oursAfter(db: Queryable, after: string | null): AsyncGenerator<OwnRow[]> {
  for (let last = after ?? LEAST_UUID; ;) {
    const rows = await db.query(page, { after: last });
    if (rows.length === 0) return;
    yield rows;
    last = rows.at(-1)!.uuid;
  }
}

const named = statement<{ uuids: readonly string[] }, OwnRow>("named_of_ours").sql(
  `${OURS} WHERE r.uuid = ANY(:uuids::uuid[])`,
);

export async function oursNamed(db: Queryable, uuids: readonly string[]): Promise<Map<string, OwnRow>> {
  return new Map((await db.query(named, { uuids })).map((row) => [row.uuid, row]));
}

const count = statement<{ after: string | null }, { count: number }>("count_ours").sql(
  `SELECT count(*)::int AS count FROM resources r WHERE ${IS_ALIVE} AND (:after::uuid IS NULL OR r.uuid > :after)`,
);

/** How many are alive, after one. */
export const countOurs = async (db: Database, after: string | null) =>
  (await db.readWhole(count, { after }))[0]!.count;

// A uuid of which we have no row gets a tombstone first, so that a provision that comes late makes nothing more. Nothing
// is written for a resource that is alive, or whose clean-up is still to be done.
const takeDown = statement<{ uuid: string }, { uuid: string }>("take_orphan_down").sql(
  `WITH unseen AS (
     INSERT INTO resources (uuid, plan, state) VALUES (:uuid, '', 'deprovisioned')
     ON CONFLICT (uuid) DO NOTHING RETURNING uuid
   ), erased AS (
     INSERT INTO credentials (uuid, state) SELECT uuid, 'erased' FROM unseen
   ), cleaning AS (
     INSERT INTO steps (uuid, kind, due_at)
     SELECT uuid, 'clean_up', now() FROM unseen UNION ALL
     SELECT r.uuid, 'clean_up', now() FROM resources r WHERE r.uuid = :uuid AND r.state IN ('deprovisioned', 'failed')
       AND NOT EXISTS (SELECT FROM steps s WHERE s.uuid = r.uuid AND s.kind = 'clean_up')
     RETURNING uuid
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'orphan_taken_down' FROM cleaning RETURNING uuid`,
);

/** Has the vendor's `deprovision` called soon. False: the resource is alive, or that is on its way. */
export const writeTakeDown = (db: Queryable, uuid: string) => anyRow(db, takeDown, { uuid });
