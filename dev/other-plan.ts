import { type Offer, plansOnSale } from "../src/offer.ts";

/**
 * A plan to change to from `plan`: the next one, or else one before it. Plans are listed from small to large, and a
 * service may refuse to let customers shrink. A plan that is provisioned asynchronously is chosen only if there is no
 * other.
 */
export function otherPlan(offer: Offer, plan: string): string | undefined {
  const names = plansOnSale(offer).map(([name]) => name);
  const next = names.indexOf(plan) + 1;
  const others = [...names.slice(next), ...names.slice(0, next)].filter((name) => name !== plan);
  return others.find((name) => !offer.plans[name]!.later) ?? others[0];
}
