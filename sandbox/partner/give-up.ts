import type { Platform } from "../platform.ts";
import { giveUpIfOverdue } from "../world/addon-life.ts";
import { sendDeprovision } from "./deprovision.ts";

/**
 * Gives up asynchronous provisions that were not reported done within 12 hours (assumed, section 2), and tells the
 * service, which may still be at work on them.
 */
export function giveUpOverdue(platform: Platform): void {
  const { world } = platform;
  for (const addon of world.addons.all()) {
    if (!giveUpIfOverdue(world, addon).isUntold) continue;
    delete addon.isUntold;
    // Whatever is answered, the platform has given up; what comes of it stands in the ledger.
    sendDeprovision(platform, addon).catch(() => undefined);
  }
}
