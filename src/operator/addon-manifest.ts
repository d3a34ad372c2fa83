import type { Offer } from "../resources/contract.ts";

/** What a platform is told about an add-on: generated from `src/your-service/plans.ts`, so the two cannot disagree. */
export interface AddonManifest {
  id: string;
  plans: { name: string; description: string }[];
  default_plan: string;
  ephemeral_plan: string;
  regions: string[];
  config_vars: string[];
}

export function addonManifest(
  addonId: string,
  { plans, defaultPlan, ephemeralPlan, regions, configVars }: Offer,
): AddonManifest {
  return {
    id: addonId,
    plans: Object.entries(plans).map(([name, { description }]) => ({ name, description })),
    default_plan: defaultPlan,
    ephemeral_plan: ephemeralPlan,
    regions: [...regions],
    config_vars: [...configVars],
  };
}
