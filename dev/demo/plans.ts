import { offer } from "../../src/your-service/plans.ts";
import { otherPlan } from "../other-plan.ts";

// The demonstration plays with whatever is on offer: it holds for a fork as for the sample.
const names = Object.keys(offer.plans);

export const FIRST_PLAN = offer.defaultPlan;
/** A plan to change to. */
export const OTHER_PLAN = otherPlan(offer, FIRST_PLAN);
/** A plan whose provision takes longer. */
export const LATER_PLAN = names.find((name) => offer.plans[name]?.later);
export const CONFIG_VARS = offer.configVars;
