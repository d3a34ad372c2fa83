import { statement, type Database, type Queryable } from "../database/database.ts";
import { groupCommit } from "../database/group-commit.ts";
import { GRANT_SECONDS } from "../credentials/states.ts";
import type { Pace } from "../pace.ts";
import type { Named } from "../platform/types.ts";
import type { Secret } from "../secret.ts";
import { credentialSealContext, resourceSealContext, type Vault } from "../vault/vault.ts";
import { LEASE, NOTICED } from "../work/step.ts";
import { sealAnswer, type Answer } from "./answers.ts";
import { fullSet, openConfig, sealConfig, type ConfigVar } from "./config-vars.ts";
import { RESOURCE_COLUMNS, type Grant, type ProvisionRequest, type ResourceRow } from "./rows.ts";
import { whereCan, type ResourceState } from "./states.ts";

// The statements that a resource lives by; those that end one are in end-store.ts. A provision is an intent as soon as
// its resource is stored, without an answer: the process that stored it calls the vendor's function at once, with no
// step. Only what outlasts the request gets one: a provision that is put off, fails, or is answered "later" while it
// runs.

type Needs = { db: Database; vault: Vault; pace: Pace };

const find = statement("find_resource", `SELECT ${RESOURCE_COLUMNS} FROM resources r WHERE r.uuid = $1`);

/** Tombstones included. */
export const findResource = async (db: Queryable, uuid: string) =>
  (await db.query<ResourceRow>(find, [uuid]))[0] ?? null;

// The resource and its credential, for all requests that arrived at the same moment, in one statement and one commit.
// The unique uuid makes repeated requests harmless. An answered resource (202) may exchange its grant a moment later,
// and its `finish` waits for the tokens; an unanswered one only after its answer is decided. One without a grant stands
// in no queue of grants, where `findUnanswered` looks, and so gets its step at once. One that is answered 200 from the
// first is imported: a repeated provision then gets a success, and its grant is taken.
const insert = statement(
  "provision",
  `WITH incoming AS (
     SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::jsonb[], $6::text[], $7::bytea[], $8::bytea[],
         $9::int[], $10::bytea[], $11::bytea[], $12::timestamptz[], $13::text[], $15::text[])
       AS i(uuid, plan, name, region, options, callback_url, log_input_url, log_drain_token,
         answer_status, answer, grant_code, grant_expires_at, request_id, traceparent)
   ), born AS (
     INSERT INTO resources AS r (uuid, plan, applied_plan, name, region, options, callback_url, sealed_log_input_url, sealed_log_drain_token,
         answer_status, sealed_answer, state)
     SELECT uuid, plan, plan, name, region, options, callback_url, log_input_url, log_drain_token, answer_status, answer,
       CASE WHEN answer_status = 200 THEN 'provisioned' ELSE 'provisioning' END
     FROM incoming ON CONFLICT (uuid) DO NOTHING RETURNING ${RESOURCE_COLUMNS}
   ), credential AS (
     INSERT INTO credentials (uuid, state, sealed_grant_code, grant_number, grant_expires_at, grant_deadline, due_at, request_id, traceparent)
     SELECT uuid, CASE WHEN grant_code IS NULL THEN 'no_grant' ELSE 'grant_pending' END, grant_code,
       CASE WHEN grant_code IS NULL THEN 0 ELSE 1 END, grant_expires_at,
       CASE WHEN grant_code IS NOT NULL THEN now() + interval '${GRANT_SECONDS} seconds' END,
       CASE WHEN grant_code IS NOT NULL AND answer_status IS NOT NULL THEN now() + make_interval(secs => $14::float8) END, request_id, traceparent
     FROM incoming JOIN born USING (uuid)
   ), step AS (
     INSERT INTO steps (uuid, key, kind, due_at, attempts, lease, leased_until, request_id, traceparent)
     SELECT uuid, uuid, CASE WHEN answer_status IS NULL THEN 'provision' ELSE 'finish' END,
       CASE WHEN answer_status IS NULL THEN now() END, CASE WHEN answer_status IS NULL THEN 1 ELSE 0 END, 1,
       CASE WHEN answer_status IS NULL THEN now() + ${LEASE} END, request_id, traceparent
     FROM incoming JOIN born USING (uuid) WHERE answer_status = 202 OR (answer_status IS NULL AND grant_code IS NULL)
   ), noted AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'imported' FROM incoming JOIN born USING (uuid) WHERE answer_status = 200
   )
   SELECT * FROM born`,
);

interface NewProvision {
  request: ProvisionRequest;
  /** Null: not decided yet. */
  answer: Answer | null;
  /** Then nothing is sent to the database: the platform would know nothing of that resource. */
  isTooLate(): boolean;
  traceparent: string | null;
}

/** Writes a new resource, and returns it. Null: the uuid was stored before. */
export const insertProvision = groupCommit<Needs, NewProvision, ResourceRow | null>({
  isTooLate: (row) => row.isTooLate(),
  write: insertProvisions,
});

/** The same for several, whose uuids differ. */
export async function insertProvisions(
  { db, vault, pace }: Omit<Needs, "db"> & { db: Queryable },
  rows: readonly Omit<NewProvision, "isTooLate">[],
): Promise<(ResourceRow | null)[]> {
  const requests = rows.map(({ request }) => request);
  const sealed = (
    column: "sealed_log_input_url" | "sealed_log_drain_token",
    uuid: string,
    value: Secret | null,
  ) => value && vault.seal(resourceSealContext(column, uuid), value);
  const values = [
    requests.map(({ uuid }) => uuid),
    requests.map(({ plan }) => plan),
    requests.map(({ name }) => name),
    requests.map(({ region }) => region),
    requests.map(({ options }) => JSON.stringify(options)),
    requests.map(({ callbackUrl }) => callbackUrl),
    requests.map(({ uuid, logInputUrl }) => sealed("sealed_log_input_url", uuid, logInputUrl)),
    requests.map(({ uuid, logDrainToken }) => sealed("sealed_log_drain_token", uuid, logDrainToken)),
    rows.map(({ answer }) => answer?.status ?? null),
    rows.map(({ request, answer }) => answer && sealAnswer(vault, request.uuid, answer.body)),
    requests.map(({ uuid, grant }) => grant && sealCode(vault, uuid, grant.code)),
    requests.map(({ grant }) => grant?.expiresAt ?? null),
    requests.map(({ requestId }) => requestId),
    pace.exchangeAfterMs / 1_000,
    rows.map(({ traceparent }) => traceparent),
  ];
  const born = new Map((await db.query<ResourceRow>(insert, values)).map((row) => [row.uuid, row]));
  return requests.map(({ uuid }) => born.get(uuid) ?? null);
}

const importedApp = statement(
  "store_imported_app",
  `UPDATE resources SET app_id = $2, app_name = $3 WHERE uuid = $1`,
);

/** Of a resource that was just imported. */
export const storeImportedApp = (tx: Queryable, uuid: string, { id, name }: Named) =>
  tx.query(importedApp, [uuid, id, name]);

const sealCode = (vault: Vault, uuid: string, code: Secret) =>
  vault.seal(credentialSealContext("sealed_grant_code", uuid), code);

const readGrant = statement(
  "read_grant",
  `SELECT state, sealed_grant_code AS "sealedGrantCode" FROM credentials WHERE uuid = $1`,
);

// A new code replaces one that was not exchanged, or a refresh token that was given up, and starts its five minutes
// anew. Tokens that work stay. So does `outcome_unknown`: the code may be a redelivery of the one whose call had an
// unknown outcome. While no answer is decided, the grant gets no due time; the decision sets it. The lock on the
// resource orders the two. A failed provision takes no code: its repeated answer is the refusal. A credential
// quarantined before it had tokens held nothing but its code, so another code may replace it.
const replaceGrant = statement(
  "replace_grant",
  `WITH alive AS (
     SELECT uuid, answer_status FROM resources WHERE uuid = $1 AND state <> 'failed' FOR SHARE
   ), replaced AS (
     UPDATE credentials c SET state = 'grant_pending', reason = NULL, sealed_grant_code = $2, grant_expires_at = $3,
       grant_number = c.grant_number + 1, grant_deadline = now() + interval '${GRANT_SECONDS} seconds',
       due_at = CASE WHEN alive.answer_status IS NOT NULL THEN now() + make_interval(secs => $5::float8) END,
       attempts = 0, rejected_at = NULL, last_error = NULL, request_id = $4, traceparent = $6,
       sent_at = CASE WHEN c.state = 'grant_pending' THEN c.sent_at END
     FROM alive WHERE c.uuid = alive.uuid AND (c.state IN ('grant_pending', 'grant_lost', 'no_grant', 'needs_reauth')
       OR (c.state = 'quarantined' AND c.generation = 0)) RETURNING c.uuid
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'grant_replaced' FROM replaced RETURNING uuid`,
);

/** Takes over the grant of a repeated request. True if it will be exchanged, false if it is not needed. */
export async function receiveGrant(
  { db, vault, pace }: Needs,
  uuid: string,
  grant: Grant,
  { requestId, traceparent }: Record<"requestId" | "traceparent", string | null>,
): Promise<boolean> {
  const [row] = await db.query<{ state: string; sealedGrantCode: Buffer | null }>(readGrant, [uuid]);
  if (row?.state === "grant_pending" && isSameCode(vault, uuid, row.sealedGrantCode, grant.code))
    return false;
  const code = sealCode(vault, uuid, grant.code);
  const values = [uuid, code, grant.expiresAt, requestId, pace.exchangeAfterMs / 1_000, traceparent];
  return (await db.query(replaceGrant, values)).length > 0;
}

function isSameCode(vault: Vault, uuid: string, sealed: Buffer | null, code: Secret): boolean {
  if (!sealed) return false;
  try {
    return vault.open(credentialSealContext("sealed_grant_code", uuid), sealed).reveal() === code.reveal();
  } catch {
    return false;
  }
}

// The answer to a provision, with what follows from it: state, config vars, the grant's fate and the next step, in one
// statement. The first writer decides; any later one, also after a deprovision, matches no row. The provision's step,
// if it has one, is deleted (`step_next` null) or becomes the next one, and whoever holds it loses it; an answer that
// was given while the vendor's function runs (`step_next` = 'provision') writes it, leased to who runs it.
// `exchangeable` updates the credential whatever its state: PostgreSQL then re-reads the row's latest version, so that
// a grant which arrived while this statement waited for the resource gets its due time too.
const answer = statement(
  "answer_provisions",
  `WITH incoming AS (
     SELECT * FROM unnest($1::uuid[], $2::text[], $3::int[], $4::bytea[], $5::bytea[], $6::text[], $7::int[])
       AS i(uuid, state, answer_status, sealed_answer, sealed_config, step_next, step_lease)
   ), answered AS (
     UPDATE resources r SET state = i.state, answer_status = i.answer_status, sealed_answer = i.sealed_answer,
       sealed_config = i.sealed_config, updated_at = now(),
       sealed_log_input_url = CASE WHEN i.state <> 'failed' THEN r.sealed_log_input_url END,
       sealed_log_drain_token = CASE WHEN i.state <> 'failed' THEN r.sealed_log_drain_token END
     FROM incoming i WHERE r.uuid = i.uuid AND ${whereCan("done")} AND r.answer_status IS NULL
     RETURNING r.uuid, i.state, i.step_next, i.step_lease, r.created_at
   ), exchangeable AS (
     UPDATE credentials c SET due_at = CASE WHEN c.state = 'grant_pending' THEN now() + make_interval(secs => $8::float8) ELSE c.due_at END
     FROM answered a WHERE c.uuid = a.uuid AND a.state <> 'failed'
   ), erased AS (
     UPDATE credentials c SET state = 'erased', sealed_grant_code = NULL, due_at = NULL
     FROM answered a WHERE c.uuid = a.uuid AND a.state = 'failed'
   ), ended AS (
     DELETE FROM steps s USING answered a WHERE s.uuid = a.uuid AND s.kind = 'provision' AND a.step_next IS NULL
   ), turned AS (
     UPDATE steps s SET kind = a.step_next, lease = s.lease + 1, attempts = 0, last_error = NULL,
       due_at = CASE WHEN a.step_next = 'clean_up' THEN now() END,
       leased_until = CASE WHEN s.lease <> a.step_lease THEN s.leased_until END
     FROM answered a WHERE s.uuid = a.uuid AND s.kind = 'provision' AND a.step_next IN ('finish', 'clean_up')
   ), written AS (
     INSERT INTO steps (uuid, key, kind, due_at, attempts, lease, leased_until, request_id, traceparent)
     SELECT a.uuid, a.uuid, a.step_next, CASE WHEN a.step_next <> 'finish' THEN now() END,
       CASE WHEN a.step_next = 'provision' THEN 1 ELSE 0 END, 1,
       CASE WHEN a.step_next = 'provision' THEN greatest(a.created_at + ${LEASE}, ${NOTICED}) END,
       c.request_id, c.traceparent
     FROM answered a JOIN credentials c USING (uuid) WHERE a.step_next IS NOT NULL
       AND NOT EXISTS (SELECT FROM steps s WHERE s.uuid = a.uuid AND s.kind = 'provision')
   )
   SELECT uuid FROM answered`,
);

// First, where a step follows: one that is written while the answer waits for the lock would not be seen by it.
const lockResources = statement(
  "lock_resources",
  `SELECT 1 FROM resources WHERE uuid = ANY($1::uuid[]) ORDER BY uuid FOR UPDATE`,
);

interface FirstAnswer {
  uuid: string;
  answer: Answer;
  /** Null: the vendor's service has returned none yet. */
  config: Readonly<Record<string, string>> | null;
  /** The lease number of the caller's step; of another one, the clean-up waits until its work has noticed. */
  lease: number;
  /** `finish` waits for the credential; `provision`: the vendor's function is still running. */
  next: "provision" | "finish" | "clean_up" | null;
}

const stateOnAnswer = (next: FirstAnswer["next"]): ResourceState =>
  next === null ? "provisioned" : next === "clean_up" ? "failed" : "provisioning";

/** Stores the answer to a provision, however late, if none is stored yet: true. */
export const answerFirst = groupCommit<Needs, FirstAnswer, boolean>({
  async write({ db, vault, pace }, rows) {
    // Of two answers to one provision in a batch, only the first is written, and only its caller gets true.
    const first = new Map<string, FirstAnswer>();
    for (const row of rows) if (!first.has(row.uuid)) first.set(row.uuid, row);
    // In the order in which all lock them.
    const written = [...first.values()].sort((one, other) => (one.uuid < other.uuid ? -1 : 1));
    const values = [
      written.map((row) => row.uuid),
      written.map(({ next }) => stateOnAnswer(next)),
      written.map((row) => row.answer.status),
      written.map((row) => sealAnswer(vault, row.uuid, row.answer.body)),
      written.map(({ uuid, config }) => config && sealConfig(vault, uuid, fullSet([], config))),
      written.map((row) => row.next),
      written.map((row) => row.lease),
      pace.exchangeAfterMs / 1_000,
    ];
    const send = (tx: Queryable) => tx.query<{ uuid: string }>(answer, values);
    const lockAndSend = (tx: Queryable) => tx.query(lockResources, [values[0]]).then(() => send(tx));
    const hasNext = written.some(({ next }) => next !== null);
    const sent = await (hasNext ? db.transaction(lockAndSend) : send(db));
    const answered = new Set(sent.map(({ uuid }) => uuid));
    return rows.map((row) => answered.has(row.uuid) && first.get(row.uuid) === row);
  },
});

const lockResource = statement(
  "lock_resource",
  `SELECT ${RESOURCE_COLUMNS} FROM resources r WHERE r.uuid = $1 FOR UPDATE`,
);

export const lockedResource = async (tx: Queryable, uuid: string) =>
  (await tx.query<ResourceRow>(lockResource, [uuid]))[0] ?? null;

const setConfig = statement(
  "set_config",
  `UPDATE resources SET sealed_config = $2, updated_at = now() WHERE uuid = $1`,
);

/** Makes changes in the stored full set of config vars; the caller has locked the resource. */
export async function changeConfig(
  tx: Queryable,
  vault: Vault,
  resource: ResourceRow,
  changes: readonly ConfigVar[],
): Promise<void> {
  const names = changes.map(({ name }) => name);
  const others = openConfig(vault, resource).filter(({ name }) => !names.includes(name));
  await tx.query(setConfig, [resource.uuid, sealConfig(vault, resource.uuid, [...others, ...changes])]);
}
