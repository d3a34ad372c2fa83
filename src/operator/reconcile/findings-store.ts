import { statement, type Database, type Queryable } from "../../database/database.ts";
import { storable } from "../../errors.ts";
import { IS_CURRENT } from "../../ledgers/store.ts";
import { MOST_NAMED, type Found, type Kind } from "./differences.ts";

// What comparisons of the ledgers found, until another one replaces it. A comparison's row is written by its process, and
// read by the operator's page and the check-up.

export interface StoredComparison {
  id: number;
  startedAt: Date;
  endedAt: Date | null;
  isListed: boolean;
  after: string | null;
  /** After this one it goes on; null: nothing was compared yet, or it came to its end. */
  next: string | null;
  checked: number;
  total: number;
  backend: number | null;
  /** How many differences of a kind are counted and not named. */
  unnamed: Partial<Record<Kind, number>>;
  notes: string[];
  faults: string[];
  /** How many differences are named. */
  named: number;
  isWhole: boolean;
  /** Its process has stored its progress lately. */
  isRunning: boolean;
}

const IS_RUNNING = `ended_at IS NULL AND seen_at > now() - interval '30 seconds'`;
const IS_WHOLE = `ended_at IS NOT NULL AND next IS NULL`;
const stored = statement(
  "read_comparisons",
  `SELECT id, started_at AS "startedAt", ended_at AS "endedAt", is_listed AS "isListed", after, next, checked, total,
     backend, unnamed, notes, faults,
     (SELECT count(*)::int FROM ledger_findings f WHERE f.comparison = c.id) AS named, ${IS_WHOLE} AS "isWhole", ${IS_RUNNING} AS "isRunning"
   FROM ledger_comparisons c ORDER BY id DESC`,
);

/** The newest first: the last whole one, and what has begun since. */
export const readComparisons = (db: Queryable) => db.query<StoredComparison>(stored);

// Of those that did not come to their end, only the one that goes on, and those that run, are of use.
const begin = statement(
  "begin_comparison",
  `WITH over AS (
     DELETE FROM ledger_comparisons WHERE NOT (${IS_WHOLE}) AND NOT (${IS_RUNNING}) AND id IS DISTINCT FROM $5
   )
   INSERT INTO ledger_comparisons (is_listed, after, checked, next) VALUES ($1, $2, $3, $4) RETURNING id`,
);

const sweep = statement(
  "sweep_findings",
  `DELETE FROM ledger_findings f WHERE NOT EXISTS (SELECT FROM ledger_comparisons c WHERE c.id = f.comparison)`,
);

type Beginning = Pick<StoredComparison, "isListed" | "after" | "checked" | "next">;

/** `earlier`: the stopped comparison that this one goes on with. */
export async function beginComparison(
  db: Queryable,
  { isListed, after, checked, next }: Beginning,
  earlier: number | null,
): Promise<number> {
  const values = [isListed, after, checked, next, earlier];
  const [begun] = await db.query<{ id: number }>(begin, values);
  await db.query(sweep);
  return begun!.id;
}

const advance = statement(
  "advance_comparison",
  `UPDATE ledger_comparisons SET seen_at = now(), checked = $2, total = $3, next = $4 WHERE id = $1 AND ended_at IS NULL`,
);

// A difference is as old as the first comparison that found it.
const insert = statement(
  "insert_findings",
  `INSERT INTO ledger_findings (uuid, kind, comparison, since, ours, theirs, detail)
   SELECT f.uuid, f.kind, $1, coalesce(
       (SELECT min(o.since) FROM ledger_findings o WHERE o.uuid = f.uuid AND o.kind = f.kind), now()), f.ours, f.theirs, f.detail
   FROM jsonb_to_recordset($2::jsonb) AS f(uuid uuid, kind text, ours text, theirs text, detail jsonb)
   WHERE EXISTS (SELECT FROM ledger_comparisons c WHERE c.id = $1)
   ON CONFLICT (uuid, kind, comparison) DO UPDATE SET ours = excluded.ours, theirs = excluded.theirs, detail = excluded.detail`,
);

const AT_ONCE = 1_000;

async function insertFindings(db: Queryable, id: number, found: readonly Found[]): Promise<void> {
  for (let at = 0; at < found.length; at += AT_ONCE) {
    const rows = found.slice(at, at + AT_ONCE).map(rowOf);
    await db.query(insert, [id, JSON.stringify(rows)]);
  }
}

/** What the platform and the vendor's backend sent may hold what PostgreSQL cannot. */
const orNull = (text: string | null) => text && storable(text);

function rowOf({ uuid, kind, ours, theirs, plan, ...detail }: Found) {
  const kept = plan === undefined ? detail : { ...detail, plan: storable(plan) };
  return { uuid, kind, ours: orNull(ours), theirs: orNull(theirs), detail: kept };
}

type Advance = Pick<StoredComparison, "checked" | "total" | "next"> & { found: readonly Found[] };

/** Stores how far a comparison is, and what it found since the last time. */
export async function advanceComparison(
  db: Queryable,
  id: number,
  { checked, total, next, found }: Advance,
): Promise<void> {
  await insertFindings(db, id, found);
  await db.query(advance, [id, checked, total, next]);
}

const end = statement(
  "end_comparison",
  `UPDATE ledger_comparisons SET seen_at = now(), ended_at = now(), checked = $2, next = $3, backend = $4,
     unnamed = $5, notes = $6, faults = $7 WHERE id = $1`,
);
const dropOthers = statement(
  "drop_other_comparisons",
  `DELETE FROM ledger_comparisons WHERE id <> $1 AND NOT (${IS_RUNNING}) AND ($2 OR NOT (${IS_WHOLE}))`,
);
const dropEnded = statement(
  "drop_ended_findings",
  `DELETE FROM ledger_findings WHERE comparison = $1
     AND NOT EXISTS (SELECT FROM jsonb_to_recordset($2::jsonb) AS f(uuid uuid, kind text)
       WHERE f.uuid = ledger_findings.uuid AND f.kind = ledger_findings.kind)`,
);

type Ending = Pick<StoredComparison, "checked" | "next" | "backend" | "unnamed" | "notes" | "faults"> & {
  found: readonly Found[];
};

/** A comparison that came to its end replaces all others; one that was stopped, only those that were stopped before. */
export async function endComparison(
  db: Database,
  id: number,
  { checked, next, backend, unnamed, notes, faults, found }: Ending,
): Promise<void> {
  await db.planned(async (tx) => {
    await insertFindings(tx, id, found);
    await tx.query(dropEnded, [id, JSON.stringify(found.map(({ uuid, kind }) => ({ uuid, kind })))]);
    await tx.query(end, [id, checked, next, backend, JSON.stringify(unnamed), notes, faults]);
    await tx.query(dropOthers, [id, next === null]);
    await tx.query(sweep);
  });
}

const dropFixed = statement(
  "drop_fixed_findings",
  `DELETE FROM ledger_findings WHERE kind = $1 AND uuid = ANY($2::uuid[])`,
);

/** Of those that were dealt with. */
export async function dropFindings(db: Queryable, kind: Kind, uuids: readonly string[]): Promise<void> {
  for (let at = 0; at < uuids.length; at += AT_ONCE)
    await db.query(dropFixed, [kind, uuids.slice(at, at + AT_ONCE)]);
}

/** SQL condition on a finding `f` and our resource `r`, if there is one: nothing has happened here since that ends it. */
const IS_STILL = `CASE WHEN f.detail ? 'isUnseen' THEN r.uuid IS NULL
    WHEN f.kind = 'unknown_here' THEN r.plan = ''
    WHEN f.kind IN ('config_differs', 'app_differs', 'missing_at_backend') THEN r.state = 'provisioned'
    WHEN f.kind = 'plan_differs' THEN r.plan = f.ours
    ELSE r.state = f.ours END`;

/** SQL for WITH: what comparison $1 found and is still so, and what the service noticed by itself. */
const KNOWN = `known AS (
     SELECT f.uuid, f.kind, f.since, f.ours, f.theirs, f.detail, false AS is_noticed
     FROM ledger_findings f LEFT JOIN resources r ON r.uuid = f.uuid WHERE f.comparison = $1 AND ${IS_STILL}
     UNION ALL
     SELECT m.uuid, n.kind, m.first_at, r.state, CASE n.kind WHEN 'unknown_here' THEN 'asked for plan ' || coalesce(m.detail->>'plan', '?')
         ELSE 'noticed by the service' END, jsonb_strip_nulls(jsonb_build_object('isUnseen', CASE WHEN r.uuid IS NULL THEN true END)), true
     FROM ledger_marks m LEFT JOIN resources r ON r.uuid = m.uuid,
       LATERAL (SELECT CASE m.kind WHEN 'unknown_resource' THEN 'unknown_here' ELSE m.kind END AS kind) n
     WHERE ${IS_CURRENT} AND (m.kind = 'gone_at_platform' OR m.detail->>'request' = 'PUT')
       AND NOT EXISTS (SELECT FROM ledger_findings f WHERE f.uuid = m.uuid AND f.kind = n.kind AND f.comparison = $1)
   )`;

const counts = statement(
  "count_known_differences",
  `WITH ${KNOWN} SELECT kind, count(*) FILTER (WHERE NOT is_noticed)::int AS found, count(*) FILTER (WHERE is_noticed)::int AS noticed,
     count(*) FILTER (WHERE CASE kind WHEN 'unknown_here' THEN detail ? 'installation'
       WHEN 'orphan_at_backend' THEN detail->'isUnlisted' = 'true' ELSE true END)::int AS "canBeFixed", min(since) AS since
   FROM known GROUP BY kind`,
);

export interface KnownKind {
  kind: Kind;
  found: number;
  noticed: number;
  /** Of those named, what the cure could be carried out for. */
  canBeFixed: number;
  since: Date;
}

/** `id` null: nothing was compared, and only what the service noticed by itself is known. */
export const countKnown = (db: Database, id: number | null) => db.readWhole<KnownKind>(counts, [id]);

/** So many of a kind are shown on the page. */
export const FIRST_OF_A_KIND = 10;

const firsts = statement(
  "first_known_differences",
  `WITH ${KNOWN}, placed AS (SELECT *, row_number() OVER (PARTITION BY kind ORDER BY since, uuid) AS place FROM known)
   SELECT k.uuid, k.kind, k.since, k.ours, k.theirs, r.uuid IS NOT NULL AS "isOurs",
     coalesce(r.name, k.detail->'installation'->>'name') AS name, coalesce(nullif(r.plan, ''), k.detail->'installation'->>'plan') AS plan,
     coalesce(r.app_name, k.detail->'installation'->'app'->>'name') AS app
   FROM placed k LEFT JOIN resources r ON r.uuid = k.uuid WHERE k.place <= ${FIRST_OF_A_KIND} ORDER BY k.kind, k.place`,
);

export interface KnownDifference extends Pick<Found, "uuid" | "kind" | "ours" | "theirs"> {
  since: Date;
  /** We have a row of it. */
  isOurs: boolean;
  name: string | null;
  plan: string | null;
  app: string | null;
}

export const firstKnown = (db: Database, id: number | null) => db.readWhole<KnownDifference>(firsts, [id]);

const ofKind = statement(
  "known_differences_of_kind",
  `WITH ${KNOWN} SELECT uuid, kind, ours, theirs, detail FROM known WHERE kind = $2 ORDER BY uuid LIMIT ${MOST_NAMED}`,
);

/** As a comparison found them, to be dealt with. */
export async function knownOfKind(db: Database, id: number | null, kind: Kind): Promise<Found[]> {
  const rows = await db.readWhole<Found & { detail: object }>(ofKind, [id, kind]);
  return rows.map(({ detail, ...found }) => ({ ...found, ...detail }));
}

const ofComparison = statement(
  "findings_of_comparison",
  `SELECT uuid, kind, ours, theirs, detail FROM ledger_findings WHERE comparison = $1 ORDER BY kind, uuid`,
);

/** What one found that goes on. */
export async function findingsOf(db: Database, id: number): Promise<Found[]> {
  const rows = await db.readWhole<Found & { detail: object }>(ofComparison, [id]);
  return rows.map(({ detail, ...found }) => ({ ...found, ...detail }));
}
