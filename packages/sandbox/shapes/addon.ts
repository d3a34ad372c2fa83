import { varsOnItsApp } from "../world/attachments.ts";
import { isoTime } from "../world/clock.ts";
import type { AddonRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import { named, reference } from "./reference.ts";

/** An add-on as the API shows it (assumed, section 5). */
export function addonShape(world: World, addon: AddonRecord) {
  const service = world.settings.addonId;
  const plan = `${service}:${addon.plan}`;
  const app = world.apps.get(addon.appId)!;
  const price = world.settings.addonManifest?.plans.find(({ name }) => name === addon.plan)?.price;
  const team = app.teamId === null ? undefined : world.teams.get(app.teamId);
  return {
    id: addon.id,
    name: addon.name,
    state: addon.state,
    addon_service: named("service", service),
    plan: named("plan", plan),
    app: reference(app),
    billing_entity: team ? { ...reference(team), type: "team" } : { ...reference(app), type: "app" },
    billed_price: price ? { cents: price.cents, contract: false, unit: price.unit } : null,
    config_vars: varsOnItsApp(world, addon),
    actions: [],
    provider_id: addon.providerId ?? addon.id,
    ...(addon.provisionMessage !== null && { provision_message: addon.provisionMessage }),
    web_url: null,
    created_at: isoTime(addon.createdAt),
    updated_at: isoTime(addon.updatedAt),
  };
}

export type AddonShape = ReturnType<typeof addonShape>;
