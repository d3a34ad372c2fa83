import { defineOffer } from "../offer.ts";

/** The add-on's id, for development and tests. In production `ADDON_ID` has it. */
export const addonId = "teapots";

/** What is on offer: plans, regions, config vars, and the sentences customers read. */
export const offer = defineOffer({
  plans: {
    basic: { description: "A teapot for one, shared kiln" },
    premium: { description: "A teapot for six, its own shelf" },
    dedicated: {
      description: "A teapot fired to order",
      later: "Your teapot is being fired. Its config vars appear when it has cooled, in a few minutes.",
    },
  },
  defaultPlan: "basic",
  ephemeralPlan: "basic",
  regions: ["us", "eu"],
  configVars: ["TEAPOT_URL", "TEAPOT_TOKEN"],
});

export const messages = {
  ready: "Your add-on is ready: its address is in TEAPOT_URL.",
  changed: (plan: string) => `Your add-on is now ${plan}; TEAPOT_URL has its new address.`,
};
