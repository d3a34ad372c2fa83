import type { Platform } from "../platform.ts";
import { type AddonShape, addonShape } from "../shapes/addon.ts";
import { markProvisioned } from "../world/addon-life.ts";
import { addAddon } from "../world/addons.ts";
import { addApp, regionOf } from "../world/apps.ts";
import type { InstallWish } from "./delivery-wishes.ts";
import { findApp } from "./find.ts";
import { choosePlan } from "./plans.ts";

/** Installations older than the partner's service: the platform has them, and never sends their provision request. */
export function createInstalledBefore({ world, changed }: Platform) {
  return {
    /** An add-on that was provisioned long ago, by hand or by another service. No grant of it was ever exchanged. */
    installWithoutProvision(wish: InstallWish = {}): { addon: AddonShape } {
      const known = wish.app === undefined ? undefined : findApp(world, wish.app);
      const environment = known?.setup?.environment;
      const plan = choosePlan(world.settings, wish.plan, { force: wish.force, environment });
      if (!wish.force) regionOf(world, wish.region);
      const app = known ?? addApp(world, {});
      const addon = addAddon(world, app, { ...wish, plan });
      // The former service's own id is unknown; a `providerId` that is set means that it answered.
      addon.providerId = addon.id;
      markProvisioned(world, addon);
      changed();
      return { addon: addonShape(world, addon) };
    },
  };
}
