import type { Platform } from "../platform.ts";
import { createDeliveries } from "./deliveries.ts";
import { createCredentials } from "./credentials.ts";
import { createWorldControl } from "./world-control.ts";

/** The control side in process; each method is one call of `/sandbox/…` and answers the same. */
export function createControl(platform: Platform) {
  return { ...createWorldControl(platform), ...createDeliveries(platform), ...createCredentials(platform) };
}

export type Control = ReturnType<typeof createControl>;
