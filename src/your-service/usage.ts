import type { CustomerResource } from "../people/contract.ts";

/** How much of the quota is used. */
export interface Usage {
  used: number;
  included: number;
  /** The unit, in the plural. */
  unit: string;
}

/**
 * The sample's usage: the hours of today (UTC) since the add-on was bought. Null: nothing is counted, as here while it
 * is being made. Replace the body with a call to your own service; if it throws, the page says that usage is not known
 * and shows the rest.
 */
export async function usageOf(
  { state, createdAt }: CustomerResource,
  now = new Date(),
): Promise<Usage | null> {
  if (state !== "provisioned") return null;
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  const hours = (now.getTime() - Math.max(midnight, createdAt.getTime())) / 3_600_000;
  return { used: Math.max(Math.floor(hours), 0), included: 24, unit: "hours today" };
}
