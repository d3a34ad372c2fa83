import { type Queryable, statement } from "../database/statement.ts";
import { REFRESHES } from "../metrics/totals-store.ts";
import { IS_OF_APP } from "./list-store.ts";

// What happened, from where it is stored: in `events`, and, so that no provision or refresh writes an event of its own, in the
// rows of resources, credentials, lost sales and hourly counts.

/** An event, or (not `isShown`) the place to which a source was read without finding one. */
export interface EventRow {
  at: Date;
  /** `null`: it is about all resources. */
  uuid: string | null;
  type: string;
  detail: Record<string, unknown>;
  name: string | null;
  plan: string | null;
  appId: string | null;
  appName: string | null;
  /** Where it stands in its source. */
  place: string;
  isShown: boolean;
}

/** Which events; `null`: whichever. */
export interface Kind {
  types: readonly string[] | null;
  plan: string | null;
  app: string | null;
}

/** `before`: the place of the last one that was read. */
type Older = { before: string | null; limit: number };

const OF_RESOURCE = `r.name, r.plan, r.app_id AS "appId", r.app_name AS "appName"`;
const IS_OF_KIND =
  `(:types::text[] IS NULL OR e.type = ANY(:types)) AND (:plan::text IS NULL OR r.plan = :plan) AND (:app::text IS NULL OR ${IS_OF_APP})` as const;
const STORED = `e.at, e.uuid, e.type, e.id::text AS place, true AS "isShown", ${OF_RESOURCE},
     -- Its process has died: no action of a customer's takes a minute.
     CASE WHEN e.type = 'customer_action' AND e.detail->>'state' = 'running' AND e.at < now() - interval '1 minute'
       THEN e.detail || '{"state": "unknown"}' ELSE e.detail END AS detail`;

// There is no index by type, which each provision would have to update. So a bounded part is read, and then the next one.
const MOST_READ = 200_000;
const TOP = `coalesce(:before::bigint, (SELECT max(id) + 1 FROM events), 0)` as const;
const stored = statement<Kind & Older, EventRow>("stored_events").sql(
  `SELECT ${STORED} FROM events e LEFT JOIN resources r USING (uuid)
   WHERE e.id < ${TOP} AND e.id >= ${TOP} - ${MOST_READ} AND ${IS_OF_KIND} ORDER BY e.id DESC LIMIT :limit`,
);
const unread = statement<{ before: string | null }, Pick<EventRow, "at" | "place">>("unread_events").sql(
  `SELECT at, (id + 1)::text AS place FROM events WHERE id < ${TOP} - ${MOST_READ} ORDER BY id DESC LIMIT 1`,
);

export type OfSome = { uuids: readonly string[] };
const storedOfSome = statement<OfSome & Pick<Kind, "types"> & Older, EventRow>("stored_events_of").sql(
  `SELECT ${STORED} FROM unnest(:uuids::uuid[]) AS wanted(uuid) CROSS JOIN LATERAL (
     SELECT * FROM events e WHERE e.uuid = wanted.uuid AND (:before::bigint IS NULL OR e.id < :before)
       AND (:types::text[] IS NULL OR e.type = ANY(:types)) ORDER BY e.id DESC LIMIT :limit
   ) e LEFT JOIN resources r ON r.uuid = e.uuid ORDER BY e.id DESC LIMIT :limit`,
);

// A request writes no event. Its plan is that of today, or, if that was to be changed, the one before the first change.
const REQUEST = `r.created_at AS at, r.uuid, 'provision_requested' AS type, r.uuid::text AS place, ${OF_RESOURCE},
     jsonb_strip_nulls(jsonb_build_object('plan', CASE WHEN change.type IS NULL THEN r.plan ELSE change.was END, 'region', r.region,
       'answer', r.answer_status, 'requestId', CASE WHEN c.grant_number <= 1 THEN c.request_id END)) AS detail,
     NOT EXISTS (SELECT FROM events e WHERE e.uuid = r.uuid AND e.type = 'imported') AS "isShown"`;
const ABOUT_REQUEST = `JOIN credentials c ON c.uuid = r.uuid LEFT JOIN LATERAL (
     SELECT e.type, e.detail->>'was' AS was FROM events e
     WHERE e.uuid = r.uuid AND e.type IN ('plan_change_asked', 'plan_change_queued', 'plan_changed') ORDER BY e.id LIMIT 1
   ) change ON true`;
type OfResource = Omit<Kind, "types"> & Older & { uuids: readonly string[] | null };
const IS_BEFORE =
  `(:before::uuid IS NULL OR (r.created_at, r.uuid) < (SELECT p.created_at, p.uuid FROM resources p WHERE p.uuid = :before))` as const;
// A tombstone without a plan was never requested.
const requests = statement<OfResource, EventRow>("requests_as_events").sql(
  `SELECT ${REQUEST} FROM (
     SELECT * FROM resources r WHERE r.plan <> '' AND (:uuids::uuid[] IS NULL OR r.uuid = ANY(:uuids)) AND ${IS_BEFORE}
       AND (:plan::text IS NULL OR r.plan = :plan) AND (:app::text IS NULL OR ${IS_OF_APP})
     ORDER BY r.created_at DESC, r.uuid DESC LIMIT :limit
   ) r ${ABOUT_REQUEST} ORDER BY r.created_at DESC, r.uuid DESC`,
);

// Nor does a refusal, if the request still waited for it. The index resources_failed has these few.
const REFUSED =
  `SELECT r.created_at AS at, r.uuid, 'provision_refused' AS type, r.uuid::text AS place, ${OF_RESOURCE}, '{}'::jsonb AS detail,
     NOT EXISTS (SELECT FROM events e WHERE e.uuid = r.uuid AND e.type = 'failed') AS "isShown"
   FROM resources r WHERE r.state = 'failed' AND (:plan::text IS NULL OR r.plan = :plan) AND (:app::text IS NULL OR ${IS_OF_APP})` as const;
const refused = statement<OfResource, EventRow>("refusals_as_events").sql(
  `${REFUSED} AND (:uuids::uuid[] IS NULL OR r.uuid = ANY(:uuids)) AND ${IS_BEFORE}
   ORDER BY r.created_at DESC, r.uuid DESC LIMIT :limit`,
);

// A refresh writes no event either: there are six a day of each resource. What is stored is when the last one was.
const refreshes = statement<OfSome & Older, EventRow>("refreshes_as_events").sql(
  `SELECT c.issued_at AS at, c.uuid, 'tokens_refreshed' AS type, jsonb_build_object('pairs', c.generation) AS detail,
     ${OF_RESOURCE}, c.uuid::text AS place, true AS "isShown"
   FROM credentials c JOIN resources r ON r.uuid = c.uuid
   WHERE c.uuid = ANY(:uuids) AND c.generation > 1 AND c.issued_at IS NOT NULL
     -- The last pair may be that of another grant.
     AND NOT EXISTS (SELECT FROM events e WHERE e.uuid = c.uuid AND e.type = 'tokens_issued' AND e.at >= c.issued_at)
     AND (:before::uuid IS NULL OR (c.issued_at, c.uuid) < (SELECT p.issued_at, p.uuid FROM credentials p WHERE p.uuid = :before))
   ORDER BY c.issued_at DESC, c.uuid DESC LIMIT :limit`,
);

// Of all resources: how many there were in an hour that is over, and counted by all processes.
const HOURS = `SELECT at, NULL AS uuid, 'tokens_refreshed' AS type, NULL AS name, NULL AS plan, NULL AS "appId", NULL AS "appName",
     extract(epoch FROM at)::bigint::text AS place, true AS "isShown",
     jsonb_strip_nulls(jsonb_build_object('count', refreshed, 'failed', nullif(failed, 0))) AS detail
   FROM (SELECT hour + interval '1 hour' AS at, coalesce(sum(value) FILTER (WHERE labels LIKE '%"issued"%'), 0) AS refreshed,
       coalesce(sum(value) FILTER (WHERE labels NOT LIKE '%"issued"%'), 0) AS failed
     FROM metric_hours WHERE sample = '${REFRESHES}' AND hour < now() - interval '61 minutes' GROUP BY hour) hours`;
const hours = statement<Older, EventRow>("hours_as_events").sql(
  `${HOURS} WHERE :before::bigint IS NULL OR at < to_timestamp(:before::bigint) ORDER BY at DESC LIMIT :limit`,
);

const LOST =
  `SELECT l.at, l.uuid, 'provision_lost' AS type, l.name, l.plan, r.app_id AS "appId", r.app_name AS "appName", l.id::text AS place,
     true AS "isShown", jsonb_build_object('reason', l.reason, 'requestId', l.request_id) AS detail
   FROM lost_sales l LEFT JOIN resources r USING (uuid)
   WHERE (:plan::text IS NULL OR l.plan = :plan) AND (:app::text IS NULL OR ${IS_OF_APP})` as const;
const lost = statement<Omit<Kind, "types"> & Older & { uuids: readonly string[] | null }, EventRow>(
  "lost_sales_as_events",
).sql(
  `${LOST} AND (:uuids::uuid[] IS NULL OR l.uuid = ANY(:uuids)) AND (:before::bigint IS NULL OR l.id < :before)
   ORDER BY l.id DESC LIMIT :limit`,
);

/** Each source's events before a place of its own, the newest first. `types`: those that it has, but for `events`. */
export interface Source {
  types?: readonly string[];
  before(tx: Queryable, kind: Kind, older: Older): Promise<EventRow[]>;
}

const atEnd = { uuid: null, type: "", detail: {}, name: null, plan: null, appId: null, appName: null };

const TYPES = {
  request: ["provision_requested"],
  refusal: ["provision_refused"],
  lost: ["provision_lost"],
  refresh: ["tokens_refreshed"],
};
// Of two at the same time, that of the former source is the newer one.
const derived = (uuids: readonly string[] | null): Record<string, Source> => ({
  f: {
    types: TYPES.refusal,
    before: (tx, { plan, app }, older) => tx.query(refused, { plan, app, uuids, ...older }),
  },
  r: {
    types: TYPES.request,
    before: (tx, { plan, app }, older) => tx.query(requests, { plan, app, uuids, ...older }),
  },
  l: {
    types: TYPES.lost,
    before: (tx, { plan, app }, older) => tx.query(lost, { plan, app, uuids, ...older }),
  },
});

/** The sources of the events of all resources, by a letter. */
export const OF_ALL: Readonly<Record<string, Source>> = {
  ...derived(null),
  e: {
    async before(tx, kind, older) {
      const rows = await tx.query(stored, { ...kind, ...older });
      if (rows.length === older.limit) return rows;
      const rest = await tx.query(unread, { before: older.before });
      return [...rows, ...rest.map((place) => ({ ...atEnd, ...place, isShown: false }))];
    },
  },
  h: {
    types: TYPES.refresh,
    before: async (tx, { plan, app }, older) => (plan === null && app === null ? tx.query(hours, older) : []),
  },
};

/** Those of the events of a few resources, which are all of the kind that is wanted. */
export const ofSome = (uuids: readonly string[]): Readonly<Record<string, Source>> => ({
  ...derived(uuids),
  e: { before: (tx, { types }, older) => tx.query(storedOfSome, { uuids, types, ...older }) },
  t: { types: TYPES.refresh, before: (tx, _, older) => tx.query(refreshes, { uuids, ...older }) },
});

const few = statement<Omit<Kind, "types"> & { most: number }, { uuid: string }>("resources_of_kind").sql(
  `SELECT uuid FROM resources r WHERE (:plan::text IS NULL OR r.plan = :plan) AND (:app::text IS NULL OR ${IS_OF_APP}) LIMIT :most + 1`,
);

const MOST_FEW = 1_000;

/** The resources of a plan or an app; `null` if they are many, so that their events are among the newest. */
export async function fewOf(tx: Queryable, { plan, app }: Kind): Promise<string[] | null> {
  if (plan === null && app === null) return null;
  const found = await tx.query(few, { plan, app, most: MOST_FEW });
  return found.length > MOST_FEW ? null : found.map(({ uuid }) => uuid);
}

/** To where it was read: what is newer may have been read already, too. */
export interface Mark {
  id: number;
  at: string;
}

// An id and a time are taken before their transaction commits, so the last seconds are read again each time. No transaction
// that writes an event takes longer (PATIENCE in src/database/database.ts).
const SETTLED = `(now() - interval '10 seconds')`;
const mark = statement<{ id: number; upTo: number | null }, Mark>("mark_of_events").sql(
  `SELECT coalesce((SELECT id FROM events WHERE id > :id AND (:upTo::bigint IS NULL OR id <= :upTo) AND at < ${SETTLED}
       ORDER BY id DESC LIMIT 1), :id::bigint) AS id, ${SETTLED}::text AS at`,
);
/** After a long outage, events are read in several looks. */
const MOST_NEW = 10_000;
const storedSince = statement<Kind & { id: number }, EventRow>("stored_events_since").sql(
  `SELECT ${STORED} FROM events e LEFT JOIN resources r USING (uuid) WHERE e.id > :id AND ${IS_OF_KIND} ORDER BY e.id LIMIT ${MOST_NEW}`,
);
type Since = Omit<Kind, "types"> & { at: string };
const requestsSince = statement<Since, EventRow>("requests_since").sql(
  `SELECT ${REQUEST} FROM resources r ${ABOUT_REQUEST} WHERE r.created_at > :at::timestamptz AND r.plan <> ''
     AND (:plan::text IS NULL OR r.plan = :plan) AND (:app::text IS NULL OR ${IS_OF_APP}) ORDER BY r.created_at`,
);
const refusedSince = statement<Since, EventRow>("refusals_since").sql(
  `${REFUSED} AND r.created_at > :at::timestamptz ORDER BY r.created_at`,
);
// What was lost is stored once the database takes writes again.
const lostSince = statement<Since, EventRow>("lost_sales_since").sql(
  `${LOST} AND l.at > :at::timestamptz - interval '1 day' ORDER BY l.id`,
);
const hoursSince = statement<{ at: string }, EventRow>("hours_since").sql(
  `${HOURS} WHERE at > :at::timestamptz - interval '2 hours' ORDER BY at`,
);

/** The mark after what was read: `null`, all there was. */
const markAfter = async (db: Queryable, id: number, upTo: number | null) =>
  (await db.query(mark, { id, upTo }))[0]!;

/** The mark of now. */
export const firstMark = (db: Queryable) => markAfter(db, 0, null);

/**
 * What was stored after a mark, by the letter of its source and its place there, the oldest first; of some of it, also what was
 * before. And the next mark.
 */
export async function newest(
  db: Queryable,
  kind: Kind,
  { id, at }: Mark,
  isWanted: (source: Source) => boolean,
) {
  const { types, plan, app } = kind;
  const isOfAll = plan === null && app === null;
  const read: Record<string, () => Promise<EventRow[]>> = {
    e: () => db.query(storedSince, { types, plan, app, id }),
    r: () => db.query(requestsSince, { plan, app, at }),
    f: () => db.query(refusedSince, { plan, app, at }),
    l: () => db.query(lostSince, { plan, app, at }),
    h: async () => (isOfAll ? db.query(hoursSince, { at }) : []),
  };
  const rows = new Map<string, EventRow>();
  let upTo: number | null = null;
  for (const [letter, source] of Object.entries(OF_ALL).reverse()) {
    const found = isWanted(source) ? await read[letter]!() : [];
    for (const row of found) rows.set(letter + row.place, row);
    if (letter === "e" && found.length === MOST_NEW) upTo = Number(found.at(-1)!.place);
  }
  const sorted = [...rows].sort(([, one], [, other]) => one.at.getTime() - other.at.getTime());
  return { rows: new Map(sorted), mark: await markAfter(db, id, upTo) };
}
