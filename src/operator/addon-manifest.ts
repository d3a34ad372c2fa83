import { checkOffer } from "../resources/check-offer.ts";
import type { Offer } from "../resources/contract.ts";

/**
 * An add-on's manifest for the platform, without the keys that the offer gives no value. `config_vars_prefix` are the
 * words that all of `config_vars` begin with. Throws `Misconfigured` for an offer that does not fit together.
 */
export function addonManifest(addonId: string, offer: Offer) {
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

/** The leading words that all names share, leaving each at least one of its own: SHOP for SHOP_URL and SHOP_TOKEN. */
function commonPrefix(names: readonly string[]): string {
  const words = names.map((name) => name.split("_").slice(0, -1));
  const [first = []] = words;
  const end = first.findIndex((word, index) => !words.every((each) => each[index] === word));
  return (end < 0 ? first : first.slice(0, end)).join("_");
}
