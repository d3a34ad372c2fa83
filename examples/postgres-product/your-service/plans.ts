import { defineOffer } from "../offer.ts";

export const addonId = "drawers";

export const later = "Room is being reserved for you; your drawer opens in a few minutes.";

export const offer = defineOffer({
  plans: {
    small: {
      description: "A drawer to try",
      price: { cents: 0, unit: "month" },
      limits: { connections: 3, megabytes: 10 },
    },
    large: {
      description: "A drawer for a product",
      price: { cents: 2_900, unit: "month" },
      limits: { connections: 20, megabytes: 1_000 },
    },
    reserved: {
      description: "A drawer with room of its own",
      price: { cents: 19_900, unit: "month" },
      limits: { connections: 50, megabytes: 10_000 },
      later,
    },
  },
  includes: ({ connections, megabytes }) => ({ room: { bytes: megabytes * 1e6 }, connections }),
  defaultPlan: "small",
  ephemeralPlan: "small",
  regions: ["us", "eu"],
  configVars: ["DRAWER_URL"],
});
