import { statement, type Queryable } from "../database/database.ts";
import type { SealContext, Vault } from "../vault/vault.ts";
import type { VendorResource } from "./contract.ts";

/** A resource as it is stored. */
export interface ResourceRow {
  uuid: string;
  name: string | null;
  /** As the vendor's service has made it; while it changes, the new plan stands in the step. */
  plan: string;
  region: string | null;
  options: Record<string, unknown>;
  state: "provisioning" | "provisioned" | "failed" | "deprovisioned";
  answerStatus: number | null;
  sealedAnswer: Buffer | null;
  sealedConfig: Buffer | null;
  sealedLogInputUrl: Buffer | null;
  sealedLogDrainToken: Buffer | null;
}

/**
 * The columns of a {@link ResourceRow}, of a table named or aliased `r`. The release before wrote an accepted plan into
 * `plan` before it was made, and the plan that was made into `applied_plan`; this one writes the latter into both.
 */
export const RESOURCE_COLUMNS = `r.uuid, r.name, r.applied_plan AS plan, r.region, r.options, r.state,
  r.answer_status AS "answerStatus", r.sealed_answer AS "sealedAnswer", r.sealed_config AS "sealedConfig",
  r.sealed_log_input_url AS "sealedLogInputUrl", r.sealed_log_drain_token AS "sealedLogDrainToken"`;

const find = statement("find_resource", `SELECT ${RESOURCE_COLUMNS} FROM resources r WHERE r.uuid = $1`);

/** The resource of a uuid, tombstones included; null if the platform never asked for it. */
export async function findResource(db: Queryable, uuid: string): Promise<ResourceRow | null> {
  return (await db.query<ResourceRow>(find, [uuid]))[0] ?? null;
}

/** A tombstone without a plan: a deprovision came, and no provision before it. */
export function wasNeverProvisioned({ plan, state }: Pick<ResourceRow, "plan" | "state">): boolean {
  return state === "deprovisioned" && plan === "";
}

/** What a resource's sealed secret is bound to. */
export function resourceSealContext(
  column: "sealed_answer" | "sealed_config" | "sealed_log_input_url" | "sealed_log_drain_token",
  uuid: string,
): SealContext {
  return { table: "resources", column, uuid };
}

/** A stored resource as a vendor's function gets it, in a step with this idempotency key. */
export function vendorResource(
  vault: Vault,
  row: ResourceRow,
  idempotencyKey: string,
  signal: AbortSignal,
): VendorResource {
  const { uuid, name, plan, region, options, sealedLogInputUrl, sealedLogDrainToken } = row;
  return {
    uuid,
    name,
    plan,
    region,
    options,
    idempotencyKey,
    signal,
    logInputUrl:
      sealedLogInputUrl && vault.open(resourceSealContext("sealed_log_input_url", uuid), sealedLogInputUrl),
    logDrainToken:
      sealedLogDrainToken &&
      vault.open(resourceSealContext("sealed_log_drain_token", uuid), sealedLogDrainToken),
  };
}
