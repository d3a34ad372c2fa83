import { GRANT_SECONDS } from "../credentials/states.ts";
import type { Credential, Resource } from "../database/client/client.ts";
import type { Database } from "../database/database.ts";
import { groupCommit } from "../database/group-commit.ts";
import { type ColumnType, namesOf, oneRow, type Queryable, statement } from "../database/statement.ts";
import type { Pace } from "../pace.ts";
import type { Named } from "../platform/types.ts";
import type { Secret } from "../secret.ts";
import { credentialSealContext, resourceSealContext, type Vault } from "../vault/vault.ts";
import { STEP_LEASE_SECONDS } from "../work/queue.ts";
import { type Answer, sealAnswer } from "./answers.ts";
import { type ConfigVar, fullSet, openConfig, sealConfig } from "./config-vars.ts";
import { type ProvisionRequest, RESOURCE_COLUMNS, type ResourceRow } from "./rows.ts";
import { type ResourceState, whereCan } from "./states.ts";

// The statements that store a resource, its answer and its config vars. The statements that end it are in end-store.ts.

type Needs = { db: Database; vault: Vault; pace: Pace };

const find = statement<{ uuid: string }, ResourceRow>("find_resource").sql(
  `SELECT ${RESOURCE_COLUMNS} FROM resources r WHERE r.uuid = :uuid`,
);

/** Finds a resource, which may be a tombstone. */
export const findResource = (db: Queryable, uuid: string) => oneRow(db, find, { uuid });

/** A provision as it is stored. Derived from {@link ProvisionRequest}, so that the compiler finds a forgotten member. */
type StoredProvision = Omit<ProvisionRequest, "options" | "grant" | "logInputUrl" | "logDrainToken"> & {
  /** JSON. */
  options: string;
  sealedLogInputUrl: Uint8Array | null;
  sealedLogDrainToken: Uint8Array | null;
  sealedGrantCode: Uint8Array | null;
  grantExpiresAt: Date | null;
  answerStatus: number | null;
  sealedAnswer: Uint8Array | null;
  traceparent: string | null;
};

/** What a provision stores as it came, by column. A member of {@link StoredProvision} that is in neither does not compile. */
const OF_RESOURCE = {
  uuid: "uuid",
  plan: "text",
  name: "text",
  region: "text",
  options: "jsonb",
  callbackUrl: "text",
  sealedLogInputUrl: "bytea",
  sealedLogDrainToken: "bytea",
  answerStatus: "int",
  sealedAnswer: "bytea",
} as const satisfies Partial<Record<keyof Resource, ColumnType>>;
const OF_CREDENTIAL = {
  sealedGrantCode: "bytea",
  grantExpiresAt: "timestamptz",
  requestId: "text",
  traceparent: "text",
} as const satisfies Partial<Record<keyof Credential, ColumnType>>;

// Stores the resource, its credential and its step in one statement, for all requests that arrived at the same moment:
//
//   resources    provisioning, with its answer (202) or without one; an imported resource is provisioned
//   credentials  the grant; due only once the answer is decided
//   steps        provision, claimed by this process; if the answer is decided: finish, which waits for the tokens
//
// The uuid is unique, so a repeated request inserts no row. An imported resource has the stored answer 200, so a repeated
// provision of it succeeds and its grant is stored.
const insert = statement<
  { rows: readonly StoredProvision[]; exchangeAfterSeconds: number },
  { uuid: string }
>("provision", { ...OF_RESOURCE, ...OF_CREDENTIAL }).sql(
  `WITH incoming AS (
     SELECT * FROM :rows AS i
   ), born AS (
     INSERT INTO resources AS r (${namesOf(OF_RESOURCE)}, state)
     SELECT ${namesOf(OF_RESOURCE)}, CASE WHEN answer_status = 200 THEN 'provisioned' ELSE 'provisioning' END
     FROM incoming ON CONFLICT (uuid) DO NOTHING RETURNING r.uuid
   ), fresh AS (
     -- As a join, PostgreSQL would compare each row with each. Because of IS TRUE it looks up each uuid in a hash table.
     SELECT * FROM incoming WHERE (uuid IN (SELECT uuid FROM born)) IS TRUE
   ), credential AS (
     INSERT INTO credentials (uuid, ${namesOf(OF_CREDENTIAL)}, state, grant_number, grant_deadline, due_at)
     SELECT uuid, ${namesOf(OF_CREDENTIAL)}, CASE WHEN sealed_grant_code IS NULL THEN 'no_grant' ELSE 'grant_pending' END,
       CASE WHEN sealed_grant_code IS NULL THEN 0 ELSE 1 END,
       CASE WHEN sealed_grant_code IS NOT NULL THEN now() + interval '${GRANT_SECONDS} seconds' END,
       CASE WHEN sealed_grant_code IS NOT NULL AND answer_status IS NOT NULL
         THEN now() + make_interval(secs => :exchangeAfterSeconds::float8) END
     FROM fresh
   ), step AS (
     INSERT INTO steps (uuid, key, kind, due_at, attempts, lease, leased_until, request_id, traceparent)
     SELECT uuid, uuid, CASE WHEN answer_status IS NULL THEN 'provision' ELSE 'finish' END,
       CASE WHEN answer_status IS NULL THEN now() END, CASE WHEN answer_status IS NULL THEN 1 ELSE 0 END, 1,
       CASE WHEN answer_status IS NULL THEN now() + interval '${STEP_LEASE_SECONDS} seconds' END, request_id, traceparent
     FROM fresh WHERE answer_status IS DISTINCT FROM 200
   ), noted AS (
     INSERT INTO events (uuid, type) SELECT uuid, 'imported' FROM fresh WHERE answer_status = 200
   )
   SELECT * FROM born`,
);

interface NewProvision {
  request: ProvisionRequest;
  /** `null` if the vendor's function decides the answer. */
  answer: Answer | null;
  /** Whether the request was answered with an error. It is not stored then: the platform has no such resource. */
  isTooLate(): boolean;
  traceparent: string | null;
}

/** Writes a new resource and returns it; `null` if the uuid is stored already. */
export const insertProvision = groupCommit<Needs, NewProvision, ResourceRow | null>({
  isTooLate: (row) => row.isTooLate(),
  write: insertProvisions,
});

/** Writes several resources with different uuids. */
export async function insertProvisions(
  { db, vault, pace }: Omit<Needs, "db"> & { db: Queryable },
  rows: readonly Omit<NewProvision, "isTooLate">[],
): Promise<(ResourceRow | null)[]> {
  const stored = rows.map(({ request, answer, traceparent }): StoredProvision => {
    const { uuid, grant, logInputUrl, logDrainToken } = request;
    const sealed = (column: "sealed_log_input_url" | "sealed_log_drain_token", value: Secret | null) =>
      value && vault.seal(resourceSealContext(column, uuid), value);
    // Member by member: a spread takes a twentieth of the time of a provision.
    return {
      uuid,
      plan: request.plan,
      name: request.name,
      region: request.region,
      options: JSON.stringify(request.options),
      callbackUrl: request.callbackUrl,
      sealedLogInputUrl: sealed("sealed_log_input_url", logInputUrl),
      sealedLogDrainToken: sealed("sealed_log_drain_token", logDrainToken),
      answerStatus: answer && answer.status,
      sealedAnswer: answer && sealAnswer(vault, uuid, answer.body),
      sealedGrantCode: grant && vault.seal(credentialSealContext("sealed_grant_code", uuid), grant.code),
      grantExpiresAt: grant && grant.expiresAt,
      requestId: request.requestId,
      traceparent,
    };
  });
  const values = { rows: stored, exchangeAfterSeconds: pace.exchangeAfterMs / 1_000 };
  const born = new Set((await db.query(insert, values)).map(({ uuid }) => uuid));
  return stored.map((row) => (born.has(row.uuid) ? resourceOf(row) : null));
}

/** The row as PostgreSQL would return it: to send and parse it takes longer than to make it. */
function resourceOf(row: StoredProvision): ResourceRow {
  const { uuid, name, plan, region, options, answerStatus } = row;
  const bytes = (sealed: Uint8Array | null) => sealed && Buffer.from(sealed);
  return {
    uuid,
    name,
    plan,
    region,
    // Parsed, as numbers that JSON does not have are not stored.
    options: JSON.parse(options) as Record<string, unknown>,
    state: answerStatus === 200 ? "provisioned" : "provisioning",
    answerStatus,
    sealedAnswer: bytes(row.sealedAnswer),
    sealedConfig: null,
    sealedLogInputUrl: bytes(row.sealedLogInputUrl),
    sealedLogDrainToken: bytes(row.sealedLogDrainToken),
  };
}

const importedApp = statement<{ uuid: string } & Named>("store_imported_app").sql(
  `UPDATE resources SET app_id = :id, app_name = :name WHERE uuid = :uuid`,
);

/** Stores the app of an imported resource. */
export const storeImportedApp = (tx: Queryable, uuid: string, { id, name }: Named) =>
  tx.query(importedApp, { uuid, id, name });

/** An answer as it is stored, with what follows from it. */
interface StoredAnswer {
  uuid: string;
  state: ResourceState;
  answerStatus: number;
  sealedAnswer: Uint8Array;
  sealedConfig: Uint8Array | null;
  next: FirstAnswer["next"];
  lease: number;
}

// Stores the answer to a provision and its consequences in one statement:
//
//   resources    the answer, the state, the config vars; the first writer decides, later writers match no row
//   credentials  the grant falls due for the job exchange-grants (credentials/pools.ts); that of a failed provision is erased
//   steps        the provision's step is deleted, or gets its next kind and a new lease number; while the vendor's
//                function still runs, the step and its lease stay as they are
const answer = statement<{ rows: readonly StoredAnswer[]; exchangeAfterSeconds: number }, { uuid: string }>(
  "answer_provisions",
  {
    uuid: "uuid",
    state: "text",
    answerStatus: "int",
    sealedAnswer: "bytea",
    sealedConfig: "bytea",
    next: "text",
    lease: "int",
  },
).sql(
  `WITH answered AS (
     UPDATE resources r SET state = i.state, answer_status = i.answer_status, sealed_answer = i.sealed_answer,
       sealed_config = i.sealed_config, updated_at = now(),
       sealed_log_input_url = CASE WHEN i.state <> 'failed' THEN r.sealed_log_input_url END,
       sealed_log_drain_token = CASE WHEN i.state <> 'failed' THEN r.sealed_log_drain_token END
     FROM :rows AS i WHERE r.uuid = i.uuid AND ${whereCan("done")} AND r.answer_status IS NULL
     RETURNING r.uuid, i.state, i.next, i.lease
   ), exchangeable AS (
     -- No condition on the credential's state: PostgreSQL then reads the latest version of the row, so a grant that arrived
     -- while this statement waited for the resource becomes due as well.
     UPDATE credentials c SET due_at = CASE WHEN c.state = 'grant_pending'
       THEN now() + make_interval(secs => :exchangeAfterSeconds::float8) ELSE c.due_at END
     FROM answered a WHERE c.uuid = a.uuid AND a.state <> 'failed'
   ), erased AS (
     UPDATE credentials c SET state = 'erased', sealed_grant_code = NULL, due_at = NULL
     FROM answered a WHERE c.uuid = a.uuid AND a.state = 'failed'
   ), ended AS (
     DELETE FROM steps s USING answered a WHERE s.uuid = a.uuid AND s.kind = 'provision' AND a.next = 'none'
   ), turned AS (
     UPDATE steps s SET kind = a.next, lease = s.lease + 1, attempts = 0, last_error = NULL,
       due_at = CASE WHEN a.next = 'clean_up' THEN now() END,
       -- Another process may run the provision: the clean-up waits until that process has noticed.
       leased_until = CASE WHEN s.lease <> a.lease THEN s.leased_until END
     FROM answered a WHERE s.uuid = a.uuid AND s.kind = 'provision' AND a.next IN ('finish', 'clean_up')
   )
   SELECT uuid FROM answered`,
);

interface FirstAnswer {
  uuid: string;
  answer: Answer;
  /** `null` if the vendor's service has not returned config vars. */
  config: Readonly<Record<string, string>> | null;
  /** The lease number of the caller's step. If another process has the step, the clean-up waits until it has noticed. */
  lease: number;
  /** What becomes of the provision's step: `none`, it is done; `same`, it still runs; `finish` waits for tokens. */
  next: "none" | "same" | "finish" | "clean_up";
}

const stateOnAnswer = (next: FirstAnswer["next"]): ResourceState =>
  next === "none" ? "provisioned" : next === "clean_up" ? "failed" : "provisioning";

/** Stores the answer to a provision unless an answer is stored. Returns whether this answer was stored. */
export const answerFirst = groupCommit<Needs, FirstAnswer, boolean>({
  async write({ db, vault, pace }, rows) {
    // Of two answers to one provision in a batch, only the first is written, and only its caller gets true.
    const first = new Map<string, FirstAnswer>();
    for (const row of rows) if (!first.has(row.uuid)) first.set(row.uuid, row);
    // All statements lock resources in the order of their uuids, which avoids deadlocks.
    const written = [...first.values()].sort((one, other) => (one.uuid < other.uuid ? -1 : 1));
    const stored = written.map(({ uuid, answer, config, next, lease }) => ({
      uuid,
      state: stateOnAnswer(next),
      answerStatus: answer.status,
      sealedAnswer: sealAnswer(vault, uuid, answer.body),
      sealedConfig: config && sealConfig(vault, uuid, fullSet([], config)),
      next,
      lease,
    }));
    const exchangeAfterSeconds = pace.exchangeAfterMs / 1_000;
    const sent = await db.query(answer, { rows: stored, exchangeAfterSeconds });
    const answered = new Set(sent.map(({ uuid }) => uuid));
    return rows.map((row) => answered.has(row.uuid) && first.get(row.uuid) === row);
  },
});

const lockResource = statement<{ uuid: string }, ResourceRow>("lock_resource").sql(
  `SELECT ${RESOURCE_COLUMNS} FROM resources r WHERE r.uuid = :uuid FOR UPDATE`,
);

export const lockedResource = (tx: Queryable, uuid: string) => oneRow(tx, lockResource, { uuid });

const setConfig = statement<{ uuid: string; config: Uint8Array }>("set_config").sql(
  `UPDATE resources SET sealed_config = :config, updated_at = now() WHERE uuid = :uuid`,
);

/** Applies changes to the stored full set of config vars. The caller has locked the resource. */
export async function changeConfig(
  tx: Queryable,
  vault: Vault,
  resource: ResourceRow,
  changes: readonly ConfigVar[],
): Promise<void> {
  const names = changes.map(({ name }) => name);
  const others = openConfig(vault, resource).filter(({ name }) => !names.includes(name));
  const config = sealConfig(vault, resource.uuid, [...others, ...changes]);
  await tx.query(setConfig, { uuid: resource.uuid, config });
}
