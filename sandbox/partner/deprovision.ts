import type { Platform } from "../platform.ts";
import { markDeprovisioned } from "../world/addon-life.ts";
import type { AddonRecord } from "../world/records.ts";
import { checkRefusal } from "./answer-check.ts";
import { partnerHeaders } from "./basic.ts";
import { callPartner } from "./calls.ts";

/**
 * `DELETE {path}/{uuid}` without a body. 204 ends the resource and its tokens, and so does a service that no longer
 * knows it (404, 410); after anything else it stays `deprovisioning` and the request can be sent again.
 */
export function sendDeprovision(platform: Platform, addon: AddonRecord) {
  const { world } = platform;
  if (addon.state !== "deprovisioned") addon.state = "deprovisioning";
  return callPartner(platform, {
    method: "DELETE",
    path: `${world.settings.resourcesPath}/${addon.id}`,
    headers: partnerHeaders(world, false),
    receive(response) {
      const { status } = response;
      const isDone = status !== null && ((status >= 200 && status < 300) || status === 404 || status === 410);
      if (isDone) markDeprovisioned(world, addon);
      if (status === 204) return [];
      return status !== null && status < 300
        ? [`A deprovision is answered with 204, not ${status}.`]
        : checkRefusal(response);
    },
  });
}
