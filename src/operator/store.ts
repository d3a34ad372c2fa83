import { statement, type Database, type Queryable } from "../database/database.ts";
import { IS_RECOVERABLE } from "../credentials/lost-store.ts";
import { GRANT_SECONDS } from "../credentials/states.ts";
import { whereGone } from "../ledgers/store.ts";
import type { ResourceState } from "../resources/states.ts";
import {
  ALARM_AFTER_ATTEMPTS,
  HAS_FAILED,
  IS_LATE,
  STEP_COLUMNS,
  stepsOf,
  UNANSWERED,
  whereBeside,
  whereTurn,
  type StepRow,
} from "../work/queue.ts";
import { IS_OF_YOU, NOTICED, whereAnnouncing, YOUR_KINDS, type Step, type StepKind } from "../work/step.ts";
import { MOST_COUNTED } from "./wording.ts";

// What operators' actions read of many resources, and the little that they write besides what the rooms themselves do.

/** A resource, as far as operators' work on its credentials and config vars depends on it. */
export interface FoundResource {
  uuid: string;
  state: ResourceState;
  /** The state of its credential, and why. */
  credential: string;
  reason: string | null;
  lastError: string | null;
  hasRefreshToken: boolean;
  /** It may get another grant. */
  isRecoverable: boolean;
}

const RESOURCES = `SELECT c.uuid, r.state, c.state AS credential, c.reason, c.last_error AS "lastError",
     ${IS_RECOVERABLE} AS "isRecoverable",
     c.sealed_refresh_token IS NOT NULL AND NOT (c.state = 'quarantined' AND c.sealed_grant_code IS NOT NULL) AS "hasRefreshToken"
   FROM credentials c JOIN resources r USING (uuid)`;
const namedResources = statement("find_named_resources", `${RESOURCES} WHERE c.uuid = ANY($1::uuid[])`);
// Read at once: a hundred bytes for each resource.
const allResources = statement(
  "find_all_resources",
  `${RESOURCES} WHERE c.state <> 'erased' ORDER BY c.uuid`,
);

/** All of them: but for tombstones. */
export const findResources = (db: Database, uuids: readonly string[] | "all"): Promise<FoundResource[]> =>
  uuids === "all" ? db.readWhole(allResources) : db.query(namedResources, [uuids]);

const sealedRows = statement(
  "count_sealed",
  `SELECT (SELECT count(*) FROM resources) + (SELECT count(*) FROM credentials) AS count`,
);

export const countSealed = async (db: Database): Promise<number> =>
  (await db.readWhole<{ count: number }>(sealedRows))[0]!.count;

// The more often a step has failed, the later it is due; one that the vendor's service still works on is mostly due late
// as well. So a bounded part, read from that end of the index, holds the steps to be found; what was not tried yet, such
// as retiring credentials in two hours, is passed over.
const stuck = statement(
  "stuck_steps",
  `SELECT count(*)::int AS count, coalesce(array_agg(DISTINCT kind), '{}') AS kinds,
     coalesce((array_agg(uuid::text ORDER BY attempts DESC, uuid))[1:3], '{}') AS some
   FROM (SELECT uuid, kind, attempts, last_error, detail FROM steps
     WHERE due_at IS NOT NULL AND (attempts > 0 OR detail ? 'said') ORDER BY due_at DESC LIMIT ${MOST_COUNTED}) latest
   WHERE (attempts >= ${ALARM_AFTER_ATTEMPTS} AND last_error IS NOT NULL)
     OR ${IS_LATE}`,
);

/** The put-off steps that have raised their alarm; `some`: resources that have one, those with the most tries first. */
export const stuckSteps = async (db: Queryable) =>
  (await db.query<{ count: number; kinds: string[]; some: string[] }>(stuck))[0]!;

const rights = statement(
  "rights_on_history",
  `SELECT has_table_privilege(c.oid, 'DELETE') AND NOT pg_has_role(c.relowner, 'USAGE') AS "areMore"
   FROM pg_class c WHERE c.oid = to_regclass('public.operator_actions')`,
);

/** The service's role does not own the tables, and may still delete from the audit trail. */
export const hasMoreRights = async (db: Queryable): Promise<boolean> =>
  (await db.query<{ areMore: boolean }>(rights))[0]?.areMore === true;

const endings = statement(
  "count_unrefreshable",
  `SELECT count(*)::int AS count, coalesce((array_agg(c.uuid::text ORDER BY c.uuid))[1:3], '{}') AS some
   FROM (SELECT uuid FROM credentials
     WHERE state = 'active' AND due_at IS NULL AND sealed_refresh_token IS NULL ORDER BY uuid LIMIT ${MOST_COUNTED}) c
   JOIN resources r USING (uuid) WHERE r.state IN ('provisioning', 'provisioned')`,
);
/** Active resources without a refresh token, whose access ends with the token they have; `some`: the first ones. */
export const unrefreshable = async (db: Queryable) =>
  (await db.query<{ count: number; some: string[] }>(endings))[0]!;

export const LIST_SIZE = 100;

// Planned for its values, so that a condition whose value is null costs nothing and a rare state of credentials is found
// by its partial index. A search reads all resources: an index for it would have to be updated by each provision. The
// place of the last resource is read here, because a Date of JavaScript lacks its microseconds.
const list = statement(
  "list_resources",
  `SELECT r.uuid FROM resources r JOIN credentials c USING (uuid)
   WHERE (r.created_at, r.uuid) < (
       CASE WHEN $1::uuid IS NULL THEN 'infinity' ELSE (SELECT created_at FROM resources WHERE uuid = $1) END,
       coalesce($1::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
     AND ($2::text IS NULL OR r.state = $2) AND ($3::text IS NULL OR c.state = $3)
     AND ($4::text IS NULL OR r.uuid::text ^@ lower($4) OR r.name ^@ $4 OR r.app_name ^@ $4
       OR $4 IN (r.plan, r.region) OR r.app_id::text = lower($4))
   ORDER BY r.created_at DESC, r.uuid DESC LIMIT ${LIST_SIZE + 1}`,
);

/** Of the resources that come after one in the list, the newest first, those wanted; one more than a page has. */
export async function listedUuids(
  db: Database,
  wanted: { after: string | null; state: string | null; credential: string | null; text: string | null },
): Promise<string[]> {
  const { after, state, credential, text } = wanted;
  const rows = await db.readWhole<{ uuid: string }>(list, [after, state, credential, text]);
  return rows.map(({ uuid }) => uuid);
}

// Tokens that the platform refuses during a wave of refusals stay active, but the operator must know. They may be
// millions, so a bounded part is read; of those that failed once or twice, which are tried again soon, what is due next.
const failing = statement(
  "failing_tokens",
  `SELECT count(*)::int AS count, extract(epoch FROM min(expires_at) - now())::float8 AS "leftSeconds",
     (array_agg(last_error ORDER BY expires_at) FILTER (WHERE last_error IS NOT NULL))[1] AS "lastError"
   FROM ((SELECT uuid, expires_at, last_error FROM credentials
     WHERE state = 'active' AND (attempts >= 3 OR rejected_at < now() - interval '1 minute')
       AND (attempts >= 3 OR rejected_at IS NOT NULL) LIMIT ${MOST_COUNTED})
   UNION (SELECT uuid, expires_at, last_error FROM (SELECT * FROM credentials
       WHERE state IN ('active', 'needs_reauth', 'signed_in') ORDER BY due_at LIMIT ${MOST_COUNTED}) next
     WHERE state = 'active' AND attempts > 0 AND last_error IS NOT NULL)) few WHERE NOT ${whereGone("few.uuid")}`,
);

/** Tokens whose refresh fails: how many, how long the first one has left, and the last answer to it. */
export const failingTokens = async (db: Queryable) =>
  (await db.query<{ count: number; leftSeconds: number; lastError: string | null }>(failing))[0]!;

// A code that the platform refuses in its first seconds is only early.
const failingExchanges = statement(
  "failing_grants",
  `SELECT count(*)::int AS count, extract(epoch FROM now() - min(grant_deadline))::float8 + ${GRANT_SECONDS} AS "ageSeconds",
     (array_agg(last_error ORDER BY grant_deadline))[1] AS "lastError"
   FROM (SELECT grant_deadline, last_error FROM credentials WHERE state = 'grant_pending' AND attempts > 0 AND last_error IS NOT NULL
       AND (rejected_at IS NULL OR grant_deadline < now() + interval '${GRANT_SECONDS - 10} seconds')
     ORDER BY grant_deadline LIMIT ${MOST_COUNTED}) few`,
);

/** Grants whose exchange failed so far: how many, how long ago the first one came, and the last answer to it. */
export const failingGrants = async (db: Queryable) =>
  (await db.query<{ count: number; ageSeconds: number; lastError: string }>(failingExchanges))[0]!;

/** A call of a function that goes on for longer than this hangs, or is slow. */
const SLOW = "interval '10 seconds'";
const kinds = YOUR_KINDS.map((kind) => `('${kind}')`).join();
// The same work as that of the metrics `addon_your_service_failing` and `…_under_way`, but that a call has a while to end.
const trouble = statement(
  "trouble_of_functions",
  `SELECT kind, failed AS "isFailing", count(*)::int AS count,
     greatest(extract(epoch FROM now() - min(since)), 0)::float8 AS seconds, array_agg(DISTINCT plan ORDER BY plan) AS plans,
     (array_agg(uuid::text ORDER BY since, uuid))[1:5] AS some, (array_agg(last_error ORDER BY since DESC))[1] AS "lastError"
   FROM (VALUES ${kinds}) named(kind) CROSS JOIN LATERAL (
     SELECT s.uuid, coalesce(s.detail->>'plan', r.plan) AS plan, s.last_error, ${HAS_FAILED} AS failed,
       CASE WHEN ${HAS_FAILED} THEN coalesce((s.detail->>'dueSince')::timestamptz, s.due_at) ELSE s.due_at END AS since
     FROM (SELECT * FROM steps s WHERE s.kind = named.kind AND (leased_until IS NOT NULL OR last_error IS NOT NULL)
       AND NOT ${whereAnnouncing("s")} ORDER BY due_at LIMIT ${MOST_COUNTED}) s JOIN resources r USING (uuid)
     WHERE ${HAS_FAILED} OR (s.leased_until > now() AND s.attempts > 0)
     UNION ALL SELECT u.uuid, r.plan, NULL, false, u.created_at
       FROM (${UNANSWERED} LIMIT 1000) u JOIN resources r USING (uuid) WHERE named.kind = 'provision'
   ) work WHERE failed OR since < now() - ${SLOW} GROUP BY kind, failed ORDER BY kind, failed DESC`,
);

/** Resources for which a function does not end: it fails, or it was called a while ago. */
export interface Trouble {
  kind: StepKind;
  isFailing: boolean;
  count: number;
  /** Since when the first of them is late. */
  seconds: number;
  plans: string[];
  /** The first five. */
  some: string[];
  lastError: string | null;
}

export const troubleOfFunctions = (db: Queryable) => db.query<Trouble>(trouble);

// What is stuck has its own alarm.
const atPlatform = statement(
  "failing_at_platform",
  `SELECT count(*)::int AS count, coalesce(array_agg(DISTINCT kind), '{}') AS kinds,
     greatest(extract(epoch FROM now() - min(coalesce((detail->>'dueSince')::timestamptz, due_at))), 0)::float8 AS seconds,
     coalesce((array_agg(uuid::text ORDER BY due_at, uuid))[1:3], '{}') AS some, (array_agg(last_error ORDER BY due_at))[1] AS "lastError"
   FROM (SELECT kind, uuid, due_at, detail, last_error FROM steps s
     WHERE last_error IS NOT NULL AND (NOT ${IS_OF_YOU} OR ${whereAnnouncing("s")} OR detail ? 'isOfPlatform')
       AND attempts < ${ALARM_AFTER_ATTEMPTS} LIMIT ${MOST_COUNTED}) few`,
);

/** Steps whose last call failed at the platform, and that are not stuck yet; `some`: resources that have one. */
export const failingAtPlatform = async (db: Queryable) =>
  (
    await db.query<Pick<Trouble, "count" | "seconds" | "some" | "lastError"> & { kinds: string[] }>(
      atPlatform,
    )
  )[0]!;

// What an operator may do to the steps that call the vendor's functions. What was never tried and falls due later, such
// as the end of old credentials, is left alone; so is, to be given up, what waits behind another step. A step of which the
// lease was taken away is noticed by its process at the next extension: until then no other call is made of its resource.
// A request may still wait for a plan change that is not accepted: it would begin another one. `inTrouble`: of all
// steps, only these; one that waits for its turn is not. $2: of a resource that was named, also what is in no trouble.
const IS_CALLED = `s.leased_until > now() AND s.due_at <= now() AND s.attempts > 0`;
const hand = (
  event: string,
  { set, where, inTrouble = "true" }: Record<"set" | "where", string> & { inTrouble?: string },
) => ({
  take: statement(
    `take_${event}`,
    `WITH picked AS (
     SELECT s.id, s.leased_until FROM steps s
     WHERE s.uuid = $1 AND ${IS_OF_YOU} AND ${where} AND ($2 OR ${inTrouble})
     FOR UPDATE
   ), taken AS (
     UPDATE steps s SET ${set} FROM picked p, resources r
     WHERE s.id = p.id AND r.uuid = s.uuid RETURNING ${STEP_COLUMNS}
   ), behind AS (
     UPDATE steps s SET leased_until = ${NOTICED}, due_at = greatest(s.due_at, ${NOTICED}) FROM picked p
     WHERE s.uuid = $1 AND s.id > p.id AND p.leased_until > now() AND NOT ${whereBeside("s")} AND s.due_at IS NOT NULL
       AND (s.leased_until IS NULL OR s.leased_until <= now()) AND s.id NOT IN (SELECT id FROM picked)
   ), noted AS (
     INSERT INTO events (uuid, type, detail) SELECT uuid, '${event}', jsonb_build_object('step', kind) FROM taken
   )
   SELECT * FROM taken`,
  ),
  find: statement(
    `find_${event}`,
    `SELECT DISTINCT s.uuid FROM steps s WHERE ${IS_OF_YOU} AND ${where} AND ${inTrouble} ORDER BY 1`,
  ),
});
const HANDS = {
  step_retried: hand("step_retried", {
    set: "due_at = now()",
    where: `s.due_at > now() AND (s.attempts > 0 OR s.detail ? 'said') AND (s.leased_until IS NULL OR s.leased_until <= now())`,
  }),
  step_cut_off: hand("step_cut_off", {
    set: `lease = s.lease + 1, leased_until = ${NOTICED}, due_at = ${NOTICED}`,
    where: IS_CALLED,
  }),
  step_given_up: hand("step_given_up", {
    set: "lease = s.lease + 1",
    where: `(s.due_at IS NULL OR s.due_at <= now() OR s.attempts > 0 OR s.detail ? 'said') AND ${whereTurn("s")}
     AND (s.kind <> 'change_plan' OR s.detail ? 'isAccepted' OR s.created_at < now() - interval '10 seconds')`,
    inTrouble: `NOT ${whereAnnouncing("s")} AND (${HAS_FAILED} OR (${IS_CALLED} AND s.due_at < now() - interval '1 minute'))`,
  }),
};
export type Hand = keyof typeof HANDS;

/** Takes steps into an operator's hand. Not to be tried again: what is next by then would be taken too. */
export async function takeSteps(
  db: Queryable,
  { uuid, hand, isNamed }: { uuid: string; hand: Hand; isNamed: boolean },
): Promise<Step[]> {
  return stepsOf(await db.query<StepRow>(HANDS[hand].take, [uuid, isNamed]));
}

/** The resources that have steps in trouble which `takeSteps` would take. */
export const resourcesToTake = async (db: Database, hand: Hand): Promise<string[]> =>
  (await db.readWhole<{ uuid: string }>(HANDS[hand].find)).map(({ uuid }) => uuid);
