import type { Platform } from "../platform.ts";
import { giveUpIfOverdue } from "../world/addon-life.ts";
import type { AddonRecord } from "../world/records.ts";
import { sendDeprovision } from "./deprovision.ts";

/**
 * From when on the service may be told, and how long to pause when it gives no answer. The record itself says `isUntold`
 * until the call has ended, for a sandbox that starts after this one.
 */
const tries = new WeakMap<AddonRecord, { notBeforeMs: number; pauseMs: number }>();
const LONGEST_PAUSE_MS = 600_000;

/**
 * Gives up asynchronous provisions that were not reported done within 12 hours (assumed, section 2), and sends a
 * deprovision to the service, which may still be working on them.
 */
export function giveUpOverdue(platform: Platform): void {
  const { world } = platform;
  for (const addon of world.addons.all()) {
    const { notBeforeMs, pauseMs } = tries.get(addon) ?? { notBeforeMs: 0, pauseMs: 0 };
    if (!giveUpIfOverdue(world, addon).isUntold || performance.now() < notBeforeMs) continue;
    tries.set(addon, { notBeforeMs: Infinity, pauseMs });
    // The platform has given up whatever the service answers; without an answer a later look tells it again.
    sendDeprovision(platform, addon)
      .then(({ status }) => status !== null && !platform.closing.aborted && delete addon.isUntold)
      .catch(() => undefined)
      .finally(() => {
        const next = Math.min(2 * pauseMs + 5_000, LONGEST_PAUSE_MS);
        tries.set(addon, { notBeforeMs: performance.now() + pauseMs, pauseMs: next });
      });
  }
}
