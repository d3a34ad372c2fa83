import { plansOnSale } from "../../src/offer.ts";
import { offer } from "../../src/your-service/plans.ts";
import { otherPlan } from "../other-plan.ts";

// The demonstration uses the plans on offer, so that it works for a fork as well as for the sample.

export const FIRST_PLAN = offer.defaultPlan;
/** A plan to change to. */
export const OTHER_PLAN = otherPlan(offer, FIRST_PLAN);
/** A plan that is provisioned asynchronously. */
export const LATER_PLAN = plansOnSale(offer).find(([, { later }]) => later)?.[0];
export const CONFIG_VARS = offer.configVars;
