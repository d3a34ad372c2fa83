import { isoTime } from "../world/clock.ts";
import type { LogDrainRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import { reference } from "./reference.ts";

/** A log drain as the API shows it (assumed, section 5). */
export function logDrainShape(world: World, drain: LogDrainRecord) {
  const app = reference(world.apps.get(drain.appId)!);
  const addon = drain.addonId === null ? null : world.addons.get(drain.addonId)!;
  return {
    id: drain.id,
    url: drain.url,
    token: drain.token,
    addon: addon && { ...reference(addon), app: reference(world.apps.get(addon.appId)!) },
    app,
    created_at: isoTime(drain.createdAt),
    updated_at: isoTime(drain.updatedAt),
  };
}
