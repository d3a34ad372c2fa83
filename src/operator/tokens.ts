import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../context.ts";
import { requestGrant } from "../credentials/lost-grants.ts";
import { refreshNow } from "../credentials/pools.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import { KitError } from "../errors.ts";
import { findResources } from "./store.ts";
import { type End, forEachResource, type How, type Report, type Which } from "./work-through.ts";

/**
 * Refreshes tokens now, due or not. An operator who names a resource wants it tried even if the platform refused its
 * token before, or it could not be decrypted; of all resources, those with working tokens are refreshed.
 */
export function refreshTokens(ctx: Context, which: Which, how: How): Promise<Report> {
  const states = which === "all" ? ["active"] : ["active", "needs_reauth", "quarantined"];
  return forEachResource(
    ctx,
    which,
    async ({ uuid, credential, hasRefreshToken }) => {
      if (!states.includes(credential)) return { skipped: credential };
      // The platform sent no refresh token: the access token works until it expires.
      if (!hasRefreshToken) return { skipped: credential === "active" ? "no_refresh_token" : credential };
      return refreshOne(ctx, uuid);
    },
    how,
  );
}

async function refreshOne(ctx: Context, uuid: string): Promise<End> {
  const result = await refreshNow(ctx, uuid);
  if (result.done === "stored") return null;
  if (result.done === "failed") return result.failure.error;
  if (result.done === "secret_rejected") return secretRejected;
  if (result.done === "quarantined")
    return { id: result.done, message: "Its refresh token cannot be decrypted." };
  return { id: "busy", message: "Not refreshed just now; try again." };
}

const secretRejected = {
  id: "client_secret_rejected",
  message: "The platform rejects our client secret: run kit secret set with the new one, then this again.",
};

export const LEGACY_GRANTS_OFF =
  "Recovering grants is off. Ask the platform to open its oauth-grant endpoint for your add-on (it is closed by default), then set LEGACY_GRANTS=on.";

const LOOK_EVERY_MS = 250;

/**
 * Recovers grants at the platform's legacy oauth-grant endpoint, and waits until they are exchanged. Of all resources
 * those are taken whose grant was lost or never came. A resource whose grant was exchanged before gets no other one, so
 * `needs_reauth` is tried only by name. Throws if LEGACY_GRANTS is off or the client secret is rejected.
 */
export async function recoverGrants(ctx: Context, which: Which, how: How): Promise<Report> {
  if (!ctx.config.legacyGrants) throw new KitError("legacy_grants_off", LEGACY_GRANTS_OFF);
  if (await isSecretRejected(ctx)) throw new KitError(secretRejected.id, secretRejected.message);
  let isOpen = false;
  return forEachResource(
    ctx,
    which,
    async ({ uuid, state, credential, isRecoverable }) => {
      if (!isRecoverable) return { skipped: state === "provisioned" ? credential : state };
      const asked = await requestGrant(ctx, uuid, isOpen);
      if (typeof asked === "object") return asked;
      isOpen = true;
      // A grant lives five minutes, so it is exchanged before the next one is asked for.
      return exchanged(ctx, uuid, how.signal);
    },
    {
      ...how,
      isWanted: ({ credential, isRecoverable }) =>
        isRecoverable && ["grant_lost", "no_grant"].includes(credential),
    },
  );
}

/** Waits until a grant is exchanged, by this process or another. Every grant ends at its deadline. */
async function exchanged(ctx: Context, uuid: string, signal: AbortSignal): Promise<End> {
  for (;;) {
    const [row] = await retryWhileUnreachable(() => findResources(ctx.db, [uuid]));
    const { credential = "erased", reason, lastError } = row ?? {};
    if (credential === "erased") return { skipped: "deprovisioned" };
    if (credential === "active") return null;
    if (credential !== "grant_pending") {
      const why = [reason, lastError].filter(Boolean).join("; ");
      return { id: credential, message: `No tokens came: its credential is ${credential} (${why}).` };
    }
    if (await isSecretRejected(ctx)) return { ...secretRejected, isOfAll: true };
    if (signal.aborted) return interrupted;
    // An error here is ignored: a running service meets the same one, and it is stored in the row.
    await ctx.exchanges.fill(signal).catch(() => 0);
    await sleep(LOOK_EVERY_MS);
  }
}

const interrupted = {
  id: "interrupted",
  message: "Its grant is kept: a running service exchanges it within five minutes.",
};

async function isSecretRejected({ credentials }: Context): Promise<boolean> {
  const { isRejected, isPresumed } = await retryWhileUnreachable(credentials.secrets.current);
  return isRejected && !isPresumed;
}
