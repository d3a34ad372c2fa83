import type { Resource } from "../database/client/client.ts";
import { columnsOf, type RowOf, type Typed } from "../database/statement.ts";
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
);

/** `plan`: as the vendor's service has made it; while it changes, the new plan stands in the step. */
export type ResourceRow = RowOf<typeof RESOURCE_COLUMNS>;

/** A tombstone without a plan: a deprovision came, and no provision before it. */
export function wasNeverProvisioned({ plan, state }: Pick<ResourceRow, "plan" | "state">): boolean {
  return state === "deprovisioned" && plan === "";
}
