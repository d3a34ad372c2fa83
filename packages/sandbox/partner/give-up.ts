import type { Platform } from "../platform.ts";
import { giveUpIfOverdue } from "../world/addon-life.ts";
import { sendDeprovision } from "./deprovision.ts";

/**
 * Gives up asynchronous provisions that were not reported done within 12 hours (assumed, section 2), and sends a
 * deprovision to the service, which may still be working on them.
 */
export function giveUpOverdue(platform: Platform): void {
  const { world } = platform;
  for (const addon of world.addons.all()) {
    if (!giveUpIfOverdue(world, addon).isUntold) continue;
    delete addon.isUntold;
    // The platform has given up whatever the service answers; the ledger records the answer.
    sendDeprovision(platform, addon).catch(() => undefined);
  }
}
