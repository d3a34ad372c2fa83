import { randomUUID } from "node:crypto";
import type { Platform } from "../platform.ts";
import { markFailed, markProvisioned, markRefused, mergeConfig } from "../world/addon-life.ts";
import { acceptGrant, grantShape, invalidateGrant } from "../world/grants.ts";
import { isNewerGeneration } from "../world/apps.ts";
import { addLogDrain } from "../world/log-drains.ts";
import type { AddonRecord, GrantRecord } from "../world/records.ts";
import type { World } from "../world/world.ts";
import { checkBody, checkRefusal, SHOULD_BE_410 } from "./answer-check.ts";
import { partnerHeaders } from "./basic.ts";
import { callPartner, type PartnerResponse } from "./calls.ts";

/**
 * Sends the provision request of a resource, again or for the first time ("Provision request received…"); delivery is
 * at least once: the setting `redeliveries` says how often the very same is sent again while nothing is answered.
 */
export async function sendProvision(
  platform: Platform,
  addon: AddonRecord,
  grant: GrantRecord,
  plan = addon.plan,
): Promise<PartnerResponse> {
  const { world } = platform;
  const call = provisionCall(platform, addon, grant, plan);
  for (let left = world.settings.redeliveries; ; left--) {
    const isLast = left <= 0;
    const receive = (response: PartnerResponse) =>
      response.status === null && !isLast
        ? checkRefusal(response)
        : receiveProvision(world, addon, grant, response);
    const response = await callPartner(platform, { ...call, receive });
    if (response.status !== null || isLast || platform.closing.aborted) return response;
  }
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

/**
 * The answer decides over the grant and the resource ("States and transitions"). No answer leaves the grant as it
 * was: the platform may deliver the same request again.
 */
function receiveProvision(
  world: World,
  addon: AddonRecord,
  grant: GrantRecord,
  response: PartnerResponse,
): string[] {
  if (response.status === null) {
    const isOpen = addon.providerId === null && addon.state !== "deprovisioning";
    if (isOpen) markFailed(world, addon, response.error ?? "There was no answer.");
    return checkRefusal(response);
  }
  if (response.status !== 200 && response.status !== 202) return refuse(world, addon, grant, response);
  if (addon.deprovisionedAt !== null) {
    invalidateGrant(grant, "The add-on was deprovisioned.");
    return [SHOULD_BE_410];
  }
  // A code may also be invalid because another one was exchanged.
  if (addon.isRefused || (grant.state === "invalid" && addon.state === "deprovisioned")) {
    invalidateGrant(grant, "The provision was refused.");
    return ["The provision had failed for good before; a later success changes nothing."];
  }
  return accept(world, addon, grant, response, response.status);
}

function accept(
  world: World,
  addon: AddonRecord,
  grant: GrantRecord,
  response: PartnerResponse,
  status: 200 | 202,
) {
  const { complaints, id, message, config, logDrainUrl } = checkBody(world, response);
  if (id === undefined) complaints.push("id is missing: the service's own name for the resource, a string.");
  acceptGrant(world, grant);
  addon.providerId = id ?? addon.providerId ?? addon.id;
  if (message !== undefined) addon.provisionMessage = message;
  if (status === 202) {
    if (config.length > 0)
      complaints.push("A 202 carries no config; it is set with PATCH when the work is done.");
    if (addon.state === "deprovisioned") addon.state = "provisioning";
  } else {
    mergeConfig(world, addon, config);
    // An uninstall that is under way is not undone.
    if (addon.state !== "deprovisioning") markProvisioned(world, addon, message);
  }
  if (logDrainUrl !== undefined && isNewerGeneration(world.apps.get(addon.appId)!))
    complaints.push(
      "Log drains are not available for apps of the newer generation; log_drain_url is ignored.",
    );
  else if (logDrainUrl !== undefined)
    addLogDrain(world, { url: logDrainUrl, addonId: addon.id, appId: addon.appId });
  addon.updatedAt = world.clock.now();
  return complaints;
}

function refuse(world: World, addon: AddonRecord, grant: GrantRecord, response: PartnerResponse): string[] {
  const { status, body } = response;
  const wasExchanged = grant.state === "exchanged";
  invalidateGrant(
    grant,
    `The provision request was answered with ${status}, which is no success: the grant is invalid.`,
  );
  // That is what the service should say of what it has given back (decisions, section 1).
  if (status === 410 && addon.deprovisionedAt !== null) return checkRefusal(response);
  if (wasExchanged)
    return [`A repeated provision request was answered with ${status} after the grant was exchanged.`];
  const message = (body as { message?: unknown } | null)?.message;
  if (addon.deprovisionedAt === null && addon.state !== "provisioned") {
    const mark = isDefinite(status) ? markRefused : markFailed;
    mark(world, addon, typeof message === "string" ? message : `The service answered ${status}.`);
  }
  const isStrange = status !== null && status < 300;
  return isStrange ? [`${status} is no success here: only 200 and 202 are.`] : checkRefusal(response);
}

/** A 5xx says that the service cannot, not that it will not: the grant is dead all the same, but not every other. */
function isDefinite(status: number | null): boolean {
  return status !== null && status < 500;
}

/** Only for add-ons whose manifest asks for them (decisions, section 1). */
function logMembers(world: World, addon: AddonRecord): Record<string, string> {
  if (!world.settings.addonManifest?.requires?.includes("log_input")) return {};
  return {
    log_input_url: `https://logs.platform-apps.example.com/${addon.id}/input?token=${randomUUID()}`,
    log_drain_token: `d.${addon.id}`,
  };
}
