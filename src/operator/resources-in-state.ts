import { statement, type Database } from "../database/database.ts";
import { IN_PIECE, readWhole } from "../database/whole-table.ts";
import { BUSINESS_STATES } from "./resource-states.ts";

// The resources in one state, the newest first, among millions in others. No index has both the state and the order, for
// each provision would have to write it. What is common is found among the newest; what is rare, by looking at all.

/** A place in the list. */
export interface Place {
  createdAt: string;
  uuid: string;
}

/** What was found, and the place up to which was looked; none: to the end, or until enough was found. */
export interface InState {
  found: Place[];
  reached?: Place | undefined;
}

/** So long a person waits; then they may look on. */
const PATIENCE_MS = 8_000;
/** So many of the newest are looked at in one statement: each credential may be a page of its own to be read. */
const SLICE = 4_000;
/** So many credentials in a state are put in order at once. */
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
// `place` is what the newest of all pieces are told by: a time with microseconds, of one width.
const rest = (name: string, condition: string) =>
  statement(
    name,
    `SELECT r.uuid, r.created_at::text AS "createdAt", to_char(r.created_at AT TIME ZONE 'UTC', 'YYYYMMDDHH24MISSUS') || r.uuid AS place
     FROM resources r WHERE ${IN_PIECE} AND (r.created_at, r.uuid) < ($3::timestamptz, $4::uuid) AND ${condition}
     ${NEWEST_FIRST} LIMIT $6::int`,
  );

const hasState = (state: string) =>
  `EXISTS (SELECT 1 FROM credentials c WHERE c.uuid = r.uuid AND c.state = ${state} OFFSET 0)`;
const ofBusiness = {
  newest: slice("list_newest_by_state", `r.state = $3`),
  all: rest("list_all_by_state", `r.state = $5`),
};
// Those of tombstones are erased, each of them; of what failed, those whose grant was not lost.
const ofErased = {
  newest: slice("list_newest_erased", `r.state IN ('deprovisioned', 'failed') AND ${hasState("$3")}`),
  all: rest("list_all_erased", `(r.state = 'deprovisioned' OR r.state = 'failed' AND ${hasState("$5")})`),
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

/** The next `most` resources in `state` behind `from`. */
export async function findInState(db: Database, state: string, from: Place, most: number): Promise<InState> {
  const isOfBusiness = (BUSINESS_STATES as readonly string[]).includes(state);
  if (isOfBusiness || state === "erased") {
    const { newest, all } = isOfBusiness ? ofBusiness : ofErased;
    const { found, reached } = await lookAt(db, newest, state, from, most);
    return { found: reached ? await lookAtAll(db, all, state, from, most) : found };
  }
  const found = await db.query<Place & { isMany: boolean }>(rare, [from.createdAt, from.uuid, state, most]);
  return found[0]?.isMany ? lookThrough(db, state, from, most) : { found };
}

type Read = ReturnType<typeof statement>;

/** What is found in one slice; `reached` unless that was enough, or the end. */
async function lookAt(db: Database, read: Read, state: string, from: Place, most: number): Promise<InState> {
  const rows = await db.query<Place & { looked: number | null }>(read, [
    from.createdAt,
    from.uuid,
    state,
    most,
  ]);
  const last = rows.find(({ looked }) => looked !== null);
  const found = rows.filter(({ looked }) => looked === null);
  return { found, reached: found.length < most && last?.looked === SLICE ? last : undefined };
}

/** Slice by slice, for as long as somebody waits. */
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

/** The newest of the whole table. */
function lookAtAll(db: Database, read: Read, state: string, from: Place, most: number): Promise<Place[]> {
  return readWhole(db, async ({ pieces }) => {
    let newest: (Place & { place: string })[] = [];
    const values = [from.createdAt, from.uuid, state, most];
    for await (const piece of pieces<Place & { place: string }>("resources", read, values))
      newest = [...newest, ...piece].sort((one, other) => (one.place < other.place ? 1 : -1)).slice(0, most);
    return newest;
  });
}
