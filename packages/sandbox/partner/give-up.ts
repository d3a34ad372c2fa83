import type { Platform } from "../platform.ts";
import { giveUpIfOverdue } from "../world/addon-life.ts";
import type { AddonRecord } from "../world/records.ts";
import { sendDeprovision } from "./deprovision.ts";

/** The calls under way. The record itself says `isUntold` until the call ends, for a sandbox that starts after this one. */
const told = new WeakSet<AddonRecord>();

/**
 * Gives up asynchronous provisions that were not reported done within 12 hours (assumed, section 2), and sends a
 * deprovision to the service, which may still be working on them.
 */
export function giveUpOverdue(platform: Platform): void {
  const { world } = platform;
  for (const addon of world.addons.all()) {
    if (!giveUpIfOverdue(world, addon).isUntold || told.has(addon)) continue;
    told.add(addon);
    // The platform has given up whatever the service answers; without an answer the next look tells it again.
    sendDeprovision(platform, addon)
      .then(({ status }) => status !== null && !platform.closing.aborted && delete addon.isUntold)
      .catch(() => undefined)
      .finally(() => told.delete(addon));
  }
}
