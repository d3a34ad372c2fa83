import type { Platform } from "../platform.ts";
import { mergeConfig } from "../world/addon-life.ts";
import type { AddonRecord } from "../world/records.ts";
import { checkBody, checkRefusal } from "./answer-check.ts";
import { partnerHeaders } from "./basic.ts";
import { callPartner } from "./calls.ts";

/** `PUT {path}/{uuid}` with the bare plan name; a success changes the plan, anything else leaves it (decisions, 1). */
export function sendPlanChange(platform: Platform, addon: AddonRecord, plan: string) {
  const { world } = platform;
  return callPartner(platform, {
    method: "PUT",
    path: `${world.settings.resourcesPath}/${addon.id}`,
    headers: partnerHeaders(world, true),
    body: JSON.stringify({ plan }),
    receive(response) {
      if (response.status !== 200 && response.status !== 202) return checkRefusal(response);
      const { complaints, message, config } = checkBody(world, response);
      addon.plan = plan;
      addon.updatedAt = world.clock.now();
      if (message !== undefined) addon.provisionMessage = message;
      mergeConfig(world, addon, config);
      return complaints;
    },
  });
}
