import type { LedgerMark } from "../database/client/client.ts";
import type { Database } from "../database/database.ts";
import { anyRow, type Queryable, statement } from "../database/statement.ts";
import { whereCan } from "../resources/states.ts";

// Where the platform's ledger and ours were seen to differ: the marks. Each stays until the difference ends.

export type MarkKind = "gone_at_platform" | "plan_differs" | "unknown_resource";

/** SQL condition: the platform says that it no longer has the add-on of this uuid, so its refreshes pause. */
export const whereGone = (uuid: string): string =>
  `EXISTS (SELECT FROM ledger_marks mark WHERE mark.uuid = ${uuid} AND mark.kind = 'gone_at_platform')`;

/** SQL: when the token pair of such an add-on is next refreshed. */
export const PAUSED = "now() + interval '1 day'";

const IS_ALIVE = whereCan("change_plan");
const HAS_PAIR = `c.state IN ('active', 'needs_reauth') AND c.sealed_refresh_token IS NOT NULL`;

type OfAddon = Pick<LedgerMark, "uuid">;

// Not while its app is looked for already.
const doubt = statement<OfAddon, OfAddon>("doubt_addon").sql(
  `INSERT INTO steps (uuid, kind, detail, due_at)
   SELECT r.uuid, 'discover', '{"isDoubted": true}', now() FROM resources r WHERE r.uuid = :uuid AND ${IS_ALIVE}
     AND NOT EXISTS (SELECT FROM steps s WHERE s.uuid = r.uuid AND s.kind = 'discover') AND NOT ${whereGone("r.uuid")}
   RETURNING uuid`,
);

/** Has the platform asked soon whether it still has an add-on. False: that is done already, or it is none of ours. */
export const writeDoubt = (db: Queryable, uuid: string) => anyRow(db, doubt, { uuid });

// The resource is locked before its credential, as everywhere.
const markGone = statement<OfAddon, OfAddon>("mark_gone").sql(
  `WITH alive AS (
     SELECT r.uuid FROM resources r WHERE r.uuid = :uuid AND ${IS_ALIVE} FOR SHARE
   ), marked AS (
     INSERT INTO ledger_marks AS m (uuid, kind) SELECT uuid, 'gone_at_platform' FROM alive
     ON CONFLICT (uuid, kind) DO UPDATE SET last_at = now(), times = m.times + 1 RETURNING m.uuid, m.times = 1 AS is_new
   ), paused AS (
     UPDATE credentials c SET due_at = ${PAUSED} FROM marked WHERE c.uuid = marked.uuid AND ${HAS_PAIR}
   ), noted AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'gone_at_platform' FROM marked WHERE is_new
   )
   SELECT uuid FROM marked WHERE is_new`,
);

/** True: that is news. */
export const writeGone = (db: Queryable, uuid: string) => anyRow(db, markGone, { uuid });

const unmarkGone = statement<OfAddon, OfAddon>("unmark_gone").sql(
  `WITH back AS (
     DELETE FROM ledger_marks WHERE uuid = :uuid AND kind = 'gone_at_platform' RETURNING uuid
   ), resumed AS (
     UPDATE credentials c SET due_at = now() FROM back WHERE c.uuid = back.uuid AND ${HAS_PAIR}
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'back_at_platform' FROM back RETURNING uuid`,
);

/** True: it had been marked as gone. */
export const endGone = (db: Queryable, uuid: string) => anyRow(db, unmarkGone, { uuid });

// Marks those it takes as looked at. In the first day each hour: what was a mistake of the platform's ends soon.
const claimGone = statement<Record<never, never>, OfAddon>("claim_gone").sql(
  `UPDATE ledger_marks SET last_at = now() WHERE kind = 'gone_at_platform' AND uuid = ANY(ARRAY(
     SELECT uuid FROM ledger_marks WHERE kind = 'gone_at_platform'
       AND last_at < now() - CASE WHEN first_at > now() - interval '1 day' THEN interval '1 hour' ELSE interval '1 day' END
     ORDER BY last_at LIMIT 4 FOR UPDATE SKIP LOCKED)) RETURNING uuid`,
);

/** A few add-ons that the platform may have again. */
export const takeGone = (db: Queryable) => db.query(claimGone);

/** A request of the platform's about a uuid that it never had provisioned here. */
export interface Unknown {
  uuid: string;
  request: "PUT" | "DELETE";
  /** Of a plan change. */
  plan?: string;
  requestId: string;
}

// `detail`: JSON.
const markUnknown = statement<OfAddon & { detail: string }>("mark_unknown").sql(
  `INSERT INTO ledger_marks AS m (uuid, kind, detail)
   SELECT :uuid::uuid, 'unknown_resource', :detail::jsonb
   WHERE NOT EXISTS (SELECT FROM resources r WHERE r.uuid = :uuid AND r.plan <> '')
   ON CONFLICT (uuid, kind) DO UPDATE SET last_at = now(), times = m.times + 1, detail = m.detail || excluded.detail`,
);

export const writeUnknown = (db: Queryable, { uuid, ...detail }: Unknown) =>
  db.query(markUnknown, { uuid, detail: JSON.stringify(detail) });

/** More in an hour are a wave. */
const WAVE = 10;

export interface Marked {
  kind: MarkKind;
  count: number;
  since: Date;
  /** The first ones. */
  uuids: string[];
  /** Of `unknown_resource`: what the platform asked about the first. */
  request: Unknown["request"] | null;
}

type Alarmed = Marked & { kind: Exclude<MarkKind, "plan_differs"> };

// Another plan raises no alarm; the check-up reports it. Marks that came together are one alarm, which waits until none
// has come for `gatherSeconds`, but at most six times as long. Of a wave, what still comes is an alarm each hour.
const takeUnalarmed = statement<{ gatherSeconds: number }, Alarmed>("take_unalarmed_marks").sql(
  `WITH waiting AS (
     SELECT kind FROM ledger_marks WHERE kind <> 'plan_differs' GROUP BY kind
     HAVING (max(first_at) FILTER (WHERE alarmed_at IS NULL) < now() - make_interval(secs => :gatherSeconds::float8)
         OR min(first_at) FILTER (WHERE alarmed_at IS NULL) < now() - make_interval(secs => :gatherSeconds::float8 * 6))
       AND count(*) FILTER (WHERE alarmed_at > now() - interval '1 hour') < ${WAVE}
   ), taken AS (
     UPDATE ledger_marks m SET alarmed_at = now() FROM waiting WHERE m.kind = waiting.kind AND m.alarmed_at IS NULL
     RETURNING m.kind, m.uuid, m.first_at, m.detail
   )
   SELECT kind, count(*)::int AS count, min(first_at) AS since, (array_agg(uuid::text ORDER BY first_at, uuid))[1:10] AS uuids,
     (array_agg(detail->>'request' ORDER BY first_at, uuid))[1] AS request
   FROM taken GROUP BY kind`,
);

/** Those that have been in no alarm yet and are to be in one now, by kind. A wrong ADDON_ID may mark a million add-ons. */
export const takeForAlarm = (db: Database, gatherSeconds: number) =>
  db.readWhole(takeUnalarmed, { gatherSeconds });

/** SQL condition on a mark `m`: the difference is still there, for all that we know. */
export const IS_CURRENT = `CASE m.kind WHEN 'gone_at_platform'
    THEN EXISTS (SELECT FROM resources r WHERE r.uuid = m.uuid AND ${IS_ALIVE})
    WHEN 'plan_differs' THEN EXISTS (SELECT FROM resources r WHERE r.uuid = m.uuid AND r.plan <> m.detail->>'plan' AND ${IS_ALIVE}
      -- Its plan is not being changed.
      AND NOT EXISTS (SELECT FROM steps s WHERE s.uuid = r.uuid AND s.detail ? 'plan'))
    ELSE NOT EXISTS (SELECT FROM resources r WHERE r.uuid = m.uuid AND r.plan <> '') END`;

// What the platform ended itself needs nobody for long.
const prune = statement("prune_marks").sql(
  `DELETE FROM ledger_marks m WHERE NOT ${IS_CURRENT}
     OR (kind = 'unknown_resource' AND last_at < now() - CASE detail->>'request' WHEN 'DELETE' THEN interval '7 days' ELSE interval '90 days' END)`,
);

export const pruneMarks = (db: Database) => db.readWhole(prune);

/** Forgets what comparisons found about one resource, and that the platform asked about it. `false`: it had not asked. */
export async function forgetAbout(db: Database, uuid: string): Promise<boolean> {
  const { ledgerFinding, ledgerMark } = await db.prisma();
  await ledgerFinding.deleteMany({ where: { uuid } });
  const kind: MarkKind = "unknown_resource";
  return (await ledgerMark.deleteMany({ where: { uuid, kind } })).count > 0;
}

/** The most marks of a kind that are counted. */
const MOST = 10_000;

const found = statement<Record<never, never>, Marked & { living: number }>("found_marks").sql(
  `SELECT kind, count(*)::int AS count, min(first_at) AS since, (array_agg(uuid::text ORDER BY first_at, uuid))[1:5] AS uuids,
     count(*) FILTER (WHERE detail->>'request' = 'PUT')::int AS living, NULL AS request
   FROM (SELECT m.* FROM ledger_marks m WHERE ${IS_CURRENT} LIMIT ${2 * MOST}) m GROUP BY kind ORDER BY kind`,
);

/** `living`: of those unknown, how many the platform has not ended since. */
export const marksByKind = (db: Queryable) => db.query(found);

export interface Mark extends Pick<LedgerMark, "uuid" | "times">, Pick<Marked, "kind" | "since" | "request"> {
  plan: string | null;
}

const list = statement<Record<never, never>, Mark>("list_marks").sql(
  `SELECT m.uuid, m.kind, m.first_at AS since, m.detail->>'request' AS request, m.detail->>'plan' AS plan, m.times
   FROM ledger_marks m WHERE ${IS_CURRENT} ORDER BY m.first_at, m.uuid LIMIT ${MOST}`,
);

/** The oldest first. */
export const listMarks = (db: Database) => db.readWhole(list);

/** SQL for a FROM: the current marks of a kind, for the metrics. */
export const marksOf = (kind: MarkKind): string =>
  `(SELECT m.uuid FROM ledger_marks m WHERE m.kind = '${kind}' AND ${IS_CURRENT} LIMIT ${MOST}) marked`;
