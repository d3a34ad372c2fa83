import { statement, type Queryable } from "../database/database.ts";
import { createGroupCommit } from "../database/group-commit.ts";
import type { Deadline } from "../database/retry.ts";
import type { Vault } from "../vault/vault.ts";
import { credentialSealContext } from "../credentials/opening.ts";
import { GRANT_SECONDS } from "./grant-time.ts";
import type { Pace } from "../pace.ts";
import type { Secret } from "../secret.ts";
import { sealAnswer, type Answer } from "./answers.ts";
import { resourceSealContext } from "./rows.ts";
import { STEP_LEASE_SECONDS } from "../work/queue.ts";

/** A provision request (assumed, section 1), checked; members that the kit does not know are dropped. */
export interface ProvisionRequest {
  uuid: string;
  plan: string;
  name: string | null;
  region: string | null;
  options: Record<string, unknown>;
  callbackUrl: string | null;
  logInputUrl: Secret | null;
  logDrainToken: Secret | null;
  grant: Grant | null;
  /** The id under which the log names the request, so that what follows from it can be found. */
  requestId: string;
}

export interface Grant {
  code: Secret;
  /**
   * When the code expires, as the platform says. Stored for information only: clocks differ, so no decision uses it.
   */
  expiresAt: Date | null;
}

/** A resource just written: the id of its first step, and its sealed values. */
export interface NewResource {
  stepId: number;
  sealedLogInputUrl: Buffer | null;
  sealedLogDrainToken: Buffer | null;
}

// Everything a new resource needs, for all requests that arrived at the same moment, in one statement and one commit:
// the resource, its credential and its first step. The unique uuid makes repeated requests harmless. An answered
// resource (202) may exchange its grant a moment later; an unanswered one only after its answer is decided. The step of
// an unanswered one is written as claimed by this process; when its lease ends, any process may finish it.
const insert = statement(
  "provision",
  `WITH incoming AS (
     SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::jsonb[], $6::text[], $7::bytea[], $8::bytea[],
         $9::int[], $10::bytea[], $11::bytea[], $12::timestamptz[], $13::uuid[], $14::text[])
       AS i(uuid, plan, name, region, options, callback_url, log_input_url, log_drain_token,
         answer_status, answer, grant_code, grant_expires_at, key, request_id)
   ), born AS (
     INSERT INTO resources (uuid, plan, applied_plan, name, region, options, callback_url, sealed_log_input_url, sealed_log_drain_token,
         answer_status, sealed_answer)
     SELECT uuid, plan, plan, name, region, options, callback_url, log_input_url, log_drain_token, answer_status, answer
     FROM incoming ON CONFLICT (uuid) DO NOTHING RETURNING uuid
   ), credential AS (
     INSERT INTO credentials (uuid, state, sealed_grant_code, grant_number, grant_expires_at, grant_deadline, due_at, request_id)
     SELECT uuid, CASE WHEN grant_code IS NULL THEN 'no_grant' ELSE 'grant_pending' END, grant_code,
       CASE WHEN grant_code IS NULL THEN 0 ELSE 1 END, grant_expires_at,
       CASE WHEN grant_code IS NOT NULL THEN now() + interval '${GRANT_SECONDS} seconds' END,
       CASE WHEN grant_code IS NOT NULL AND answer_status IS NOT NULL THEN now() + make_interval(secs => $15::float8) END, request_id
     FROM incoming JOIN born USING (uuid)
   )
   INSERT INTO steps (uuid, key, kind, due_at, attempts, lease, leased_until, request_id)
   SELECT uuid, key, CASE WHEN answer_status IS NULL THEN 'provision' ELSE 'finish' END,
     CASE WHEN answer_status IS NULL THEN now() END, CASE WHEN answer_status IS NULL THEN 1 ELSE 0 END, 1,
     CASE WHEN answer_status IS NULL THEN now() + interval '${STEP_LEASE_SECONDS} seconds' END, request_id
   FROM incoming JOIN born USING (uuid) RETURNING uuid, id AS "stepId"`,
);

const readGrant = statement(
  "read_grant",
  `SELECT state, sealed_grant_code AS "sealedGrantCode" FROM credentials WHERE uuid = $1`,
);

// A new code replaces one that was not exchanged, and starts its five minutes anew. Existing tokens stay. So does
// `outcome_unknown`: the code may be a redelivery of the one whose call had an unknown outcome. While no answer is
// decided, the grant gets no due time; the decision sets it. The lock on the resource orders the two. A failed
// provision takes no code: its repeated answer is the refusal. A credential quarantined before it had tokens held
// nothing but its code, so another code may replace it.
const replaceGrant = statement(
  "replace_grant",
  `WITH alive AS (
     SELECT uuid, answer_status FROM resources WHERE uuid = $1 AND state <> 'failed' FOR SHARE
   ), replaced AS (
     UPDATE credentials c SET state = 'grant_pending', reason = NULL, sealed_grant_code = $2, grant_expires_at = $3,
       grant_number = c.grant_number + 1, grant_deadline = now() + interval '${GRANT_SECONDS} seconds',
       due_at = CASE WHEN alive.answer_status IS NOT NULL THEN now() + make_interval(secs => $5::float8) END,
       attempts = 0, rejected_at = NULL, last_error = NULL, request_id = $4
     FROM alive WHERE c.uuid = alive.uuid AND (c.state IN ('grant_pending', 'grant_lost', 'no_grant')
       OR (c.state = 'quarantined' AND c.generation = 0)) RETURNING c.uuid
   )
   INSERT INTO events (uuid, type) SELECT uuid, 'grant_replaced' FROM replaced RETURNING uuid`,
);

export function createProvisionStore(db: Queryable, vault: Vault, pace: Pace) {
  const exchangeAfterSeconds = pace.exchangeAfterMs / 1_000;
  type Row = { request: ProvisionRequest; key: string; answer: Answer | null; deadline: Deadline };

  const commit = createGroupCommit<Row, NewResource | null>({
    // A row is not written once its request was refused: the platform would know nothing of that resource.
    deadlineOf: ({ deadline }) => deadline,
    async write(rows) {
      const requests = rows.map(({ request }) => request);
      const logs = requests.map((it) => ({
        sealedLogInputUrl: it.logInputUrl && sealed("sealed_log_input_url", it.uuid, it.logInputUrl),
        sealedLogDrainToken: it.logDrainToken && sealed("sealed_log_drain_token", it.uuid, it.logDrainToken),
      }));
      const values = [
        requests.map(({ uuid }) => uuid),
        requests.map(({ plan }) => plan),
        requests.map(({ name }) => name),
        requests.map(({ region }) => region),
        requests.map(({ options }) => JSON.stringify(options)),
        requests.map(({ callbackUrl }) => callbackUrl),
        logs.map(({ sealedLogInputUrl }) => sealedLogInputUrl),
        logs.map(({ sealedLogDrainToken }) => sealedLogDrainToken),
        rows.map(({ answer }) => answer?.status ?? null),
        rows.map(({ request, answer }) => answer && sealAnswer(vault, request.uuid, answer)),
        requests.map(({ uuid, grant }) => grant && sealCode(uuid, grant.code)),
        requests.map(({ grant }) => grant?.expiresAt ?? null),
        rows.map(({ key }) => key),
        requests.map(({ requestId }) => requestId),
        exchangeAfterSeconds,
      ];
      const inserted = await db.query<{ uuid: string; stepId: number }>(insert, values);
      const steps = new Map(inserted.map(({ uuid, stepId }) => [uuid, stepId]));
      return requests.map(({ uuid }, i) => {
        const stepId = steps.get(uuid);
        return stepId === undefined ? null : { stepId, ...logs[i]! };
      });
    },
  });

  function sealed(column: "sealed_log_input_url" | "sealed_log_drain_token", uuid: string, value: Secret) {
    return Buffer.from(vault.seal(resourceSealContext(column, uuid), value));
  }

  function sealCode(uuid: string, code: Secret) {
    return vault.seal(credentialSealContext("sealed_grant_code", uuid), code);
  }

  function isSameCode(uuid: string, sealed: Buffer | null, code: Secret): boolean {
    if (!sealed) return false;
    try {
      return vault.open(credentialSealContext("sealed_grant_code", uuid), sealed).reveal() === code.reveal();
    } catch {
      return false;
    }
  }

  return {
    /**
     * Writes a new resource, with its answer if that is decided already, and its first step under the idempotency key
     * `key`. Null: the uuid was known. Nothing is sent to the database once `deadline` has passed.
     */
    insert: (request: ProvisionRequest, key: string, answer: Row["answer"], deadline: Deadline) =>
      commit({ request, key, answer, deadline }),

    /** Takes over the grant of a repeated request. True if it will be exchanged, false if it is not needed. */
    async receiveGrant(uuid: string, grant: Grant, requestId: string): Promise<boolean> {
      const [row] = await db.query<{ state: string; sealedGrantCode: Buffer | null }>(readGrant, [uuid]);
      if (row?.state === "grant_pending" && isSameCode(uuid, row.sealedGrantCode, grant.code)) return false;
      const values = [uuid, sealCode(uuid, grant.code), grant.expiresAt, requestId, exchangeAfterSeconds];
      return (await db.query(replaceGrant, values)).length > 0;
    },
  };
}

export type ProvisionStore = ReturnType<typeof createProvisionStore>;
