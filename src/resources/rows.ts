import type { Secret } from "../secret.ts";
import type { ResourceState } from "./states.ts";

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
  /** As the log names the request, and what follows from it; null: there was none. */
  requestId: string | null;
}

export interface Grant {
  code: Secret;
  /** As the platform says, for information only: clocks differ, so no decision uses it. */
  expiresAt: Date | null;
}

export interface ResourceRow {
  uuid: string;
  name: string | null;
  /** As the vendor's service has made it; while it changes, the new plan stands in the step. */
  plan: string;
  region: string | null;
  options: Record<string, unknown>;
  state: ResourceState;
  answerStatus: number | null;
  sealedAnswer: Buffer | null;
  sealedConfig: Buffer | null;
  sealedLogInputUrl: Buffer | null;
  sealedLogDrainToken: Buffer | null;
}

/** The columns of a {@link ResourceRow}, of a table aliased `r`. (`applied_plan` is `plan`, for the release before.) */
export const RESOURCE_COLUMNS = `r.uuid, r.name, r.plan, r.region, r.options, r.state,
  r.answer_status AS "answerStatus", r.sealed_answer AS "sealedAnswer", r.sealed_config AS "sealedConfig",
  r.sealed_log_input_url AS "sealedLogInputUrl", r.sealed_log_drain_token AS "sealedLogDrainToken"`;

/** A tombstone without a plan: a deprovision came, and no provision before it. */
export function wasNeverProvisioned({ plan, state }: Pick<ResourceRow, "plan" | "state">): boolean {
  return state === "deprovisioned" && plan === "";
}
