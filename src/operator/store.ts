import { retryWhileUnreachable, type Queryable, statement, type Database } from "../database/database.ts";
import { IS_RECOVERABLE } from "../credentials/queue.ts";
import type { ResourceState } from "../resources/states.ts";
import { ALARM_AFTER_ATTEMPTS, IS_LATE } from "../work/queue.ts";
import { MOST_COUNTED } from "./wording.ts";

// What operators' actions read of many resources, and the little that they write besides what the rooms themselves do:
// above all the audit trail.

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

// Clears what a tombstone still holds about a customer. The row itself stays, so that its uuid can never be used again,
// and so do the types and times of its events.
const clear = statement(
  "clear_tombstone",
  `WITH cleared AS (
     UPDATE resources SET name = NULL, options = '{}', callback_url = NULL, app_id = NULL, app_name = NULL,
       updated_at = now()
     WHERE uuid = $1 AND state = 'deprovisioned' RETURNING uuid
   ), blanked AS (
     UPDATE events e SET detail = '{}' FROM cleared WHERE e.uuid = cleared.uuid AND e.detail <> '{}'
   )
   SELECT uuid FROM cleared`,
);

export const clearTombstone = (db: Queryable, uuid: string) => db.query(clear, [uuid]);

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

export interface Operator {
  /** The name in the audit trail: the account's e-mail; `operator` for the password; for a command, the system's user. */
  name: string;
  /** The platform's id of the account; null for the password. */
  account: string | null;
  /** The client's address, or the host on which a command ran; null if there is no client. */
  address: string | null;
}

export const BY_PASSWORD: Operator = { name: "operator", account: null, address: null };

export interface ActionRequest {
  action: string;
  /** Null if the action is not about one resource. */
  uuid: string | null;
  operator: Operator;
  /** The unique name of the form: a form that is sent twice is one action. */
  form: string;
  requestId: string;
}

/** The message holds no secrets. */
export interface ActionEnd {
  state: "done" | "failed";
  message: string | null;
}

export interface AuditEntry extends Pick<ActionRequest, "action" | "uuid" | "operator"> {
  id: number;
  /** `stopped`: its process ended before the action did. */
  state: "running" | "stopped" | ActionEnd["state"];
  message: string | null;
  done: number;
  total: number;
  startedAt: Date;
  endedAt: Date | null;
}

const ENTRIES_SIZE = 50;
const ENTRIES = `SELECT id, action, uuid, json_build_object('name', operator, 'account', account, 'address', address) AS operator,
     message, done, total, started_at AS "startedAt", ended_at AS "endedAt",
     CASE WHEN state = 'running' AND seen_at < now() - interval '30 seconds' THEN 'stopped' ELSE state END AS state
   FROM operator_actions`;

// Two submissions of one form, in whichever processes they arrive, result in one row: it is new to the request that wrote
// it, also when that one tries again because the acknowledgement was lost.
const begin = statement(
  "begin_operator_action",
  `INSERT INTO operator_actions (action, uuid, form, request_id, operator, account, address)
   VALUES ($1, $2, $3, $4, $5, $6, $7)
   ON CONFLICT (form) DO UPDATE SET form = excluded.form RETURNING id, request_id = $4 AS "isNew"`,
);
const see = statement(
  "note_operator_action",
  `UPDATE operator_actions SET done = $2, total = $3, state = $4::text, message = $5, seen_at = now(),
     ended_at = CASE WHEN $4::text <> 'running' THEN now() END
   WHERE id = $1 AND state = 'running'`,
);
const ofId = statement("operator_action", `${ENTRIES} WHERE id = $1`);
const entries = statement(
  "operator_actions",
  `${ENTRIES} WHERE id < $1 AND ($2::uuid IS NULL OR uuid = $2) ORDER BY id DESC LIMIT ${ENTRIES_SIZE + 1}`,
);

/** Writes the beginning of an action into the audit trail. `isNew` is false if its form was sent before. */
export async function beginAction(
  db: Queryable,
  { action, uuid, operator: { name, account, address }, form, requestId }: ActionRequest,
): Promise<{ id: number; isNew: boolean }> {
  const values = [action, uuid, form, requestId, name, account, address];
  return (await retryWhileUnreachable(() => db.query<{ id: number; isNew: boolean }>(begin, values)))[0]!;
}

const SEEN_EVERY_MS = 1_000;

/** Stores the progress of an action that has begun each second, so that any process can show it; and then its end. */
export function followAction(db: Queryable, id: number) {
  let progress: [done: number, total: number] = [0, 0];
  const store = ({ state, message }: ActionEnd | typeof RUNNING) =>
    db.query(see, [id, ...progress, state, message]);
  const timer = setInterval(() => void store(RUNNING).catch(() => undefined), SEEN_EVERY_MS).unref();
  return {
    onProgress: (done: number, total: number): void => void (progress = [done, total]),
    async end(ended: ActionEnd): Promise<void> {
      clearInterval(timer);
      await retryWhileUnreachable(() => store(ended));
    },
  };
}
const RUNNING = { state: "running", message: null } as const;

export const findAction = async (db: Queryable, id: number): Promise<AuditEntry | null> =>
  (await db.query<AuditEntry>(ofId, [id]))[0] ?? null;

/**
 * A page of the audit trail, of one resource or of all, the newest first; `next`, passed as `before`, gives the following
 * one. Null: there is none.
 */
export async function actionsBefore(
  db: Queryable,
  before: number | null,
  uuid: string | null = null,
): Promise<{ entries: AuditEntry[]; next: number | null }> {
  const found = await db.query<AuditEntry>(entries, [before ?? Number.MAX_SAFE_INTEGER, uuid]);
  const page = found.slice(0, ENTRIES_SIZE);
  return { entries: page, next: found.length > ENTRIES_SIZE ? page.at(-1)!.id : null };
}

// Tokens that the platform refuses during a wave of refusals stay active, but the operator must know. They may be
// millions, so a bounded part is read.
const failing = statement(
  "failing_tokens",
  `SELECT count(*)::int AS count, extract(epoch FROM min(expires_at) - now())::float8 AS "leftSeconds",
     (array_agg(last_error ORDER BY expires_at) FILTER (WHERE last_error IS NOT NULL))[1] AS "lastError"
   FROM (SELECT expires_at, last_error FROM credentials
     WHERE state = 'active' AND (attempts >= 3 OR rejected_at IS NOT NULL)
       AND (attempts >= 3 OR rejected_at < now() - interval '1 minute') LIMIT ${MOST_COUNTED}) few`,
);

/** Tokens whose refresh fails: how many, how long the first one has left, and the last answer to it. */
export const failingTokens = async (db: Queryable) =>
  (await db.query<{ count: number; leftSeconds: number; lastError: string | null }>(failing))[0]!;
