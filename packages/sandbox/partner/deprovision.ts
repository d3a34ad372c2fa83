import type { Platform } from "../platform.ts";
import { markDeprovisioned } from "../world/addon-life.ts";
import type { AddonRecord } from "../world/records.ts";
import { checkRefusal, SHOULD_BE_410 } from "./answer-check.ts";
import { partnerHeaders } from "./basic.ts";
import { callPartner } from "./calls.ts";

/**
 * `DELETE {path}/{uuid}` without a body. A 2xx ends the resource and its tokens, and so do 404 and 410, from a service
 * that no longer knows it. After anything else the resource stays `deprovisioning`, and the request can be sent again.
 * Once the service has confirmed the end, 410 is the only correct answer.
 */
export function sendDeprovision(platform: Platform, addon: AddonRecord) {
  const { world } = platform;
  const wasOver = addon.isEndConfirmed;
  // A provision that failed for want of an answer may exist at the service all the same.
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
      if (status === 404 && addon.wasTakenUp)
        return [
          "The service had accepted this resource; the answer should not be 404.",
          ...checkRefusal(response),
        ];
      if (!isSuccess) return checkRefusal(response);
      if (wasOver) return [SHOULD_BE_410];
      return status === 204 ? [] : [`A deprovision is answered with 204, not ${status}.`];
    },
  });
}
