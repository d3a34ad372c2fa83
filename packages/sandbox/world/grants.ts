import { randomUUID } from "node:crypto";
import { offsetTime } from "./clock.ts";
import type { AddonRecord, GrantRecord } from "./records.ts";
import type { World } from "./world.ts";

const GRANT_LIFE_MS = 5 * 60 * 1000;

/**
 * Issues a new grant for a resource; it is not exchangeable before the partner's success answer ("OAuth grant
 * (partner)").
 */
export function issueGrant(world: World, addon: AddonRecord): GrantRecord {
  const issuedAt = world.clock.now();
  return world.grants.add({
    code: randomUUID(),
    addonId: addon.id,
    state: "issued",
    reason: null,
    issuedAt,
    expiresAt: issuedAt + GRANT_LIFE_MS,
    exchangeableAt: null,
    accessToken: null,
  });
}

/** Makes the grant exchangeable, as the partner's success answer has been received ("States and transitions"). */
export function acceptGrant(world: World, grant: GrantRecord): void {
  if (grant.state !== "issued") return;
  grant.state = "exchangeable";
  grant.exchangeableAt = world.clock.now() + world.settings.acceptDelayMs;
}

/**
 * Makes the grant invalid, as the partner gave another answer than success. This is final, whatever it answers later.
 */
export function invalidateGrant(grant: GrantRecord, reason: string): void {
  if (grant.state === "exchanged" || grant.state === "invalid") return;
  grant.state = "invalid";
  grant.reason = reason;
}

/** The newest grant of a resource. */
export function latestGrant(world: World, addonId: string): GrantRecord | undefined {
  return world.grants.of("addon", addonId).at(-1);
}

/** The newest grant of a resource that is neither expired, exchanged nor invalid; issues a new one if there is none. */
export function livingGrant(world: World, addon: AddonRecord): GrantRecord {
  const isAlive = (grant: GrantRecord) => ["issued", "exchangeable"].includes(grantStateOf(world, grant));
  return world.grants.of("addon", addon.id).findLast(isAlive) ?? issueGrant(world, addon);
}

/**
 * Invalidates every grant of a resource that was not exchanged: when the resource ends, or another grant was exchanged.
 */
export function invalidateGrants(world: World, addonId: string, reason: string): void {
  for (const grant of world.grants.of("addon", addonId)) invalidateGrant(grant, reason);
}

/** The state of a grant, including `expired`, which follows from the clock alone. */
export function grantStateOf(world: World, grant: GrantRecord): GrantRecord["state"] | "expired" {
  const isOpen = grant.state === "issued" || grant.state === "exchangeable";
  return isOpen && world.clock.now() >= grant.expiresAt ? "expired" : grant.state;
}

/** Why a code cannot be exchanged now, as a sentence; null when it can ("Errors" of the platform document). */
export function whyNotExchangeable(world: World, grant: GrantRecord): string | null {
  switch (grantStateOf(world, grant)) {
    case "exchanged":
      return "The grant was used a second time.";
    case "invalid":
      return grant.reason;
    case "expired":
      return "The grant is older than 5 minutes.";
    case "issued":
      return "The platform has not received a success answer to the provision request yet.";
    default:
      return grant.exchangeableAt !== null && world.clock.now() < grant.exchangeableAt
        ? "The success answer to the provision request is not registered yet."
        : null;
  }
}

/** The grant as a partner sees it. */
export function grantShape(grant: GrantRecord) {
  return { code: grant.code, type: "authorization_code", expires_at: offsetTime(grant.expiresAt) };
}
