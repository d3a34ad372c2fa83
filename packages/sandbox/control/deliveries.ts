import { exampleOptions } from "../addon-manifest.ts";
import type { PartnerResponse } from "../partner/calls.ts";
import { sendDeprovision } from "../partner/deprovision.ts";
import { sendPlanChange } from "../partner/plan-change.ts";
import { sendProvision } from "../partner/provision.ts";
import { sendSignOn, signForm } from "../partner/sign-on.ts";
import type { Platform } from "../platform.ts";
import { conflict } from "../refusal.ts";
import { type AddonShape, addonShape } from "../shapes/addon.ts";
import { addAddon, isForgotten } from "../world/addons.ts";
import { addApp, regionOf } from "../world/apps.ts";
import { issueGrant, latestGrant } from "../world/grants.ts";
import type { AddonRecord } from "../world/records.ts";
import { checkInstall, checkRedelivery, type InstallWish, type RedeliverWish } from "./delivery-wishes.ts";
import { findAddon, findApp } from "./find.ts";
import { choosePlan } from "./plans.ts";

/** The service's answer to a call, and the resource as it is afterwards. */
export interface Delivery {
  addon: AddonShape;
  response: PartnerResponse;
}

/** The calls that the platform makes to the partner, each as a customer or an operator would cause it. */
export function createDeliveries(platform: Platform) {
  const { world } = platform;
  const delivered = async (addon: AddonRecord, response: Promise<PartnerResponse>): Promise<Delivery> => {
    platform.changed();
    const answered = await response;
    if (isForgotten(world, addon)) throw conflict("The sandbox was reset while the service was asked.");
    return { addon: addonShape(world, addon), response: answered };
  };

  return {
    /** Installs the add-on on an app: sends the provision request and returns with its answer. */
    async install(given: InstallWish = {}): Promise<Delivery> {
      const wish = checkInstall(given);
      const known = wish.app === undefined ? undefined : findApp(world, wish.app);
      const environment = known?.setup?.environment;
      const plan = choosePlan(world.settings, wish.plan, { force: wish.force, environment });
      if (!wish.force) regionOf(world, wish.region);
      const app = known ?? addApp(world, {});
      const { options = exampleOptions(world.settings.addonManifest) } = wish;
      const addon = addAddon(world, app, { ...wish, plan, options });
      return delivered(addon, sendProvision(platform, addon, issueGrant(world, addon)));
    },

    /** Delivers the provision request again: delivery is at least once. */
    async redeliver(id: string, given: RedeliverWish = {}): Promise<Delivery> {
      const wish = checkRedelivery(given);
      const addon = findAddon(world, id);
      const grant = (wish.newCode ? undefined : latestGrant(world, addon.id)) ?? issueGrant(world, addon);
      return delivered(addon, sendProvision(platform, addon, grant, wish.plan));
    },

    async changePlan(id: string, plan: string, { force = false } = {}): Promise<Delivery> {
      const addon = findAddon(world, id);
      return delivered(addon, sendPlanChange(platform, addon, choosePlan(world.settings, plan, { force })));
    },

    async deprovision(id: string): Promise<Delivery> {
      const addon = findAddon(world, id);
      return delivered(addon, sendDeprovision(platform, addon));
    },

    /** The form that a customer's browser would post, signed now; `app`: where the customer comes from. */
    signOnForm(id: string, email = "owner@example.com", app?: string) {
      const contextApp = app === undefined ? undefined : findApp(world, app).name;
      return signForm(platform, findAddon(world, id), email, contextApp);
    },

    /** Posts that form, as the browser would. */
    async signOn(id: string, email = "owner@example.com"): Promise<Delivery> {
      const addon = findAddon(world, id);
      return delivered(addon, sendSignOn(platform, addon, signForm(platform, addon, email)));
    },
  };
}
