import type { Platform } from "../platform.ts";
import { mergeConfig } from "../world/addon-life.ts";
import type { AddonRecord } from "../world/records.ts";
import { checkBody, checkRefusal, SHOULD_BE_410 } from "./answer-check.ts";
import { partnerHeaders } from "./basic.ts";
import { callPartner } from "./calls.ts";

/**
 * `PUT {path}/{uuid}` with the bare plan name. A success changes the plan, any other answer leaves it (assumed, section
 * 1). For a resource that has ended, or whose provision was refused, a success leaves it too.
 */
export function sendPlanChange(platform: Platform, addon: AddonRecord, plan: string) {
  const { world } = platform;
  const wasOver = addon.isEndConfirmed;
  return callPartner(platform, {
    method: "PUT",
    path: `${world.settings.resourcesPath}/${addon.id}`,
    headers: partnerHeaders(world, true),
    body: JSON.stringify({ plan }),
    receive(response) {
      const { status } = response;
      if ((status === 404 || status === 410) && isAlive(addon))
        return [`The resource lives; the answer should not be ${status}.`, ...checkRefusal(response)];
      if (status !== 200 && status !== 202) return checkRefusal(response);
      if (addon.isRefused) return ["The provision was refused: there is no plan to change."];
      if (addon.deprovisionedAt !== null) return wasOver ? [SHOULD_BE_410] : [];
      const { complaints, message, config } = checkBody(world, addon, response);
      addon.plan = plan;
      addon.updatedAt = world.clock.now();
      if (message !== undefined) addon.provisionMessage = message;
      mergeConfig(world, addon, config);
      return complaints;
    },
  });
}

/** The service accepted its provision, and it is not being deprovisioned. */
function isAlive({ wasTakenUp, state }: AddonRecord): boolean {
  return wasTakenUp === true && (state === "provisioning" || state === "provisioned");
}
