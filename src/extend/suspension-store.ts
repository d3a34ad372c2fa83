import { anyRow, oneRow, type Queryable, statement } from "../database/statement.ts";
import type { Suspended } from "../resources/contract.ts";
import { beforeAllIn, whereIn } from "../resources/step-kinds.ts";
import type { SuspensionKind } from "../resources/steps.ts";
import { IS_CLAIMED } from "../work/queue.ts";
import type { Claim } from "../work/step.ts";

// The statements of suspensions. Each runs in a transaction that has locked the resource.

/** The most characters of a reason, which the customer reads. */
export const LONGEST_REASON = 300;

/** A reason as it is stored; `null` if it is empty, too long, or cannot be stored. */
export function readReason(given: unknown): string | null {
  const reason = typeof given === "string" ? given.replace(/\s+/g, " ").trim() : "";
  const isStorable = !reason.includes("\0") && reason.isWellFormed();
  return isStorable && reason !== "" && reason.length <= LONGEST_REASON ? reason : null;
}

/** The last `suspend` or `resume` that was requested and is not done. */
export interface OpenRequest {
  key: string;
  kind: SuspensionKind;
  reason: string | null;
}
const last = statement<{ uuid: string }, OpenRequest>("last_suspension_request").sql(
  `SELECT key, kind, detail->>'reason' AS reason FROM steps
   WHERE uuid = :uuid AND ${whereIn("suspension")} AND NOT detail ? 'isAgain' ORDER BY id DESC LIMIT 1`,
);

export const lastRequest = (tx: Queryable, uuid: string) => oneRow(tx, last, { uuid });

/** Who requests a suspension: your service, or an operator. */
export type Asker = "operator" | "service";

export type Request = {
  uuid: string;
  key: string;
  kind: SuspensionKind;
  by: Asker;
  traceparent: string | null;
} & {
  /** `null` for a `resume`. */
  reason: string | null;
};
const write = statement<Request>("write_suspension").sql(
  `WITH noted AS (
     INSERT INTO events (uuid, type, detail) VALUES (:uuid, CASE WHEN :kind = 'suspend' THEN 'suspension_asked' ELSE 'resume_asked' END,
       jsonb_strip_nulls(jsonb_build_object('by', :by::text, 'reason', :reason::text)))
   )
   INSERT INTO steps (uuid, key, kind, detail, due_at, traceparent)
   VALUES (:uuid, :key, :kind, jsonb_strip_nulls(jsonb_build_object('reason', :reason)),
     -- Who paid, and who is abusive, waits for no job that suspends thousands.
     CASE WHEN :kind = 'resume' OR :by = 'operator' THEN ${beforeAllIn("suspension")} ELSE now() END, :traceparent)`,
);

export const writeRequest = (tx: Queryable, request: Request) => tx.query(write, request);

type NewReason = { uuid: string; key: string | null; reason: string; by: Asker };
const change = statement<NewReason>("change_suspend_reason").sql(
  `WITH noted AS (
     INSERT INTO events (uuid, type, detail)
     VALUES (:uuid, 'suspend_reason_changed', jsonb_build_object('by', :by::text, 'reason', :reason::text))
   ), waiting AS (
     UPDATE steps SET detail = detail || jsonb_build_object('reason', :reason) WHERE uuid = :uuid AND key = :key::uuid
   )
   UPDATE resources SET suspend_reason = :reason, updated_at = now() WHERE uuid = :uuid AND :key IS NULL`,
);

/** `key`: of the `suspend` that is not done yet; `null` if the resource is suspended. */
export const changeReason = (tx: Queryable, reason: NewReason) => tx.query(change, reason);

const imported = statement<Suspended & { uuid: string }>("store_imported_suspension").sql(
  `UPDATE resources SET suspended_at = :since, suspend_reason = :reason WHERE uuid = :uuid`,
);

/** Stores that an imported resource is suspended. */
export const storeImportedSuspension = (tx: Queryable, uuid: string, { since, reason }: Suspended) =>
  tx.query(imported, { uuid, since, reason });

const settle = statement<Claim & { isDone: boolean }, { uuid: string }>("settle_suspension").sql(
  `WITH ended AS (
     DELETE FROM steps s WHERE ${IS_CLAIMED} AND s.${whereIn("suspension")} RETURNING s.uuid, s.kind, s.detail
   ), marked AS (
     UPDATE resources r SET suspended_at = CASE WHEN e.kind = 'suspend' THEN now() END, suspend_reason = e.detail->>'reason',
       updated_at = now()
     FROM ended e WHERE r.uuid = e.uuid AND :isDone::bool AND NOT e.detail ? 'isAgain'
   ), noted AS (
     INSERT INTO events (uuid, type)
     SELECT uuid, CASE WHEN kind = 'suspend' AND :isDone THEN 'suspended' WHEN kind = 'suspend' THEN 'suspension_refused'
       WHEN :isDone THEN 'resumed' ELSE 'resume_refused' END
     FROM ended WHERE NOT (:isDone AND detail ? 'isAgain')
   )
   SELECT uuid FROM ended`,
);

/**
 * Ends the step, and marks its resource if the vendor's function did the work. Returns `false` if another process has taken
 * the step, or if its result is stored already.
 */
export const settleSuspension = (tx: Queryable, { uuid, key, lease }: Claim, isDone: boolean) =>
  anyRow(tx, settle, { uuid, key, lease, isDone });
