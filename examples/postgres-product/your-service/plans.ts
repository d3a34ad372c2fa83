import { defineOffer } from "../offer.ts";

export const addonId = "drawers";

/** The limits of each plan: concurrent connections, and size in MB. */
export const sizes = {
  small: { connections: 3, megabytes: 10 },
  large: { connections: 20, megabytes: 1_000 },
  reserved: { connections: 50, megabytes: 10_000 },
};

export const later = "Room is being reserved for you; your drawer opens in a few minutes.";

/** The same for customers, on their page. */
function includes(plan: keyof typeof sizes) {
  const { connections, megabytes } = sizes[plan];
  return { room: { bytes: megabytes * 1e6 }, connections };
}

export const offer = defineOffer({
  plans: {
    small: { description: "A drawer to try", includes: includes("small") },
    large: { description: "A drawer for a product", includes: includes("large") },
    reserved: { description: "A drawer with room of its own", includes: includes("reserved"), later },
  },
  defaultPlan: "small",
  ephemeralPlan: "small",
  regions: ["us", "eu"],
  configVars: ["DRAWER_URL"],
});
