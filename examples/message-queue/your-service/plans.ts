import { z } from "zod";
import { defineOffer } from "../offer.ts";

export const addonId = "pigeonpost";

export const offer = defineOffer({
  plans: {
    loft: {
      description: "One queue to try",
      price: { cents: 0, unit: "month" },
      limits: { messagesPerDay: 1_000 },
      features: { replay: false },
    },
    tower: {
      description: "One queue for a product",
      price: { cents: 1_900, unit: "month", metered: "1 cent per 1,000 messages" },
      limits: { messagesPerDay: 100_000 },
      features: { replay: true },
    },
  },
  includes: ({ messagesPerDay }, { replay }) => ({
    messages: { count: messagesPerDay, per: "day" },
    replay: replay ? "the last day's messages" : "none",
  }),
  defaultPlan: "loft",
  ephemeralPlan: "loft",
  regions: ["us", "eu"],
  configVars: ["PIGEON_URL", "PIGEON_KEY"],
  // What the customer may write behind the plan: --order strict
  options: z.object({
    order: z.enum(["strict", "loose"]).default("loose").describe("strict: one message at a time, in order"),
    label: z.string().max(40).optional().describe("how your team calls the queue"),
  }),
  // The broker answers at once what it has begun; only one that hangs takes longer.
  limits: { provision: 20, changePlan: 20, finish: 20, deprovision: 60 },
});
