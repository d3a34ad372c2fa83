import type { LostSale, OperatorAction, Resource } from "../database/client/client.ts";
import { columnsOf, type Queryable, type RowOf, statement, type Typed } from "../database/statement.ts";

// What an export reads of a resource beside the resource itself.

/** Resources that are read at once. */
export const EXPORT_PAGE = 100;

const exportPage = statement<{ after: string }, { uuid: string }>("page_to_export").sql(
  `SELECT uuid FROM resources WHERE uuid > :after ORDER BY uuid LIMIT ${EXPORT_PAGE}`,
);

/** Some uuids after one, tombstones included, in their order. */
export const uuidsAfter = async (db: Queryable, after: string): Promise<string[]> =>
  (await db.query(exportPage, { after })).map(({ uuid }) => uuid);

/** More events of one resource are left out, the oldest first. */
const MOST_EVENTS_EXPORTED = 10_000;

const RESOURCE = columnsOf<Typed<Resource, { options: Record<string, unknown> }>>()(
  "r",
  "uuid",
  "options",
  "attached",
  "sealedConfig",
  "sealedLogInputUrl",
  "sealedLogDrainToken",
);

/** The sealed columns of a resource, of which an export has the names, or the values. */
export type SealedOf = Pick<
  RowOf<typeof RESOURCE>,
  "uuid" | "sealedConfig" | "sealedLogInputUrl" | "sealedLogDrainToken"
>;

/** What is kept of a resource beside itself. Who acted of the operators is none of the customer's data. */
export interface KeptOf extends Pick<Resource, "uuid" | "attached"> {
  options: Record<string, unknown>;
  events: { at: string; type: string; detail: object }[];
  people: { email: string | null; userId: string | null; signedOnAt: string }[];
  actions: (Pick<OperatorAction, "action" | "state"> & { at: string })[];
  /** What the clean-up of an ended resource keeps of it; null: it is done, or the resource has not ended. */
  kept: Record<string, unknown> | null;
  /** Provisions of it that were refused. */
  lost: (Pick<LostSale, "plan" | "name" | "reason"> & { at: string })[];
}

// One statement for a page of resources, each with what happened to it.
const toExport = statement<{ uuids: readonly string[] }, KeptOf & SealedOf>("read_to_export").sql(
  `SELECT ${RESOURCE},
     (SELECT coalesce(jsonb_agg(jsonb_build_object('at', e.at, 'type', e.type, 'detail', e.detail) ORDER BY e.id), '[]')
      FROM (SELECT * FROM events WHERE uuid = u.uuid ORDER BY id DESC LIMIT ${MOST_EVENTS_EXPORTED}) e) AS events,
     (SELECT coalesce(jsonb_agg(jsonb_build_object('email', s.email, 'userId', s.user_id, 'signedOnAt', s.created_at) ORDER BY s.created_at), '[]')
      FROM customer_sessions s WHERE s.uuid = u.uuid) AS people,
     (SELECT coalesce(jsonb_agg(jsonb_build_object('at', a.started_at, 'action', a.action, 'state', a.state) ORDER BY a.id), '[]')
      FROM operator_actions a WHERE a.uuid = u.uuid) AS actions,
     (SELECT s.detail->'kept' FROM steps s WHERE s.uuid = u.uuid AND s.kind = 'clean_up' LIMIT 1) AS kept,
     (SELECT coalesce(jsonb_agg(jsonb_build_object('at', l.at, 'plan', l.plan, 'name', l.name, 'reason', l.reason) ORDER BY l.at), '[]')
      FROM lost_sales l WHERE l.uuid = u.uuid) AS lost
   FROM unnest(:uuids::uuid[]) AS u(uuid) JOIN resources r ON r.uuid = u.uuid`,
);

export const keptOf = (db: Queryable, uuids: readonly string[]) => db.query(toExport, { uuids });
