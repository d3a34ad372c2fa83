import type { CustomerResource } from "../customer/contract.ts";

/** How much of the quota is used. */
export interface Usage {
  used: number;
  included: number;
  /** The unit, in the plural. */
  unit: string;
}

const CUPS_A_DAY: Readonly<Record<string, number>> = { basic: 8, premium: 48, dedicated: 480 };

/**
 * The sample's usage: a teapot pours a cup every two hours of today (UTC). Null: nothing is counted in this plan.
 * Replace the body with a call to your own service; if it throws, the page says that usage is not known and shows the
 * rest.
 */
export async function usageOf(
  { plan, createdAt }: CustomerResource,
  now = new Date(),
): Promise<Usage | null> {
  const included = CUPS_A_DAY[plan];
  if (included === undefined) return null;
  const midnight = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  const hours = (now.getTime() - Math.max(midnight, createdAt.getTime())) / 3_600_000;
  return { used: Math.min(Math.max(Math.floor(hours / 2), 0), included), included, unit: "cups today" };
}
