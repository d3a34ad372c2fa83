import { defineOffer } from "../offer.ts";

export const addonId = "drawers";

/** The limits of each plan: concurrent connections, and size in MB. */
export const sizes: Readonly<Record<string, { connections: number; megabytes: number }>> = {
  small: { connections: 3, megabytes: 10 },
  large: { connections: 20, megabytes: 1_000 },
  reserved: { connections: 50, megabytes: 10_000 },
};

export const later = "Room is being reserved for you; your drawer opens in a few minutes.";

export const offer = defineOffer({
  plans: {
    small: { description: "A drawer with 3 connections and 10 MB" },
    large: { description: "A drawer with 20 connections and 1 GB" },
    reserved: { description: "A drawer with 50 connections and 10 GB of its own", later },
  },
  defaultPlan: "small",
  ephemeralPlan: "small",
  regions: ["us", "eu"],
  configVars: ["DRAWER_URL"],
});
