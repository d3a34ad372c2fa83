import type { Platform } from "../platform.ts";
import { delay } from "../wire/delay.ts";
import { giveUpIfOverdue } from "../world/addon-life.ts";
import { livingGrant } from "../world/grants.ts";
import type { AddonRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import { deliverProvision } from "./provision.ts";

/** A service that starts together with the platform is there within a minute. */
const DELIVERIES = 12;
export const RESUME_PAUSE_MS = 5000;

/** Delivers again the provision requests whose answers a sandbox before this one did not live to hear, every `pauseMs`. */
export function resumeProvisions(platform: Platform, pauseMs: number): void {
  const { world } = platform;
  for (const addon of world.addons.all()) {
    // What becomes of it stands in the ledger; it ends early where the sandbox closes.
    if (isUnheard(world, addon)) resume(platform, addon, pauseMs).catch(() => undefined);
  }
}

async function resume(platform: Platform, addon: AddonRecord, pauseMs: number): Promise<void> {
  const { world } = platform;
  for (let left = DELIVERIES; isUnheard(world, addon); left--) {
    // The grant that was sent before may have expired meanwhile.
    await deliverProvision(platform, addon, livingGrant(world, addon), { isLast: left === 1 });
    await delay(pauseMs, platform.closing);
  }
}

function isUnheard(world: World, addon: AddonRecord): boolean {
  const { state, providerId } = giveUpIfOverdue(world, addon);
  return state === "provisioning" && providerId === null && world.addons.get(addon.id) === addon;
}
