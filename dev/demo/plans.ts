import { offer } from "../../src/your-service/plans.ts";
import { otherPlan } from "../other-plan.ts";

// The demonstration uses the plans on offer, so that it works for a fork as well as for the sample.
const names = Object.keys(offer.plans);

export const FIRST_PLAN = offer.defaultPlan;
/** A plan to change to. */
export const OTHER_PLAN = otherPlan(offer, FIRST_PLAN);
/** A plan that is provisioned asynchronously. */
export const LATER_PLAN = names.find((name) => offer.plans[name]?.later);
export const CONFIG_VARS = offer.configVars;
