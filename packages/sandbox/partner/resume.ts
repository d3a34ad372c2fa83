import type { Platform } from "../platform.ts";
import { delay } from "../wire/delay.ts";
import { giveUpIfOverdue } from "../world/addon-life.ts";
import { isForgotten } from "../world/addons.ts";
import { livingGrant } from "../world/grants.ts";
import type { AddonRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import { deliverProvision } from "./provision.ts";

/** 12 deliveries, 5 s apart: a service that starts together with the platform is up within a minute. */
const DELIVERIES = 12;
const PAUSE_MS = 5000;

/** Delivers the provision requests again whose answers an earlier sandbox stopped too early to receive. */
export function resumeProvisions(platform: Platform): void {
  const { world } = platform;
  for (const addon of world.addons.all()) {
    // The ledger records the outcome; closing the sandbox ends this early.
    if (isUnheard(world, addon)) resume(platform, addon).catch(() => undefined);
  }
}

async function resume(platform: Platform, addon: AddonRecord): Promise<void> {
  const { world } = platform;
  for (let left = DELIVERIES; isUnheard(world, addon); left--) {
    // The grant that was sent before may have expired meanwhile.
    await deliverProvision(platform, addon, livingGrant(world, addon), { isLast: left === 1 });
    await delay(PAUSE_MS, platform.closing);
  }
}

function isUnheard(world: World, addon: AddonRecord): boolean {
  const { state, providerId } = giveUpIfOverdue(world, addon);
  return state === "provisioning" && providerId === null && !isForgotten(world, addon);
}
