import { checkOffer } from "../resources/check-offer.ts";
import type { Offer } from "../resources/contract.ts";

/** What a platform is told about an add-on: generated from `src/your-service/plans.ts`, so the two cannot disagree. */
export interface AddonManifest {
  id: string;
  plans: { name: string; description: string }[];
  default_plan: string;
  ephemeral_plan: string;
  regions: string[];
  config_vars: string[];
  /** What all of them begin with; absent where they have no first word in common. */
  config_vars_prefix?: string;
  requires?: string[];
}

/** Throws `Misconfigured` for an offer that does not fit together. */
export function addonManifest(addonId: string, offer: Offer): AddonManifest {
  checkOffer(offer);
  const { plans, defaultPlan, ephemeralPlan, regions, configVars, requires = [] } = offer;
  const prefix = commonPrefix(configVars);
  return {
    id: addonId,
    plans: Object.entries(plans).map(([name, { description }]) => ({ name, description })),
    default_plan: defaultPlan,
    ephemeral_plan: ephemeralPlan,
    regions: [...regions],
    config_vars: [...configVars],
    ...(prefix && { config_vars_prefix: prefix }),
    ...(requires.length > 0 && { requires: [...requires] }),
  };
}

/** Where the platform finds the service. The shape is an assumption: the platform's document shows none. */
export interface Addresses {
  /** What provision is posted to; a resource's uuid follows behind a slash. */
  base_url: string;
  /** Where customers sign on; absent while they cannot. */
  sso_url?: string;
}

export function addressesOf(service: {
  publicUrl: string;
  resourcesPath: string;
  hasSignOn: boolean;
}): Addresses {
  const { publicUrl, resourcesPath, hasSignOn } = service;
  return {
    base_url: `${publicUrl}${resourcesPath}`,
    ...(hasSignOn && { sso_url: `${publicUrl}/sso/login` }),
  };
}

/** The words, from the first on, that all names share, and behind which each has one more: TEAPOT. */
function commonPrefix(names: readonly string[]): string {
  const words = names.map((name) => name.split("_").slice(0, -1));
  const [first = []] = words;
  const end = first.findIndex((word, index) => !words.every((each) => each[index] === word));
  return (end < 0 ? first : first.slice(0, end)).join("_");
}
