import { statement, type Database } from "../database/database.ts";
import { BUSINESS_STATES } from "./resource-states.ts";

// Lists the resources in one state, the newest first, among millions in other states. There is no index on state and
// time together, because each provision would have to update it. A common state is found among the newest resources; a
// rare one by looking at all.

/** A position in the list. */
export interface Place {
  createdAt: string;
  uuid: string;
}

/**
 * The resources that were found, and the place up to which the list was searched; `reached` is undefined if the search
 * came to the end, or found enough.
 */
export interface InState {
  found: Place[];
  reached?: Place | undefined;
}

/** A search gives up after this long; the caller may continue from where it stopped. */
const PATIENCE_MS = 8_000;
/** How many of the newest resources one statement looks at: each may cost a page read for its credential. */
const SLICE = 4_000;
/** Up to this many credentials in a state are sorted in one statement; more make the state a common one. */
const MOST_RARE = 10_000;

const IS_BEFORE = `(r.created_at, r.uuid) < ($1::timestamptz, $2::uuid)`;
const NEWEST_FIRST = `ORDER BY created_at DESC, uuid DESC`;
const slice = (name: string, condition: string) =>
  statement(
    name,
    `WITH slice AS MATERIALIZED (
       SELECT r.uuid, r.created_at, r.state FROM resources r WHERE ${IS_BEFORE} ${NEWEST_FIRST} LIMIT ${SLICE}
     ), found AS (
       SELECT r.uuid, r.created_at FROM slice r WHERE ${condition} ${NEWEST_FIRST} LIMIT $4::int
     )
     SELECT uuid, created_at::text AS "createdAt", looked FROM (
       SELECT uuid, created_at, NULL::int AS looked FROM found
       UNION ALL (SELECT uuid, created_at, (SELECT count(*)::int FROM slice) FROM slice ORDER BY created_at, uuid LIMIT 1)
     ) both_kinds ORDER BY looked NULLS FIRST, created_at DESC, uuid DESC`,
  );
const rest = (name: string, condition: string) =>
  statement(
    name,
    `SELECT r.uuid, r.created_at::text AS "createdAt" FROM resources r WHERE ${IS_BEFORE} AND ${condition}
     ${NEWEST_FIRST} LIMIT $4::int`,
  );

const hasState = (state: string) =>
  `EXISTS (SELECT 1 FROM credentials c WHERE c.uuid = r.uuid AND c.state = ${state} OFFSET 0)`;
const ofBusiness = {
  newest: slice("list_newest_by_state", `r.state = $3`),
  all: rest("list_all_by_state", `r.state = $3`),
};
// The credential of every tombstone is erased; that of a failed resource, unless its grant was lost.
const ofErased = {
  newest: slice("list_newest_erased", `r.state IN ('deprovisioned', 'failed') AND ${hasState("$3")}`),
  all: rest("list_all_erased", `(r.state = 'deprovisioned' OR r.state = 'failed' AND ${hasState("$3")})`),
};
const ofCredential = slice("list_newest_by_credential", hasState("$3"));
const rare = statement(
  "list_rare_credentials",
  `WITH looked_at AS MATERIALIZED (SELECT uuid FROM credentials WHERE state = $3 LIMIT ${MOST_RARE + 1}
   ), few AS (
     SELECT uuid FROM looked_at WHERE (SELECT count(*) FROM looked_at) <= ${MOST_RARE}
   )
   (SELECT r.uuid, r.created_at::text AS "createdAt", false AS "isMany" FROM few JOIN resources r USING (uuid)
    WHERE ${IS_BEFORE} ORDER BY r.created_at DESC, r.uuid DESC LIMIT $4::int)
   UNION ALL SELECT NULL, NULL, true WHERE (SELECT count(*) FROM looked_at) > ${MOST_RARE}`,
);

/** The next `most` resources in `state` after the position `from`. */
export async function findInState(db: Database, state: string, from: Place, most: number): Promise<InState> {
  const isOfBusiness = (BUSINESS_STATES as readonly string[]).includes(state);
  if (isOfBusiness || state === "erased") {
    const { newest, all } = isOfBusiness ? ofBusiness : ofErased;
    const { found, reached } = await lookAt(db, newest, state, from, most);
    const values = [from.createdAt, from.uuid, state, most];
    return { found: reached ? await db.readWhole<Place>(all, values) : found };
  }
  const found = await db.readWhole<Place & { isMany: boolean }>(rare, [
    from.createdAt,
    from.uuid,
    state,
    most,
  ]);
  return found[0]?.isMany ? lookThrough(db, state, from, most) : { found };
}

type Read = ReturnType<typeof statement>;

/** Searches one slice. `reached` is set unless enough was found or the list has ended. */
async function lookAt(db: Database, read: Read, state: string, from: Place, most: number): Promise<InState> {
  const rows = await db.readWhole<Place & { looked: number | null }>(read, [
    from.createdAt,
    from.uuid,
    state,
    most,
  ]);
  const last = rows.find(({ looked }) => looked !== null);
  const found = rows.filter(({ looked }) => looked === null);
  return { found, reached: found.length < most && last?.looked === SLICE ? last : undefined };
}

/** Searches slice by slice, until `PATIENCE_MS` has passed. */
async function lookThrough(db: Database, state: string, from: Place, most: number): Promise<InState> {
  const until = performance.now() + PATIENCE_MS;
  const found: Place[] = [];
  for (let at = from; ;) {
    const next = await lookAt(db, ofCredential, state, at, most - found.length);
    found.push(...next.found);
    if (!next.reached || performance.now() > until) return { found, reached: next.reached };
    at = next.reached;
  }
}
