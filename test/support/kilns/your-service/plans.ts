import type { Offer } from "../resources/contract.ts";

export const addonId = "kilns";

/**
 * A product unlike the teapots: the default plan is asynchronous, there are no config vars, and plan changes are
 * refused or slow.
 */
export const offer: Offer = {
  plans: {
    brick: { description: "A kiln of bricks", later: "Your kiln is being built." },
    clay: { description: "A kiln of clay" },
    glass: { description: "A kiln of glass, for which the old one is moved" },
  },
  defaultPlan: "brick",
  ephemeralPlan: "brick",
  regions: ["tokyo"],
  configVars: [],
};
