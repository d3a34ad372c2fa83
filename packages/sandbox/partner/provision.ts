import type { Platform } from "../platform.ts";
import { markBegunAnew, markFailed, markProvisioned, markRefused, mergeConfig } from "../world/addon-life.ts";
import { isForgotten } from "../world/addons.ts";
import { isNewerGeneration } from "../world/apps.ts";
import { acceptGrant, grantShape, invalidateGrant, invalidateGrants } from "../world/grants.ts";
import { uuidOf } from "../world/identity.ts";
import { addLogDrain, drainTokenOf } from "../world/log-drains.ts";
import type { AddonRecord, GrantRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import { checkBody, type CheckedBody, checkRefusal, SHOULD_BE_410 } from "./answer-check.ts";
import { partnerHeaders } from "./basic.ts";
import { callPartner, type PartnerResponse } from "./calls.ts";

/**
 * Sends the provision request of a resource, for the first time or again ("Provision request received…"). Delivery is
 * at least once: the setting `redeliveries` is the number of times the same request is sent again while no answer
 * arrives.
 */
export async function sendProvision(
  platform: Platform,
  addon: AddonRecord,
  grant: GrantRecord,
  plan = requestedPlanOf(addon),
): Promise<PartnerResponse> {
  for (let left = platform.world.settings.redeliveries; ; left--) {
    const isLast = left <= 0;
    const response = await deliverProvision(platform, addon, grant, { plan, isLast });
    if (response.status !== null || isLast || platform.closing.aborted || isForgotten(platform.world, addon))
      return response;
  }
}

/** A single delivery. Without an answer, the provision has failed only if this was the last delivery. */
export function deliverProvision(
  platform: Platform,
  addon: AddonRecord,
  grant: GrantRecord,
  { plan = requestedPlanOf(addon), isLast }: { plan?: string; isLast: boolean },
): Promise<PartnerResponse> {
  const sent = { world: platform.world, addon, grant, wasOver: addon.isEndConfirmed === true };
  return callPartner(platform, {
    ...provisionCall(platform, addon, grant, plan),
    receive: (response) =>
      response.status === null && !isLast ? checkRefusal(response) : receiveProvision(sent, response),
  });
}

/** A repeated delivery is the same request, so it keeps the plan from before any plan change. */
function requestedPlanOf({ requestedPlan, plan }: AddonRecord): string {
  return requestedPlan ?? plan;
}

function provisionCall(platform: Platform, addon: AddonRecord, grant: GrantRecord, plan: string) {
  const { world } = platform;
  return {
    method: "POST",
    path: world.settings.resourcesPath,
    headers: partnerHeaders(world, true),
    body: JSON.stringify({
      uuid: addon.id,
      name: addon.name,
      plan,
      region: addon.region,
      options: addon.options,
      callback_url: `${platform.publicUrl()}/addons/${addon.id}`,
      oauth_grant: grantShape(grant),
      ...logMembers(world, addon),
    }),
  };
}

/** One request that was sent. */
interface Sent {
  world: World;
  addon: AddonRecord;
  grant: GrantRecord;
  /** The service had confirmed before that the resource is gone. */
  wasOver: boolean;
}

/**
 * The answer decides on the grant and the resource ("States and transitions"). Without an answer the grant stays as it
 * was: the platform may deliver the same request again.
 */
function receiveProvision(sent: Sent, response: PartnerResponse): string[] {
  const { world, addon, grant, wasOver } = sent;
  if (isForgotten(world, addon)) return [];
  if (response.status === null) {
    const isOpen = addon.providerId === null && addon.state !== "deprovisioning";
    if (isOpen) markFailed(world, addon, response.error ?? "There was no answer.");
    return checkRefusal(response);
  }
  const status = response.status === 201 && world.settings.acceptCreated ? 200 : response.status;
  if (status !== 200 && status !== 202) return refuse(sent, response);
  if (addon.deprovisionedAt !== null) {
    invalidateGrant(grant, "The add-on was deprovisioned.");
    return wasOver || addon.isEndForeseen ? [SHOULD_BE_410] : [];
  }
  // A grant may also be invalid because another one was exchanged.
  if (addon.isRefused || (grant.state === "invalid" && addon.state === "deprovisioned")) {
    invalidateGrant(grant, "The provision was refused.");
    return ["The provision had failed for good before; a later success changes nothing."];
  }
  return accept(sent, response, status);
}

function accept({ world, addon, grant }: Sent, response: PartnerResponse, status: 200 | 202): string[] {
  const checked = checkBody(world, response);
  const { complaints, id, config, logDrainUrl } = checked;
  if (id === undefined) complaints.push("id is missing: the service's own name for the resource, a string.");
  if (status === 202 && config.length > 0)
    complaints.push("A 202 carries no config; it is set with PATCH when the work is done.");
  if (logDrainUrl !== undefined && isNewerGeneration(world.apps.get(addon.appId)!))
    complaints.push(
      "Log drains are not available for apps of the newer generation; log_drain_url is ignored.",
    );
  acceptGrant(world, grant);
  // A repeated answer is identical to the first one, so it must not overwrite later changes.
  if (addon.state !== "provisioned" || !addon.wasTakenUp) takeUp(world, addon, checked, status);
  return complaints;
}

/** Applies a success to a resource that is not provisioned yet, or that was installed before the service existed. */
function takeUp(world: World, addon: AddonRecord, body: CheckedBody, status: 200 | 202): void {
  const { id, message, config, logDrainUrl } = body;
  addon.wasTakenUp = true;
  addon.providerId = id ?? addon.providerId ?? addon.id;
  addon.updatedAt = world.clock.now();
  // An uninstall under way is not undone.
  if (addon.state === "deprovisioning") return;
  if (message !== undefined) addon.provisionMessage = message;
  if (status === 200) {
    mergeConfig(world, addon, config);
    markProvisioned(world, addon, message);
  } else if (addon.state === "deprovisioned") markBegunAnew(world, addon);
  if (logDrainUrl !== undefined && !isNewerGeneration(world.apps.get(addon.appId)!))
    addLogDrain(world, {
      url: logDrainUrl,
      token: drainTokenOf(addon),
      addonId: addon.id,
      appId: addon.appId,
    });
}

function refuse({ addon, grant, world, wasOver }: Sent, response: PartnerResponse): string[] {
  const { status, body } = response;
  const wasExchanged = grant.state === "exchanged";
  const because = `The provision request was answered with ${status}, which is no success: the grant is invalid.`;
  invalidateGrant(grant, because);
  // The service should answer this for a resource that it has deprovisioned (assumed, section 1), or failed to make.
  const isKnownEnd = status === 410 || (status === 422 && !wasOver);
  if (isKnownEnd && addon.deprovisionedAt !== null) return checkRefusal(response);
  if (wasExchanged)
    return [`A repeated provision request was answered with ${status} after the grant was exchanged.`];
  const message = (body as { message?: unknown } | null)?.message;
  if (addon.deprovisionedAt === null && addon.state !== "provisioned") {
    invalidateGrants(world, addon.id, because);
    const mark = isDefinite(status) ? markRefused : markFailed;
    mark(world, addon, typeof message === "string" ? message : `The service answered ${status}.`);
  }
  const isStrange = status !== null && status < 300;
  return isStrange
    ? [
        `${status} is no success here: only 200 and 202 are${status === 201 ? ", unless the setting acceptCreated is on" : ""}.`,
      ]
    : checkRefusal(response);
}

/**
 * A 5xx means that the service cannot now, not that it refuses for good: this grant is dead, but a new one may succeed.
 */
function isDefinite(status: number | null): boolean {
  return status !== null && status < 500;
}

/** Only if the add-on's manifest requires them (assumed, section 1). */
function logMembers(world: World, addon: AddonRecord): Record<string, string> {
  if (!world.settings.addonManifest?.requires?.includes("log_input")) return {};
  return {
    // The same in every delivery of the request.
    log_input_url: `https://logs.platform-apps.example.com/${addon.id}/input?token=${uuidOf(`log input ${addon.id}`)}`,
    log_drain_token: drainTokenOf(addon),
  };
}
