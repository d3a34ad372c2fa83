import { statement, type Database, type Queryable } from "../database/database.ts";
import { createAudit, type AuditEntry } from "./audit.ts";
import { isDay, typedUuid, UnknownResource, UsedWrongly } from "./errors.ts";
import { STATES_OF_RESOURCES } from "../credentials/states.ts";
import { RESOURCE_STATES } from "../resources/states.ts";
import { resourceRecord, type ResourceRecord } from "./resource-record.ts";
import { readUuid } from "../uuid.ts";
import { waitingSteps, type WaitingStep } from "./waiting-steps.ts";

export interface ResourcePage {
  resources: ResourceRecord[];
  /** The cursor to pass as `after` for the next page; null if there is none. */
  next: string | null;
  /**
   * More resources match the text than are looked at ({@link MOST_FOUND}): one that is missing here may exist all the
   * same.
   */
  isCut?: boolean;
}

/** Something that happened to a resource. */
export interface ResourceEvent {
  at: string;
  type: string;
  detail: unknown;
}

/** One resource with its waiting steps, its events, and what operators did to it. */
export type WholeResource = ResourceRecord & {
  steps: WaitingStep[];
  events: ResourceEvent[];
  actions: AuditEntry[];
  /** When it was read, by the database's clock: what is to come is later. */
  readAt: string;
};

/** How many resources are in each state, and how many credentials; estimated where there are very many. */
export interface Totals {
  isEstimated: boolean;
  states: Record<string, number>;
  credentials: Record<string, number>;
}

const readNow = statement("resource_read_at", `SELECT now()`);

const PAGE_SIZE = 100;
/** Of `resources`, at most this many pages (8 KiB each) are counted. */
const MOST_SAMPLE_PAGES = 500;

// SQL finds the page and Prisma reads its rows: the position in the list is a time in microseconds, which Prisma's
// dates cannot hold, and two resources created in one millisecond must neither be skipped nor shown twice.
const listed = (name: string, where: string) =>
  statement(
    name,
    `SELECT r.uuid, r.created_at::text AS "createdAt" FROM resources r ${where}
     ORDER BY r.created_at DESC, r.uuid DESC LIMIT ${PAGE_SIZE + 1}`,
  );
const BEFORE = `(r.created_at, r.uuid) < ($1::timestamptz, $2::uuid)`;
const newest = listed("list_resources", `WHERE ${BEFORE}`);
// There is no index on state and time together, because each provision would have to update it. A common state is found
// among the newest resources, a rare one by the partial indexes of its credentials or by reading all.
const ofBusiness = listed("list_by_state", `WHERE ${BEFORE} AND r.state = $3`);
const ofCredential = listed(
  "list_by_credential",
  `JOIN credentials c USING (uuid) WHERE ${BEFORE} AND c.state = $3`,
);

/** How many matches of each kind (uuid, name, app name; plan, region or app id) are looked at: a search is meant to find a few. */
export const MOST_FOUND = 1_000;
const beginning = (column: string) =>
  `octet_length(${column}) <= 1000 AND ${column} ~>=~ $3 AND ${column} ~<~ ($3 || chr(1114111)) LIMIT ${MOST_FOUND + 1}`;
// `~>=~` and `~<~` let the text_pattern_ops indexes find a prefix even under a generic plan, and the length is the
// condition of those partial indexes. Each kind has a subquery of its own; otherwise the planner may scan all resources
// from the newest on. No index has the plans and regions: each provision would have to update it. So all are read, from
// the newest on, and a page begins where the one before ended.
const search = statement(
  "search_resources",
  `WITH found AS MATERIALIZED (
     (SELECT uuid, 'uuid' AS way FROM resources WHERE uuid BETWEEN $4::uuid AND $5::uuid LIMIT ${MOST_FOUND + 1})
     UNION ALL (SELECT uuid, 'name' FROM resources WHERE ${beginning("name")})
     UNION ALL (SELECT uuid, 'app' FROM resources WHERE ${beginning("app_name")})
     UNION ALL (SELECT uuid, 'whole' FROM resources r WHERE ${BEFORE} AND (plan = $3 OR region = $3 OR app_id = $7::uuid)
       ORDER BY created_at DESC, uuid DESC LIMIT ${MOST_FOUND + 1})
   )
   (SELECT r.uuid, r.created_at::text AS "createdAt", false AS "isCut"
    FROM (SELECT DISTINCT uuid FROM found) each_once JOIN resources r USING (uuid) JOIN credentials c USING (uuid)
    WHERE ${BEFORE} AND ($6::text IS NULL OR r.state = $6 OR c.state = $6)
    ORDER BY r.created_at DESC, r.uuid DESC LIMIT ${PAGE_SIZE + 1})
   UNION ALL SELECT NULL, NULL, true WHERE EXISTS (SELECT 1 FROM found
     WHERE way <> 'whole' OR $6::text IS NOT NULL GROUP BY way HAVING count(*) > ${MOST_FOUND})`,
);

/** A position in the list. */
interface Place {
  createdAt: string;
  uuid: string;
}

/** A position before the newest resource: the beginning of the list. */
const START: Place = { createdAt: "infinity", uuid: "ffffffff-ffff-ffff-ffff-ffffffffffff" };

/**
 * A page of resources, the newest first, tombstones included. `state` is a state of the resource or of its credential;
 * `text` is a prefix of the uuid, the name or the app's name, or it is the plan, the region or the app's id. Throws {@link UsedWrongly} for an unknown state or an
 * invalid cursor.
 */
export async function listResources(
  db: Database,
  {
    state,
    after,
    text,
  }: { state?: string | undefined; after?: string | undefined; text?: string | undefined },
): Promise<ResourcePage> {
  const { createdAt, uuid } = after === undefined ? START : placeOf(after);
  refuseUnknown(state);
  const { found, isCut = false }: Found =
    text !== undefined
      ? await findByText(db, text, state, { createdAt, uuid })
      : { found: await findInState(db, state, [createdAt, uuid]) };
  const page = found.slice(0, PAGE_SIZE);
  const prisma = await db.prisma();
  const rows = await prisma.resource.findMany({
    where: { uuid: { in: page.map((place) => place.uuid) } },
    include: { credential: true },
  });
  const records = new Map(rows.map((row) => [row.uuid, resourceRecord(row)]));
  const last = found.length > PAGE_SIZE ? page.at(-1) : undefined;
  return {
    resources: page.flatMap((place) => records.get(place.uuid) ?? []),
    next: last ? cursorOf(last) : null,
    ...(isCut && { isCut }),
  };
}

interface Found {
  found: Place[];
  isCut?: boolean;
}

function findInState(db: Database, state: string | undefined, from: [string, string]): Promise<Place[]> {
  if (state === undefined) return db.query<Place>(newest, from);
  const isOfBusiness = (RESOURCE_STATES as readonly string[]).includes(state);
  return db.readWhole<Place>(isOfBusiness ? ofBusiness : ofCredential, [...from, state]);
}

async function findByText(
  db: Database,
  text: string,
  state: string | undefined,
  from: Place,
): Promise<Found> {
  const { createdAt, uuid } = from;
  const values = [createdAt, uuid, text, ...uuidsFrom(text), state ?? null, readUuid(text)];
  const rows = await db.readWhole<Place & { isCut: boolean }>(search, values);
  const found = rows.filter(({ isCut }) => !isCut);
  return found.length < rows.length ? { found, isCut: true } : { found };
}

// A sample of whole pages, so that it takes no longer for millions of resources than for some ten thousand.
const readShare = statement(
  "resources_sample_share",
  `SELECT least(100, 100.0 * ${MOST_SAMPLE_PAGES} * current_setting('block_size')::int
     / greatest(pg_relation_size('resources'), 1))::float8 AS share`,
);
const readTotals = statement(
  "resources_by_state",
  `SELECT r.state, c.state AS credential, count(*)::int AS count
   FROM resources r TABLESAMPLE SYSTEM ($1::float8) JOIN credentials c USING (uuid) GROUP BY 1, 2 ORDER BY 3 DESC`,
);

export async function countStates(db: Database): Promise<Totals> {
  const [{ share } = { share: 100 }] = await db.query<{ share: number }>(readShare);
  const rows = await db.readWhole<{ state: string; credential: string; count: number }>(readTotals, [share]);
  const totals: Totals = { isEstimated: share < 100, states: {}, credentials: {} };
  const add = (counts: Record<string, number>, state: string, count: number) =>
    (counts[state] = Math.round((counts[state] ?? 0) + count * (100 / share)));
  for (const { state, credential, count } of rows) {
    add(totals.states, state, count);
    add(totals.credentials, credential, count);
  }
  return totals;
}

/** One resource with its waiting steps, its events, oldest first, and operators' actions, newest first. Throws {@link UnknownResource}. */
export async function showResource(db: Database, typed: string): Promise<WholeResource> {
  const uuid = typedUuid(typed);
  const prisma = await db.prisma();
  const stored = await prisma.resource.findUnique({
    where: { uuid },
    include: { credential: true, events: { orderBy: { id: "asc" } } },
  });
  if (!stored) throw new UnknownResource(uuid);
  const events = stored.events.map(({ at, type, detail }) => ({ at: at.toISOString(), type, detail }));
  // To spare the busiest path a write, a provision stores no event: it is derived from the resource's row.
  const birth = { at: stored.createdAt.toISOString(), type: "provision_requested", detail: {} };
  const wasImported = events[0]?.type === "imported";
  const [steps, actions] = [await waitingSteps(db, uuid), await createAudit(db).ofResource(uuid)];
  const [{ now }] = (await db.query<{ now: Date }>(readNow)) as [{ now: Date }];
  const history = { events: wasImported ? events : [birth, ...events], actions };
  return { ...resourceRecord(stored), steps, ...history, readAt: now.toISOString() };
}

function refuseUnknown(state: string | undefined): void {
  const states: readonly string[] = [...RESOURCE_STATES, ...STATES_OF_RESOURCES];
  if (state === undefined || states.includes(state)) return;
  const known = states.join(", ");
  throw new UsedWrongly(`There is no state "${state}". States: ${known}.`);
}

/** The first and the last uuid with this prefix. Nulls if no uuid can begin like this: no uuid is between nulls. */
function uuidsFrom(text: string): [string, string] | [null, null] {
  const digits = text.toLowerCase().replaceAll("-", "");
  if (!/^[0-9a-f]{1,32}$/.test(digits)) return [null, null];
  return [digits.padEnd(32, "0"), digits.padEnd(32, "f")];
}

function cursorOf({ createdAt, uuid }: Place): string {
  return Buffer.from(`${createdAt}|${uuid}`).toString("base64url");
}

function placeOf(cursor: string): Place {
  const [createdAt = "", typed = ""] = Buffer.from(cursor, "base64url").toString("utf8").split("|");
  const uuid = readUuid(typed);
  if (uuid === null || !TIME.test(createdAt) || !isDay(createdAt.slice(0, 10))) {
    throw new UsedWrongly(`"${cursor}" is not a place in the list: use the "next" of a page.`);
  }
  return { createdAt, uuid };
}

/** A time in the format in which PostgreSQL writes and reads it. */
const TIME =
  /^[1-9]\d{3}-\d\d-\d\d ([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?[+-](0\d|1[0-5])(:[0-5]\d){0,2}$/;

/** The age of a resource's access token, by the database's clock. */
export interface TokenTimes {
  ageSeconds: number | null;
  isBeingRefreshed: boolean;
}

const readTimes = statement(
  "operator_token_times",
  `SELECT extract(epoch FROM now() - issued_at)::float8 AS "ageSeconds",
     coalesce(leased_until > now() AND sent_at IS NOT NULL, false) AS "isBeingRefreshed"
   FROM credentials WHERE uuid = $1`,
);

export async function tokenTimes(db: Queryable, uuid: string): Promise<TokenTimes> {
  const [row] = await db.query<TokenTimes>(readTimes, [uuid]);
  return row ?? { ageSeconds: null, isBeingRefreshed: false };
}
