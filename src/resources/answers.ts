import { statement, type Queryable } from "../database/database.ts";
import { createGroupCommit } from "../database/group-commit.ts";
import type { Refusal } from "../errors.ts";
import type { Pace } from "../pace.ts";
import type { Vault } from "../vault/vault.ts";
import type { Attempt } from "../work/attempt.ts";
import { fullSet, sealConfig } from "./config-vars.ts";
import { resourceSealContext, type ResourceRow } from "./rows.ts";

/** An answer to the platform: the status and the exact bytes of the body, the same at every repetition. */
export interface Answer {
  status: number;
  body: string;
}

/** The message of a 202 for which the vendor gave none. */
const TAKES_LONGER = "Your add-on is being set up. Its config vars appear as soon as it is ready.";

// The answer to a provision, with what follows from it: state, config vars, the grant's fate and the next step, in one
// statement. The first writer decides; any later one, also after a deprovision, matches no row. `step_next`: the step's
// next kind; null deletes the step. `exchangeable` updates the credential whatever its state: PostgreSQL then re-reads
// the row's latest version, so that a grant which arrived while this statement waited for the resource gets its due
// time too.
const decide = statement(
  "decide_provision",
  `WITH incoming AS (
     SELECT * FROM unnest($1::uuid[], $2::text[], $3::int[], $4::bytea[], $5::bytea[], $6::bigint[], $7::int[], $8::text[])
       AS i(uuid, state, answer_status, sealed_answer, sealed_config, step_id, step_lease, step_next)
   ), decided AS (
     UPDATE resources r SET state = i.state, answer_status = i.answer_status, sealed_answer = i.sealed_answer,
       sealed_config = i.sealed_config, updated_at = now(),
       sealed_log_input_url = CASE WHEN i.state <> 'failed' THEN r.sealed_log_input_url END,
       sealed_log_drain_token = CASE WHEN i.state <> 'failed' THEN r.sealed_log_drain_token END
     FROM incoming i WHERE r.uuid = i.uuid AND r.state = 'provisioning' AND r.answer_status IS NULL
     RETURNING i.*
   ), exchangeable AS (
     UPDATE credentials c SET due_at = CASE WHEN c.state = 'grant_pending' THEN now() + make_interval(secs => $9::float8) ELSE c.due_at END
     FROM decided d WHERE c.uuid = d.uuid AND d.state <> 'failed'
   ), erased AS (
     UPDATE credentials c SET state = 'erased', sealed_grant_code = NULL, due_at = NULL
     FROM decided d WHERE c.uuid = d.uuid AND d.state = 'failed'
   ), ended AS (
     DELETE FROM steps s USING decided d WHERE s.id = d.step_id AND s.lease = d.step_lease AND d.step_next IS NULL
   ), next AS (
     UPDATE steps s SET kind = d.step_next, due_at = CASE WHEN d.step_next = 'clean_up' THEN now() END, leased_until = NULL
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
  step: { id: number; lease: number };
  /** A `finish` waits for the credential. */
  next: "finish" | "clean_up" | null;
}

/** Matches no step: ids begin at 1. */
const NO_STEP = { id: 0, lease: 0 };

/** Stores the answers to provisions: the first is the answer, for all who ask. */
export function createAnswers(db: Queryable, vault: Vault, pace: Pick<Pace, "exchangeAfterMs">) {
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
        written.map((row) => row.next),
        pace.exchangeAfterMs / 1_000,
      ];
      const decided = new Set((await db.query<{ uuid: string }>(decide, values)).map(({ uuid }) => uuid));
      return rows.map((row) => decided.has(row.uuid) && first.get(row.uuid) === row);
    },
  });
  const ifFirst = async (decision: Decision) => ((await write(decision)) ? decision.answer : null);

  return {
    /** Answers a provision with the vendor's result, which settles its step. Null: it was answered already. */
    decide: (
      step: Decision["step"] & { uuid: string },
      result: Exclude<Attempt, { is: "failed" }>,
    ): Promise<Answer | null> => ifFirst({ uuid: step.uuid, step, ...decisionFor(step.uuid, result) }),
    /** Answers "later", and leaves the step to whoever runs it. Null: the provision was answered already. */
    later: (uuid: string): Promise<Answer | null> =>
      ifFirst({ uuid, step: NO_STEP, ...laterWith(uuid, TAKES_LONGER, null) }),
  };
}

export type Answers = ReturnType<typeof createAnswers>;

/** The answer that a provision was given; null: none yet, or the resource was deprovisioned. */
export function givenAnswer(vault: Vault, { uuid, answerStatus, sealedAnswer }: ResourceRow): Answer | null {
  if (answerStatus === null || !sealedAnswer) return null;
  const body = vault.open(resourceSealContext("sealed_answer", uuid), sealedAnswer).reveal();
  return { status: answerStatus, body };
}

function decisionFor(uuid: string, result: Exclude<Attempt, { is: "failed" }>) {
  switch (result.is) {
    case "done": {
      const answer = doneAnswer(result, uuid);
      return { state: "provisioned" as const, answer, config: result.config, next: null };
    }
    case "later":
      return laterWith(uuid, result.message, "finish");
    case "refused":
      return {
        state: "failed" as const,
        answer: refusalAnswer(result.refusal),
        config: null,
        next: "clean_up" as const,
      };
  }
}

function laterWith(uuid: string, message: string, next: "finish" | null) {
  return { state: "provisioning" as const, answer: laterAnswer(message, uuid), config: null, next };
}

/** 200 with the config vars; `uuid`: of a provision, which is answered with the resource's id too. */
export function doneAnswer(
  { config, message }: { config: Readonly<Record<string, string>>; message: string | undefined },
  uuid?: string,
): Answer {
  return { status: 200, body: answerBody({ id: uuid, config, message }) };
}

/** 202: it is done later. */
export function laterAnswer(message: string, uuid?: string): Answer {
  return { status: 202, body: answerBody({ id: uuid, message }) };
}

export function refusalAnswer({ status, id, message }: Refusal): Answer {
  return { status, body: answerBody({ id, message }) };
}

export function sealAnswer(vault: Vault, uuid: string, { body }: Answer): Uint8Array<ArrayBuffer> {
  return vault.seal(resourceSealContext("sealed_answer", uuid), body);
}

/** The body of an answer; members that are undefined are left out. */
export function answerBody(members: Record<string, unknown>): string {
  return JSON.stringify(members);
}
