import { statement, type Queryable } from "../database/database.ts";
import { createGroupCommit } from "../database/group-commit.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import type { Pace } from "../pace.ts";
import type { Vault } from "../vault/vault.ts";
import { fullSet, sealConfig } from "./config-vars.ts";
import { resourceSealContext, type ResourceRow } from "./rows.ts";
import type { Attempt } from "./steps/attempt.ts";
import type { Step } from "./steps/queue.ts";

/** An answer to the platform: the status and the exact bytes of the body, the same at every repetition. */
export interface Answer {
  status: number;
  body: string;
}

/** The message of a 202 for which the vendor gave none. */
const TAKES_LONGER = "Your add-on is being set up. Its config vars appear as soon as it is ready.";

// The decision about a provision: answer, state, config vars, the grant's fate and the next step in one statement. The
// first writer decides; any later one, also after a deprovision, matches no row. `step_next`: the step's next kind;
// null deletes the step. `step_due`: seconds until it is due; null waits for the credential. `step_kept`: the vendor's
// function still runs, so the step keeps its lease. `exchangeable` updates the credential whatever its state:
// PostgreSQL then re-reads the row's latest version, so that a grant which arrived while this statement waited for the
// resource gets its due time too.
const decide = statement(
  "decide_provision",
  `WITH incoming AS (
     SELECT * FROM unnest($1::uuid[], $2::text[], $3::int[], $4::bytea[], $5::bytea[], $6::bigint[], $7::int[], $8::text[], $9::float8[], $10::bool[])
       AS i(uuid, state, answer_status, sealed_answer, sealed_config, step_id, step_lease, step_next, step_due, step_kept)
   ), decided AS (
     UPDATE resources r SET state = i.state, answer_status = i.answer_status, sealed_answer = i.sealed_answer,
       sealed_config = i.sealed_config, updated_at = now(),
       sealed_log_input_url = CASE WHEN i.state <> 'failed' THEN r.sealed_log_input_url END,
       sealed_log_drain_token = CASE WHEN i.state <> 'failed' THEN r.sealed_log_drain_token END
     FROM incoming i WHERE r.uuid = i.uuid AND r.state = 'provisioning' AND r.answer_status IS NULL
     RETURNING i.*
   ), exchangeable AS (
     UPDATE credentials c SET due_at = CASE WHEN c.state = 'grant_pending' THEN now() + make_interval(secs => $11::float8) ELSE c.due_at END
     FROM decided d WHERE c.uuid = d.uuid AND d.state <> 'failed'
   ), erased AS (
     UPDATE credentials c SET state = 'erased', sealed_grant_code = NULL, due_at = NULL
     FROM decided d WHERE c.uuid = d.uuid AND d.state = 'failed'
   ), ended AS (
     DELETE FROM steps s USING decided d WHERE s.id = d.step_id AND s.lease = d.step_lease AND d.step_next IS NULL
   ), next AS (
     UPDATE steps s SET kind = d.step_next, due_at = now() + make_interval(secs => d.step_due),
       leased_until = CASE WHEN d.step_kept THEN s.leased_until END
     FROM decided d WHERE s.id = d.step_id AND s.lease = d.step_lease AND d.step_next IS NOT NULL
   )
   SELECT uuid FROM decided`,
);

interface Decision {
  uuid: string;
  state: "provisioned" | "provisioning" | "failed";
  answer: Answer;
  /** Null: the vendor's service has returned none yet. */
  config: Readonly<Record<string, string>> | null;
  step: Pick<Step, "id" | "lease">;
  next: { kind: "finish" | "provision" | "clean_up"; dueSeconds: number | null; isKept: boolean } | null;
}

export interface ProvisionAnswers {
  /**
   * Decides a provision by the result of the vendor's function; `slow`: it still runs. Null: it was decided already.
   */
  decide(step: Step, result: Attempt | { is: "slow" }): Promise<Answer | null>;
  /**
   * Answers "later" for a provision whose step another process holds, and leaves the step to it. Null: it was decided
   * already.
   */
  decideLater(resource: ResourceRow): Promise<Answer | null>;
  /** The answer to a provision whose plan always takes longer (`Plan.later`). */
  putOff(uuid: string, message: string): Answer;
  /** The answer that was given before; null: none yet. */
  given(resource: ResourceRow): Answer | null;
}

export function createProvisionAnswers(db: Queryable, vault: Vault, log: Log, pace: Pace): ProvisionAnswers {
  // No `deadlineOf`: a late decision is written too. The resource exists, and the vendor need not be called again for it.
  const write = createGroupCommit<Decision, boolean>({
    async write(rows) {
      // Of two decisions about one provision in a batch, only the first is written, and only its caller gets true.
      const first = new Map<string, Decision>();
      for (const row of rows) if (!first.has(row.uuid)) first.set(row.uuid, row);
      const written = [...first.values()];
      const values = [
        written.map((row) => row.uuid),
        written.map((row) => row.state),
        written.map((row) => row.answer.status),
        written.map((row) => sealAnswer(vault, row.uuid, row.answer)),
        written.map(({ uuid, config }) => config && sealConfig(vault, uuid, fullSet([], config))),
        written.map((row) => row.step.id),
        written.map((row) => row.step.lease),
        written.map((row) => row.next?.kind ?? null),
        written.map((row) => row.next?.dueSeconds ?? null),
        written.map((row) => row.next?.isKept ?? false),
        pace.exchangeAfterMs / 1_000,
      ];
      const decided = new Set((await db.query<{ uuid: string }>(decide, values)).map(({ uuid }) => uuid));
      return rows.map((row) => decided.has(row.uuid) && first.get(row.uuid) === row);
    },
  });

  return {
    async decide(step, result) {
      const { uuid } = step.resource;
      if (result.is === "failed")
        log.warn(
          { uuid, requestId: step.requestId, error: result.error ?? messageOf(result.error) },
          "provision() failed; answering later and trying again",
        );
      const decision = { uuid, config: null, step, ...decisionFor(uuid, result) };
      return (await write(decision)) ? decision.answer : null;
    },

    async decideLater({ uuid }) {
      const { state, answer } = provisionLater(uuid, TAKES_LONGER, null);
      return (await write({ uuid, state, answer, config: null, step: NO_STEP, next: null })) ? answer : null;
    },

    putOff: accepted,

    given({ uuid, answerStatus, sealedAnswer }) {
      if (answerStatus === null || !sealedAnswer) return null;
      return {
        status: answerStatus,
        body: vault.open(resourceSealContext("sealed_answer", uuid), sealedAnswer).reveal(),
      };
    },
  };
}

/** Matches no step: ids begin at 1. */
const NO_STEP = { id: 0, lease: 0 };

function decisionFor(
  uuid: string,
  result: Attempt | { is: "slow" },
): Pick<Decision, "state" | "answer" | "next"> & { config?: Decision["config"] } {
  switch (result.is) {
    case "done": {
      const body = answerBody({ id: uuid, config: result.config, message: result.message });
      return { state: "provisioned", answer: { status: 200, body }, config: result.config, next: null };
    }
    case "later":
      return provisionLater(uuid, result.message, { kind: "finish", dueSeconds: null, isKept: false });
    case "slow":
      return provisionLater(uuid, TAKES_LONGER, { kind: "provision", dueSeconds: 0, isKept: true });
    case "failed":
      return provisionLater(uuid, TAKES_LONGER, { kind: "provision", dueSeconds: 1, isKept: false });
    case "refused": {
      const { status, id, message } = result.refusal;
      const answer = { status, body: answerBody({ id, message }) };
      return { state: "failed", answer, next: { kind: "clean_up", dueSeconds: 0, isKept: false } };
    }
  }
}

function provisionLater(uuid: string, message: string, next: Decision["next"]) {
  return { state: "provisioning" as const, answer: accepted(uuid, message), next };
}

function accepted(uuid: string, message: string): Answer {
  return { status: 202, body: answerBody({ id: uuid, message }) };
}

export function sealAnswer(vault: Vault, uuid: string, { body }: Answer): Uint8Array<ArrayBuffer> {
  return vault.seal(resourceSealContext("sealed_answer", uuid), body);
}

/** The body of an answer; members that are undefined are left out. */
export function answerBody(members: Record<string, unknown>): string {
  return JSON.stringify(members);
}
