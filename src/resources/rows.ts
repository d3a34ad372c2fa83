import type { Resource } from "../database/client/client.ts";
import { columnsOf, type RowOf, type Typed } from "../database/statement.ts";
import type { Secret } from "../secret.ts";
import type { ResourceState } from "./states.ts";

/** A validated provision request (assumed, section 1), without the members that the kit does not know. */
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
  /** The id of the request in the log, also on later lines about its work; `null` without a request. */
  requestId: string | null;
}

export interface Grant {
  code: Secret;
  /** The platform's value, for information only: no decision uses it, because clocks differ. */
  expiresAt: Date | null;
}

/** The columns of a {@link ResourceRow}, of a table aliased `r`. */
export const RESOURCE_COLUMNS = columnsOf<
  Typed<Resource, { state: ResourceState; options: Record<string, unknown> }>
>()(
  "r",
  "uuid",
  "name",
  "plan",
  "region",
  "options",
  "state",
  "answerStatus",
  "sealedAnswer",
  "sealedConfig",
  "sealedLogInputUrl",
  "sealedLogDrainToken",
  "suspendedAt",
  "suspendReason",
);

/** `plan`: the plan that the vendor's service has made. While it changes, the step holds the new plan. */
export type ResourceRow = RowOf<typeof RESOURCE_COLUMNS>;

/** Whether the row is the tombstone of a deprovision that came without a provision before it. */
export function wasNeverProvisioned({ plan, state }: Pick<ResourceRow, "plan" | "state">): boolean {
  return state === "deprovisioned" && plan === "";
}
