import type { Platform } from "../platform.ts";
import { markDeprovisioned } from "../world/addon-life.ts";
import type { AddonRecord } from "../world/records.ts";
import { checkRefusal, SHOULD_BE_410 } from "./answer-check.ts";
import { partnerHeaders } from "./basic.ts";
import { callPartner } from "./calls.ts";

/**
 * `DELETE {path}/{uuid}` without a body. 204 ends the resource and its tokens, and so does a service that no longer
 * knows it (404, 410); after anything else it stays `deprovisioning` and the request can be sent again. Once the service
 * has said that it is gone, 410 is the only right answer.
 */
export function sendDeprovision(platform: Platform, addon: AddonRecord) {
  const { world } = platform;
  const wasOver = addon.isEndConfirmed;
  // What was given up for want of an answer may be there all the same.
  if (addon.deprovisionedAt === null && !addon.isRefused) addon.state = "deprovisioning";
  return callPartner(platform, {
    method: "DELETE",
    path: `${world.settings.resourcesPath}/${addon.id}`,
    headers: partnerHeaders(world, false),
    receive(response) {
      const { status } = response;
      const isSuccess = status !== null && status >= 200 && status < 300;
      const isDone = isSuccess || status === 404 || status === 410;
      if (isDone && addon.deprovisionedAt === null) markDeprovisioned(world, addon);
      if (isSuccess || status === 410) addon.isEndConfirmed = true;
      if (status === 404) addon.isEndForeseen = true;
      if (!isSuccess) return checkRefusal(response);
      if (wasOver) return [SHOULD_BE_410];
      return status === 204 ? [] : [`A deprovision is answered with 204, not ${status}.`];
    },
  });
}
