import type { Offer } from "../resources/contract.ts";

/** A product unlike the teapots: nothing is ready at once, nothing is set, and hardly a plan can be left. */
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
