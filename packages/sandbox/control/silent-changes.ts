import type { Platform } from "../platform.ts";
import { type AddonShape, addonShape } from "../shapes/addon.ts";
import { markProvisioned, markVanished } from "../world/addon-life.ts";
import { addAddon } from "../world/addons.ts";
import { addApp, regionOf } from "../world/apps.ts";
import type { InstallWish } from "./delivery-wishes.ts";
import { findAddon, findApp } from "./find.ts";
import { choosePlan } from "./plans.ts";

/** Ledgers that differ: what the platform has or ends without a request to the service. */
export function createSilentChanges({ world, changed }: Platform) {
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

    /** Ends an add-on as when its deprovision never arrives: the service still has it. */
    removeWithoutDeprovision(id: string): { addon: AddonShape } {
      const addon = findAddon(world, id);
      markVanished(world, addon);
      changed();
      return { addon: addonShape(world, addon) };
    },
  };
}
