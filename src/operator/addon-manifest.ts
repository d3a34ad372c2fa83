import { checkOffer } from "../resources/check-offer.ts";
import type { Offer } from "../resources/contract.ts";

/**
 * An add-on's manifest for the platform. It is generated from `src/your-service/plans.ts`, so the two cannot disagree.
 */
export interface AddonManifest {
  id: string;
  plans: { name: string; description: string }[];
  default_plan: string;
  ephemeral_plan: string;
  regions: string[];
  config_vars: string[];
  /** The words that all of `config_vars` begin with; absent if they share none. */
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

/**
 * The addresses at which the platform calls the service. The shape is an assumption: the platform's document shows
 * none.
 */
export interface Addresses {
  /** The URL of the provision POST; the other calls append a slash and the resource's uuid. */
  base_url: string;
  /** The URL of single sign-on; absent if sign-on is not configured. */
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

/**
 * The leading words that all names share, leaving each name at least one word of its own: SHOP for SHOP_URL and
 * SHOP_TOKEN.
 */
function commonPrefix(names: readonly string[]): string {
  const words = names.map((name) => name.split("_").slice(0, -1));
  const [first = []] = words;
  const end = first.findIndex((word, index) => !words.every((each) => each[index] === word));
  return (end < 0 ? first : first.slice(0, end)).join("_");
}
