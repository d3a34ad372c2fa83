import { defineOffer } from "../offer.ts";

export const addonId = "pigeonpost";

export const offer = defineOffer({
  plans: {
    loft: { description: "One queue, 1,000 messages a day" },
    tower: { description: "One queue, 100,000 messages a day" },
  },
  defaultPlan: "loft",
  ephemeralPlan: "loft",
  regions: ["us", "eu"],
  configVars: ["PIGEON_URL", "PIGEON_KEY"],
  publicConfigVars: ["PIGEON_URL"],
  // The broker answers at once what it has begun; only one that hangs takes longer.
  limits: { provision: 20, changePlan: 20, finish: 20, deprovision: 60 },
});
