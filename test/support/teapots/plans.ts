import type { Offer } from "../../../src/resources/contract.ts";

export const addonId = "teapots";

/** The offer in the kit's tests, whatever `src/your-service` sells. */
export const offer: Offer = {
  plans: {
    basic: { description: "A teapot for one" },
    premium: { description: "A teapot for six" },
    dedicated: { description: "A teapot fired to order", later: "Your teapot is being fired." },
  },
  defaultPlan: "basic",
  ephemeralPlan: "basic",
  regions: ["us", "eu"],
  configVars: ["TEAPOT_URL", "TEAPOT_TOKEN"],
};
