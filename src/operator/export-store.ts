import { statement, type Queryable } from "../database/database.ts";

// What an export reads of a resource beside the resource itself.

/** Resources that are read at once. */
export const EXPORT_PAGE = 100;

const exportPage = statement(
  "page_to_export",
  `SELECT uuid FROM resources WHERE uuid > $1 ORDER BY uuid LIMIT ${EXPORT_PAGE}`,
);

/** Some uuids after one, tombstones included, in their order. */
export const uuidsAfter = async (db: Queryable, uuid: string): Promise<string[]> =>
  (await db.query<{ uuid: string }>(exportPage, [uuid])).map((row) => row.uuid);

/** More events of one resource are left out, the oldest first. */
const MOST_EVENTS_EXPORTED = 10_000;

// One statement for a page of resources, each with what happened to it.
const toExport = statement(
  "read_to_export",
  `SELECT u.uuid, r.options, r.attached,
     (SELECT coalesce(jsonb_agg(jsonb_build_object('at', e.at, 'type', e.type, 'detail', e.detail) ORDER BY e.id), '[]')
      FROM (SELECT * FROM events WHERE uuid = u.uuid ORDER BY id DESC LIMIT ${MOST_EVENTS_EXPORTED}) e) AS events,
     (SELECT coalesce(jsonb_agg(jsonb_build_object('email', s.email, 'userId', s.user_id, 'signedOnAt', s.created_at) ORDER BY s.created_at), '[]')
      FROM customer_sessions s WHERE s.uuid = u.uuid) AS people,
     (SELECT coalesce(jsonb_agg(jsonb_build_object('at', a.started_at, 'action', a.action, 'state', a.state) ORDER BY a.id), '[]')
      FROM operator_actions a WHERE a.uuid = u.uuid) AS actions,
     (SELECT coalesce(jsonb_agg(jsonb_build_object('at', l.at, 'plan', l.plan, 'name', l.name, 'reason', l.reason) ORDER BY l.at), '[]')
      FROM lost_sales l WHERE l.uuid = u.uuid) AS lost
   FROM unnest($1::uuid[]) AS u(uuid) JOIN resources r ON r.uuid = u.uuid`,
);

/** What is kept of a resource beside itself. Who acted of the operators is none of the customer's data. */
export interface KeptOf {
  uuid: string;
  options: Record<string, unknown>;
  attached: number | null;
  events: { at: string; type: string; detail: object }[];
  people: { email: string | null; userId: string | null; signedOnAt: string }[];
  actions: { at: string; action: string; state: string }[];
  /** Provisions of it that were refused. */
  lost: { at: string; plan: string; name: string | null; reason: string }[];
}

export const keptOf = (db: Queryable, uuids: readonly string[]) => db.query<KeptOf>(toExport, [uuids]);
