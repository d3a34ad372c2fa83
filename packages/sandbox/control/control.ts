import type { Platform } from "../platform.ts";
import { createAppControl } from "./apps.ts";
import { createCredentials } from "./credentials.ts";
import { createDeliveries } from "./deliveries.ts";
import { createIncidentControl } from "./incidents.ts";
import { createPeople } from "./people.ts";
import { createSilentChanges } from "./silent-changes.ts";
import { createWorldControl } from "./world-control.ts";

/** The control API as functions in the same process; each method is one call of `/sandbox/…` and returns the same. */
export function createControl(platform: Platform) {
  return {
    ...createWorldControl(platform),
    ...createAppControl(platform),
    ...createDeliveries(platform),
    ...createSilentChanges(platform),
    ...createCredentials(platform),
    ...createIncidentControl(platform),
    ...createPeople(platform),
  };
}

export type Control = ReturnType<typeof createControl>;
