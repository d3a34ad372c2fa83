import type { LedgerComparison, LedgerFinding } from "../../database/client/client.ts";
import type { Database } from "../../database/database.ts";
import {
  columnsOf,
  oneRow,
  type Queryable,
  type RowOf,
  statement,
  type Typed,
} from "../../database/statement.ts";
import { storable } from "../../errors.ts";
import { IS_CURRENT } from "../../ledgers/store.ts";
import { whereCan } from "../../resources/states.ts";
import { type Found, type Kind, MOST_NAMED } from "./differences.ts";

// What comparisons of the ledgers found, until another one replaces it. A comparison's row is written by its process, and
// read by the operator's page and the check-up.

const COMPARISON = columnsOf<Typed<LedgerComparison, { unnamed: Partial<Record<Kind, number>> }>>()(
  "c",
  "id",
  "startedAt",
  "endedAt",
  "isListed",
  "after",
  "next",
  "checked",
  "total",
  "backend",
  "unnamed",
  "notes",
  "faults",
);

export interface StoredComparison extends RowOf<typeof COMPARISON> {
  /** How many differences are named. */
  named: number;
  isWhole: boolean;
  /** Its process has stored its progress lately. */
  isRunning: boolean;
}

const IS_RUNNING = `ended_at IS NULL AND seen_at > now() - interval '30 seconds'`;
const IS_WHOLE = `ended_at IS NOT NULL AND next IS NULL`;
const stored = statement<Record<never, never>, StoredComparison>("read_comparisons").sql(
  `SELECT ${COMPARISON}, ${IS_WHOLE} AS "isWhole", ${IS_RUNNING} AS "isRunning",
     (SELECT count(*)::int FROM ledger_findings f WHERE f.comparison = c.id) AS named
   FROM ledger_comparisons c ORDER BY id DESC`,
);

/** The newest first: the last whole one, and what has begun since. */
export const readComparisons = (db: Queryable) => db.query(stored);

// Of those that did not come to their end, only the one that goes on, and those that run, are of use.
type Beginning = Pick<StoredComparison, "isListed" | "after" | "checked" | "next">;
type Begun = Pick<StoredComparison, "id">;
const begin = statement<Beginning & { earlier: number | null }, Begun>("begin_comparison").sql(
  `WITH over AS (
     DELETE FROM ledger_comparisons WHERE NOT (${IS_WHOLE}) AND NOT (${IS_RUNNING}) AND id IS DISTINCT FROM :earlier::bigint
   )
   INSERT INTO ledger_comparisons (is_listed, after, checked, next) VALUES (:isListed, :after, :checked, :next) RETURNING id`,
);

const sweep = statement("sweep_findings").sql(
  `DELETE FROM ledger_findings f WHERE NOT EXISTS (SELECT FROM ledger_comparisons c WHERE c.id = f.comparison)`,
);

/** `earlier`: the stopped comparison that this one goes on with. */
export async function beginComparison(
  db: Queryable,
  { isListed, after, checked, next }: Beginning,
  earlier: number | null,
): Promise<number> {
  const begun = await oneRow(db, begin, { isListed, after, checked, next, earlier });
  await db.query(sweep);
  return begun!.id;
}

type Advanced = Pick<StoredComparison, "checked" | "total" | "next">;
const advance = statement<Begun & Advanced>("advance_comparison").sql(
  `UPDATE ledger_comparisons SET seen_at = now(), checked = :checked, total = :total, next = :next
   WHERE id = :id AND ended_at IS NULL`,
);

/** A finding as it is stored; `detail`: JSON. */
type NewFinding = Pick<LedgerFinding, "uuid" | "ours" | "theirs"> & { kind: Kind; detail: string };

// A difference is as old as the first comparison that found it.
const insert = statement<{ rows: readonly NewFinding[]; id: number }>("insert_findings", {
  uuid: "uuid",
  kind: "text",
  ours: "text",
  theirs: "text",
  detail: "jsonb",
}).sql(
  `INSERT INTO ledger_findings (uuid, kind, comparison, since, ours, theirs, detail)
   SELECT f.uuid, f.kind, :id::bigint, coalesce(
       (SELECT min(o.since) FROM ledger_findings o WHERE o.uuid = f.uuid AND o.kind = f.kind), now()), f.ours, f.theirs, f.detail
   FROM :rows AS f WHERE EXISTS (SELECT FROM ledger_comparisons c WHERE c.id = :id)
   ON CONFLICT (uuid, kind, comparison) DO UPDATE SET ours = excluded.ours, theirs = excluded.theirs, detail = excluded.detail`,
);

const AT_ONCE = 1_000;

async function insertFindings(db: Queryable, id: number, found: readonly Found[]): Promise<void> {
  for (let at = 0; at < found.length; at += AT_ONCE)
    await db.query(insert, { id, rows: found.slice(at, at + AT_ONCE).map(rowOf) });
}

/** What the platform and the vendor's backend sent may hold what PostgreSQL cannot. */
const orNull = (text: string | null) => text && storable(text);

function rowOf({ uuid, kind, ours, theirs, plan, ...detail }: Found): NewFinding {
  const kept = plan === undefined ? detail : { ...detail, plan: storable(plan) };
  return { uuid, kind, ours: orNull(ours), theirs: orNull(theirs), detail: JSON.stringify(kept) };
}

/** Stores how far a comparison is, and what it found since the last time. */
export async function advanceComparison(
  db: Queryable,
  id: number,
  { checked, total, next, found }: Advanced & { found: readonly Found[] },
): Promise<void> {
  await insertFindings(db, id, found);
  await db.query(advance, { id, checked, total, next });
}

type Ending = Pick<StoredComparison, "checked" | "next" | "backend" | "unnamed" | "notes" | "faults">;
// `unnamed`: JSON.
const end = statement<Begun & Omit<Ending, "unnamed"> & { unnamed: string }>("end_comparison").sql(
  `UPDATE ledger_comparisons SET seen_at = now(), ended_at = now(), checked = :checked, next = :next,
     backend = :backend, unnamed = :unnamed, notes = :notes, faults = :faults WHERE id = :id`,
);
const dropOthers = statement<Begun & { isOver: boolean }>("drop_other_comparisons").sql(
  `DELETE FROM ledger_comparisons WHERE id <> :id AND NOT (${IS_RUNNING}) AND (:isOver OR NOT (${IS_WHOLE}))`,
);
type Named = Pick<Found, "uuid" | "kind">;
const dropEnded = statement<{ rows: readonly Named[]; id: number }>("drop_ended_findings", {
  uuid: "uuid",
  kind: "text",
}).sql(
  `DELETE FROM ledger_findings USING :rows AS f
   WHERE comparison = :id AND ledger_findings.uuid = f.uuid AND ledger_findings.kind = f.kind`,
);

/**
 * A comparison that came to its end replaces all others; one that was stopped, only those that were stopped before.
 * `ended`: what it had found and was no longer so at its end.
 */
export async function endComparison(
  db: Database,
  id: number,
  { found, ended, ...ending }: Ending & { found: readonly Found[]; ended: readonly Named[] },
): Promise<void> {
  await db.planned(async (tx) => {
    for (let at = 0; at < ended.length; at += AT_ONCE)
      await tx.query(dropEnded, { id, rows: ended.slice(at, at + AT_ONCE) });
    await insertFindings(tx, id, found);
    await tx.query(end, { id, ...ending, unnamed: JSON.stringify(ending.unnamed) });
    await tx.query(dropOthers, { id, isOver: ending.next === null });
    await tx.query(sweep);
  });
}

const dropFixed = statement<{ kind: Kind; uuids: readonly string[] }>("drop_fixed_findings").sql(
  `DELETE FROM ledger_findings WHERE kind = :kind AND uuid = ANY(:uuids::uuid[])`,
);

/** Of those that were dealt with. */
export async function dropFindings(db: Queryable, kind: Kind, uuids: readonly string[]): Promise<void> {
  for (let at = 0; at < uuids.length; at += AT_ONCE)
    await db.query(dropFixed, { kind, uuids: uuids.slice(at, at + AT_ONCE) });
}

/** SQL condition on a finding `f` and our resource `r`, if there is one: nothing has happened here since that ends it. */
const IS_STILL = `CASE WHEN f.detail ? 'isUnseen' THEN r.uuid IS NULL
    WHEN f.kind = 'unknown_here' THEN r.plan = ''
    WHEN f.kind IN ('config_differs', 'app_differs', 'missing_at_backend') THEN r.state = 'provisioned'
    WHEN f.kind = 'plan_differs' THEN r.plan = f.ours AND ${whereCan("change_plan")}
    ELSE r.state = f.ours END`;

/**
 * SQL for WITH: what the comparison `id` found and is still so, and what the service noticed by itself; what is both stands
 * once. A mark that suggests no difference to be cured here is left out: the platform has ended what it asked about.
 */
const KNOWN = `noticed AS (
     SELECT m.uuid, CASE m.kind WHEN 'unknown_resource' THEN 'unknown_here' ELSE m.kind END AS kind, m.first_at, m.detail->>'plan' AS plan
     FROM ledger_marks m WHERE ${IS_CURRENT} AND (m.kind <> 'unknown_resource' OR m.detail->>'request' = 'PUT')
   ), compared AS (
     SELECT f.*, EXISTS (SELECT FROM noticed n WHERE n.uuid = f.uuid AND n.kind = f.kind) AS is_noticed
     FROM ledger_findings f LEFT JOIN resources r ON r.uuid = f.uuid WHERE f.comparison = :id AND ${IS_STILL}
   ), known AS (
     SELECT uuid, kind, since, ours, theirs, detail, true AS is_found, is_noticed FROM compared
     UNION ALL
     SELECT n.uuid, n.kind, n.first_at, CASE n.kind WHEN 'plan_differs' THEN r.plan ELSE r.state END,
       CASE n.kind WHEN 'unknown_here' THEN 'asked for plan ' || coalesce(n.plan, '?') WHEN 'plan_differs' THEN n.plan
         ELSE 'noticed by the service' END,
       jsonb_strip_nulls(jsonb_build_object('isUnseen', CASE WHEN r.uuid IS NULL THEN true END,
         'plan', CASE n.kind WHEN 'plan_differs' THEN n.plan END)), false, true
     FROM noticed n LEFT JOIN resources r ON r.uuid = n.uuid
     WHERE NOT EXISTS (SELECT FROM compared c WHERE c.uuid = n.uuid AND c.kind = n.kind)
   )` as const;

export interface KnownKind {
  kind: Kind;
  /** By the comparison. */
  found: number;
  /** By the service, and not by the comparison. */
  noticed: number;
  /** By the comparison, and by the service too. */
  both: number;
  /** Of those named, what the cure could be carried out for. */
  canBeFixed: number;
  since: Date;
}

type OfComparison = { id: number | null };
const counts = statement<OfComparison, KnownKind>("count_known_differences").sql(
  `WITH ${KNOWN} SELECT kind, count(*) FILTER (WHERE is_found)::int AS found, count(*) FILTER (WHERE NOT is_found)::int AS noticed,
     count(*) FILTER (WHERE is_found AND is_noticed)::int AS both,
     count(*) FILTER (WHERE CASE kind WHEN 'unknown_here' THEN detail ? 'installation'
       WHEN 'orphan_at_backend' THEN detail->'isUnlisted' = 'true' ELSE true END)::int AS "canBeFixed", min(since) AS since
   FROM known GROUP BY kind`,
);

/** `id` null: nothing was compared, and only what the service noticed by itself is known. */
export const countKnown = (db: Database, id: number | null) => db.readWhole(counts, { id });

/** So many of a kind are shown on the page. */
export const FIRST_OF_A_KIND = 10;

export interface KnownDifference extends Pick<Found, "uuid" | "kind" | "ours" | "theirs"> {
  since: Date;
  /** We have a row of it. */
  isOurs: boolean;
  name: string | null;
  plan: string | null;
  app: string | null;
}

const firsts = statement<OfComparison, KnownDifference>("first_known_differences").sql(
  `WITH ${KNOWN}, placed AS (SELECT *, row_number() OVER (PARTITION BY kind ORDER BY since, uuid) AS place FROM known)
   SELECT k.uuid, k.kind, k.since, k.ours, k.theirs, r.uuid IS NOT NULL AS "isOurs",
     coalesce(r.name, k.detail->'installation'->>'name') AS name, coalesce(nullif(r.plan, ''), k.detail->'installation'->>'plan') AS plan,
     coalesce(r.app_name, k.detail->'installation'->'app'->>'name') AS app
   FROM placed k LEFT JOIN resources r ON r.uuid = k.uuid WHERE k.place <= ${FIRST_OF_A_KIND} ORDER BY k.kind, k.place`,
);

export const firstKnown = (db: Database, id: number | null) => db.readWhole(firsts, { id });

type FoundRow = Found & { detail: object };
const ofKind = statement<OfComparison & { kind: Kind }, FoundRow>("known_differences_of_kind").sql(
  `WITH ${KNOWN} SELECT uuid, kind, ours, theirs, detail FROM known WHERE kind = :kind ORDER BY uuid LIMIT ${MOST_NAMED}`,
);

/** As a comparison found them, to be dealt with. */
export async function knownOfKind(db: Database, id: number | null, kind: Kind): Promise<Found[]> {
  const rows = await db.readWhole(ofKind, { id, kind });
  return rows.map(({ detail, ...found }) => ({ ...found, ...detail }));
}

const ofComparison = statement<{ id: number }, FoundRow>("findings_of_comparison").sql(
  `SELECT uuid, kind, ours, theirs, detail FROM ledger_findings WHERE comparison = :id ORDER BY kind, uuid`,
);

/** What one found that goes on. */
export async function findingsOf(db: Database, id: number): Promise<Found[]> {
  const rows = await db.readWhole(ofComparison, { id });
  return rows.map(({ detail, ...found }) => ({ ...found, ...detail }));
}
