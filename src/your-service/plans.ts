import { defineOffer } from "../offer.ts";

/** The add-on's id, for development and tests. In production `ADDON_ID` has it. */
export const addonId = "teapots";

/** What is on offer: plans, regions, config vars, and the sentences customers read. */
export const offer = defineOffer({
  plans: {
    basic: {
      description: "A teapot for one, shared kiln",
      price: { cents: 0, unit: "month" },
      includes: { cups: 1, storage: { bytes: 250e6 } },
    },
    premium: {
      description: "A teapot for six, its own shelf",
      price: { cents: 900, unit: "month" },
      includes: { cups: 6, storage: { bytes: 10e9 } },
    },
    dedicated: {
      description: "A teapot fired to order",
      price: { cents: 4_900, unit: "month" },
      includes: { cups: 1_000, storage: "as much as you pour" },
      later: "Your teapot is being fired. Its config vars appear when it has cooled, in a few minutes.",
    },
  },
  defaultPlan: "basic",
  ephemeralPlan: "basic",
  regions: ["us", "eu"],
  configVars: ["TEAPOT_URL", "TEAPOT_TOKEN"],
});

export const messages = {
  ready: "Your add-on is ready: its address and its token are in your app's config vars.",
  changed: (plan: string) => `Your add-on is now ${plan}; TEAPOT_URL has its new address.`,
};
