import type { Offer } from "../src/resources/contract.ts";

/**
 * A plan to change to from `plan`, whose provision takes no longer: the next one, or else one before it. Plans are
 * listed from small to large, and a service that lets its customers grow may refuse to let them shrink.
 */
export function otherPlan({ plans }: Offer, plan: string): string | undefined {
  const names = Object.keys(plans);
  const next = names.indexOf(plan) + 1;
  return [...names.slice(next), ...names.slice(0, next)].find((name) => name !== plan && !plans[name]!.later);
}
