import { IS_RECOVERABLE } from "../credentials/grant-store.ts";
import { GRANT_SECONDS } from "../credentials/states.ts";
import type { ClientSecret, Credential, Step as StoredStep } from "../database/client/client.ts";
import type { Database } from "../database/database.ts";
import { columnsOf, oneRow, type Queryable, type RowOf, statement } from "../database/statement.ts";
import { whereGone } from "../ledgers/store.ts";
import { RESOURCE_COLUMNS, type ResourceRow } from "../resources/rows.ts";
import type { ResourceState } from "../resources/states.ts";
import {
  IS_VENDOR_CALL,
  LANE_NAMES,
  type LaneName,
  type Step,
  type StepKind,
  stepOf,
  VENDOR_CALL_KINDS,
  whereAnnouncing,
  whereIn,
  whereIndependent,
  whereTurn,
} from "../resources/step-kinds.ts";
import { NOTICED } from "../work/lease.ts";
import { ALARM_AFTER_ATTEMPTS, HAS_FAILED, IS_LATE, STEP_COLUMNS, type StepRow } from "../work/queue.ts";
import { SLOW } from "./list-store.ts";
import { MOST_COUNTED } from "./wording.ts";

// What operators' actions read of many resources, and the little that they write besides what the rooms themselves do.
// The statements use the conditions of the queues, the database's clock, and partial indexes, whose conditions must stand
// in the text. They read a bounded number of rows, or more in the time that `readWhole` has. Prisma does the rest.

/** A resource, as far as operators' work on its credentials and config vars depends on it. */
export interface FoundResource extends Pick<Credential, "uuid" | "reason" | "lastError"> {
  state: ResourceState;
  /** The state of its credential. */
  credential: string;
  hasRefreshToken: boolean;
  /** It may get another grant. */
  isRecoverable: boolean;
}

const CREDENTIAL = columnsOf<Credential>()("c", "uuid", "reason", "lastError");
type FoundRow = RowOf<typeof CREDENTIAL> &
  Pick<FoundResource, "state" | "credential" | "hasRefreshToken" | "isRecoverable">;

const RESOURCES = `SELECT ${CREDENTIAL}, r.state, c.state AS credential, ${IS_RECOVERABLE} AS "isRecoverable",
     c.sealed_refresh_token IS NOT NULL AND NOT (c.state = 'quarantined' AND c.sealed_grant_code IS NOT NULL) AS "hasRefreshToken"
   FROM credentials c JOIN resources r USING (uuid)`;
const namedResources = statement<{ uuids: readonly string[] }, FoundRow>("find_named_resources").sql(
  `${RESOURCES} WHERE c.uuid = ANY(:uuids::uuid[])`,
);
// Read at once: a hundred bytes for each resource.
const allResources = statement<object, FoundRow>("find_all_resources").sql(
  `${RESOURCES} WHERE c.state <> 'erased' ORDER BY c.uuid`,
);

/** All of them: but for tombstones. */
export const findResources = (db: Database, uuids: readonly string[] | "all"): Promise<FoundResource[]> =>
  uuids === "all" ? db.readWhole(allResources) : db.query(namedResources, { uuids });

const sealedRows = statement<object, { count: number }>("count_sealed").sql(
  `SELECT (SELECT count(*) FROM resources) + (SELECT count(*) FROM credentials) AS count`,
);

export const countSealed = async (db: Database): Promise<number> =>
  (await db.readWhole(sealedRows))[0]!.count;

/** The client secrets, the oldest first. */
export async function storedSecrets(db: Database) {
  const { clientSecret } = await db.prisma();
  return clientSecret.findMany({
    select: { version: true, sealedSecret: true },
    orderBy: { version: "asc" },
  });
}

export async function deleteSecrets(db: Database, versions: number[]): Promise<void> {
  const { clientSecret } = await db.prisma();
  await clientSecret.deleteMany({ where: { version: { in: versions } } });
}

/** Replaces `old`; returns `false` if something else is stored by now. `hash`: by the key that made `fresh`. */
export async function storeResealed(
  db: Database,
  version: number,
  old: ClientSecret["sealedSecret"],
  fresh: Pick<ClientSecret, "sealedSecret" | "hash">,
): Promise<boolean> {
  const { clientSecret } = await db.prisma();
  return (await clientSecret.updateMany({ where: { version, sealedSecret: old }, data: fresh })).count > 0;
}

/** How many rows there are, and the uuids of some. */
type Counted = { count: number; some: string[] };

// The more often a step has failed, the later it is due; one that the vendor's service still works on is mostly due late
// as well. So a bounded part, read from that end of each lane's index, holds the steps to be found.
const latestOf = (lane: LaneName) => `(SELECT uuid, kind, attempts, last_error, detail, created_at FROM steps
     WHERE due_at IS NOT NULL AND ${whereIn(lane)}
       -- Passes over what was not tried yet, such as the retiring of credentials in two hours.
       AND (attempts > 0 OR detail ? 'said') ORDER BY due_at DESC LIMIT ${MOST_COUNTED})`;
/** Of the rows of `found`, five resources; one may have several rows. */
const someOf = (first: string) =>
  `coalesce((SELECT array_agg(uuid) FROM (SELECT uuid::text FROM found GROUP BY uuid ORDER BY ${first}, uuid LIMIT 5) few), '{}')`;
type OfSteps = Counted & { resources: number; kinds: string[] };
const stuck = statement<object, OfSteps & { seconds: number }>("stuck_steps").sql(
  `WITH found AS (
     SELECT * FROM (${LANE_NAMES.map(latestOf).join(" UNION ALL ")}) latest
     WHERE (attempts >= ${ALARM_AFTER_ATTEMPTS} AND last_error IS NOT NULL) OR ${IS_LATE}
   )
   SELECT count(*)::int AS count, count(DISTINCT uuid)::int AS resources, coalesce(array_agg(DISTINCT kind), '{}') AS kinds,
     ${someOf("max(attempts) DESC")} AS some,
     coalesce(extract(epoch FROM now() - min(coalesce((detail->>'dueSince')::timestamptz, created_at))), 0)::float8 AS seconds
   FROM found`,
);

/**
 * The put-off steps that have raised their alarm; `some`: resources that have one, those with the most tries first;
 * `seconds`: since the first of them fell due.
 */
export const stuckSteps = async (db: Queryable) => (await oneRow(db, stuck))!;

const rights = statement<object, { areMore: boolean }>("rights_on_history").sql(
  `SELECT has_table_privilege(c.oid, 'DELETE') AND NOT pg_has_role(c.relowner, 'USAGE') AS "areMore"
   FROM pg_class c WHERE c.oid = to_regclass('public.operator_actions')`,
);

/** The service's role does not own the tables, and may still delete from the audit trail. */
export const hasMoreRights = async (db: Queryable): Promise<boolean> =>
  (await oneRow(db, rights))?.areMore === true;

const endings = statement<object, Counted & { since: Date | null }>("count_unrefreshable").sql(
  `SELECT count(*)::int AS count, coalesce((array_agg(c.uuid::text ORDER BY c.uuid))[1:5], '{}') AS some, min(issued_at) AS since
   FROM (SELECT uuid, issued_at FROM credentials
     WHERE state = 'active' AND due_at IS NULL AND sealed_refresh_token IS NULL ORDER BY uuid LIMIT ${MOST_COUNTED}) c
   JOIN resources r USING (uuid) WHERE r.state IN ('provisioning', 'provisioned')`,
);
/** Active resources without a refresh token, whose access ends with the token they have; `some`: the first ones; `since`: when the first of those tokens was issued. */
export const unrefreshable = async (db: Queryable) => (await oneRow(db, endings))!;

/** How many fail, some of them, and the last answer to the first. */
type Failing = Counted & Pick<Credential, "lastError">;

// Tokens that the platform refuses during a wave of refusals stay active, but the operator must know. They may be
// millions, so a bounded part is read.
const failing = statement<object, FailingTokens>("failing_tokens").sql(
  `SELECT rejected_at IS NOT NULL AS "isRefused", count(*)::int AS count, extract(epoch FROM min(expires_at) - now())::float8 AS "leftSeconds",
     extract(epoch FROM now() - min(rejected_at))::float8 AS "refusedSeconds",
     (array_agg(last_error ORDER BY expires_at) FILTER (WHERE last_error IS NOT NULL))[1] AS "lastError",
     (array_agg(uuid::text ORDER BY expires_at, uuid))[1:5] AS some
   FROM ((SELECT uuid, expires_at, last_error, rejected_at FROM credentials
     WHERE state = 'active' AND (attempts >= 3 OR rejected_at < now() - interval '1 minute')
       AND (attempts >= 3 OR rejected_at IS NOT NULL) LIMIT ${MOST_COUNTED})
   -- Those that failed once or twice are tried again soon, so they are among what is due next.
   UNION (SELECT uuid, expires_at, last_error, rejected_at FROM (SELECT * FROM credentials
       WHERE state IN ('active', 'needs_reauth', 'signed_in') ORDER BY due_at LIMIT ${MOST_COUNTED}) next
     WHERE state = 'active' AND attempts > 0 AND last_error IS NOT NULL)) few WHERE NOT ${whereGone("few.uuid")} GROUP BY 1`,
);

/** Tokens that the platform refuses (`isRefused`), or whose refresh fails. */
export interface FailingTokens extends Failing {
  isRefused: boolean;
  /** How long the first access token has left. */
  leftSeconds: number;
  /** Since the first was refused; null: none was. */
  refusedSeconds: number | null;
}

/** A row for each of the two kinds that there is. */
export const failingTokens = (db: Queryable) => db.query(failing);

const failingExchanges = statement<object, Failing & { ageSeconds: number }>("failing_grants").sql(
  `SELECT count(*)::int AS count, extract(epoch FROM now() - min(grant_deadline))::float8 + ${GRANT_SECONDS} AS "ageSeconds",
     (array_agg(last_error ORDER BY grant_deadline))[1] AS "lastError",
     coalesce((array_agg(uuid::text ORDER BY grant_deadline, uuid))[1:5], '{}') AS some
   FROM (SELECT uuid, grant_deadline, last_error FROM credentials WHERE state = 'grant_pending' AND attempts > 0 AND last_error IS NOT NULL
       -- A code that the platform refuses in its first seconds is only early.
       AND (rejected_at IS NULL OR grant_deadline < now() + interval '${GRANT_SECONDS - 10} seconds')
     ORDER BY grant_deadline LIMIT ${MOST_COUNTED}) few`,
);

/** Grants whose exchange failed so far; `ageSeconds`: how long ago the first one came. */
export const failingGrants = async (db: Queryable) => (await oneRow(db, failingExchanges))!;

const kinds = VENDOR_CALL_KINDS.map((kind) => `('${kind}')`).join();
// The same work as that of the metrics `addon_your_service_failing` and `…_under_way`, but that a call has a while to end.
const trouble = statement<object, Trouble>("trouble_of_functions").sql(
  `SELECT kind, failed AS "isFailing", count(*)::int AS count,
     greatest(extract(epoch FROM now() - min(since)), 0)::float8 AS seconds, array_agg(DISTINCT plan ORDER BY plan) AS plans,
     (array_agg(uuid::text ORDER BY since, uuid))[1:5] AS some, (array_agg(last_error ORDER BY since DESC))[1] AS "lastError"
   FROM (VALUES ${kinds}) named(kind) CROSS JOIN LATERAL (
     SELECT s.uuid, coalesce(s.detail->>'plan', r.plan) AS plan, s.last_error, ${HAS_FAILED} AS failed,
       CASE WHEN ${HAS_FAILED} THEN coalesce((s.detail->>'dueSince')::timestamptz, s.due_at) ELSE s.due_at END AS since
     FROM (SELECT * FROM steps s WHERE s.kind = named.kind AND (leased_until IS NOT NULL OR last_error IS NOT NULL)
       AND NOT ${whereAnnouncing("s")} ORDER BY due_at LIMIT ${MOST_COUNTED}) s JOIN resources r USING (uuid)
     WHERE ${HAS_FAILED} OR (s.leased_until > now() AND s.attempts > 0)
   ) work WHERE failed OR since < now() - ${SLOW} GROUP BY kind, failed ORDER BY kind, failed DESC`,
);

/** Resources for which a function does not end: it fails, or it was called a while ago; `some`: the first five. */
export interface Trouble extends Counted, Pick<StoredStep, "lastError"> {
  kind: StepKind;
  isFailing: boolean;
  /** Since when the first of them is late. */
  seconds: number;
  plans: string[];
}

export const troubleOfFunctions = (db: Queryable) => db.query(trouble);

type FailingSteps = OfSteps & Pick<Trouble, "seconds" | "lastError">;

const atPlatform = statement<object, FailingSteps>("failing_at_platform").sql(
  `WITH found AS (
     SELECT kind, uuid, due_at, detail, last_error FROM steps s
     WHERE last_error IS NOT NULL AND (NOT ${IS_VENDOR_CALL} OR ${whereAnnouncing("s")} OR detail ? 'isOfPlatform')
       -- What is stuck has its own alarm.
       AND attempts < ${ALARM_AFTER_ATTEMPTS} LIMIT ${MOST_COUNTED}
   )
   SELECT count(*)::int AS count, count(DISTINCT uuid)::int AS resources, coalesce(array_agg(DISTINCT kind), '{}') AS kinds,
     greatest(extract(epoch FROM now() - min(coalesce((detail->>'dueSince')::timestamptz, due_at))), 0)::float8 AS seconds,
     ${someOf("min(due_at)")} AS some, (array_agg(last_error ORDER BY due_at))[1] AS "lastError"
   FROM found`,
);

/** Steps whose last call failed at the platform, and that are not stuck yet; `some`: resources that have one. */
export const failingAtPlatform = async (db: Queryable) => (await oneRow(db, atPlatform))!;

// What an operator may do to the steps that call the vendor's functions. `inTrouble`: of all steps, only these.
const IS_CALLED = `s.leased_until > now() AND s.due_at <= now() AND s.attempts > 0`;
const hand = (
  event: string,
  { set, where, inTrouble = "true" }: Record<"set" | "where", string> & { inTrouble?: string },
) => ({
  take: statement<{ uuid: string; isNamed: boolean }, StepRow & ResourceRow>(`take_${event}`).sql(
    `WITH picked AS (
     SELECT s.id, s.leased_until FROM steps s
     WHERE s.uuid = :uuid AND ${IS_VENDOR_CALL} AND ${where}
       -- Of a resource that was named, also what is in no trouble.
       AND (:isNamed OR ${inTrouble})
     FOR UPDATE
   ), taken AS (
     UPDATE steps s SET ${set} FROM picked p, resources r
     WHERE s.id = p.id AND r.uuid = s.uuid RETURNING ${STEP_COLUMNS}, ${RESOURCE_COLUMNS}
   ), behind AS (
     -- The process whose lease was taken away notices that at its next extension. Until then the steps behind wait, so
     -- that no other call is made for its resource.
     UPDATE steps s SET leased_until = ${NOTICED}, due_at = greatest(s.due_at, ${NOTICED}) FROM picked p
     WHERE s.uuid = :uuid AND s.id > p.id AND p.leased_until > now() AND NOT ${whereIndependent("s")} AND s.due_at IS NOT NULL
       AND (s.leased_until IS NULL OR s.leased_until <= now()) AND s.id NOT IN (SELECT id FROM picked)
   ), noted AS (
     INSERT INTO events (uuid, type, detail) SELECT :uuid::uuid, '${event}', jsonb_build_object('step', kind) FROM taken
   )
   SELECT * FROM taken`,
  ),
  find: statement<object, Pick<StoredStep, "uuid">>(`find_${event}`).sql(
    `SELECT DISTINCT s.uuid FROM steps s WHERE ${IS_VENDOR_CALL} AND ${where} AND ${inTrouble} ORDER BY 1`,
  ),
});
const HANDS = {
  step_retried: hand("step_retried", {
    set: "due_at = now()",
    where: `s.due_at > now() AND (s.leased_until IS NULL OR s.leased_until <= now())
       -- What was never tried and falls due later, such as the end of old credentials, is left alone.
       AND (s.attempts > 0 OR s.detail ? 'said')`,
  }),
  step_cut_off: hand("step_cut_off", {
    set: `lease = s.lease + 1, leased_until = ${NOTICED}, due_at = ${NOTICED}`,
    where: IS_CALLED,
  }),
  step_given_up: hand("step_given_up", {
    set: "lease = s.lease + 1",
    where: `(s.due_at IS NULL OR s.due_at <= now() OR s.attempts > 0 OR s.detail ? 'said')
       -- What waits behind another step is left alone.
       AND ${whereTurn("s")}
       -- A request may still wait for a plan change that is not accepted: it would begin another one.
       AND (s.kind <> 'change_plan' OR s.detail ? 'isAccepted' OR s.created_at < now() - interval '10 seconds')`,
    inTrouble: `NOT ${whereAnnouncing("s")} AND (${HAS_FAILED} OR (${IS_CALLED} AND s.due_at < now() - interval '1 minute'))`,
  }),
};
export type Hand = keyof typeof HANDS;

/** Takes steps into an operator's hand. Not to be tried again: what is next by then would be taken too. */
export const takeSteps = async (
  db: Queryable,
  { hand, ...which }: { uuid: string; hand: Hand; isNamed: boolean },
): Promise<Step[]> => {
  const claimedAtMs = Date.now();
  return (await db.query(HANDS[hand].take, which)).map((row) => stepOf({ ...row, claimedAtMs }));
};

/** The resources that have steps in trouble which `takeSteps` would take. */
export const resourcesToTake = async (db: Database, hand: Hand): Promise<string[]> =>
  (await db.readWhole(HANDS[hand].find)).map(({ uuid }) => uuid);
