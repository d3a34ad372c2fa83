import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../context.ts";
import { refreshNow } from "../credentials/sweeps.ts";
import { forEachResource, type End, type How, type Report, type Which } from "./work-through.ts";

/** How long to wait for a token that another process is refreshing. */
const BUSY_PATIENCE_MS = 5_000;

/**
 * Refreshes tokens now, due or not. An operator who names a resource wants it tried even if the platform refused its
 * token before, or it could not be decrypted; of all resources, those with working tokens are refreshed.
 */
export function refreshTokens(ctx: Context, which: Which, how: How): Promise<Report> {
  const states = which === "all" ? ["active"] : ["active", "needs_reauth", "quarantined"];
  return forEachResource(
    ctx,
    which,
    async ({ uuid, credential, hasRefreshToken }, { signal }) => {
      if (!states.includes(credential)) return { skipped: credential };
      // The platform sent no refresh token: the access token works until it expires.
      if (!hasRefreshToken) return { skipped: credential === "active" ? "no_refresh_token" : credential };
      return refreshOne(ctx, uuid, signal);
    },
    how,
  );
}

async function refreshOne(ctx: Context, uuid: string, signal: AbortSignal): Promise<End> {
  const until = performance.now() + BUSY_PATIENCE_MS;
  for (;;) {
    const result = await refreshNow(ctx, uuid);
    // Not ours: another process has refreshed it at the same moment.
    if (result.done === "stored" || result.done === "not_ours") return null;
    if (result.done === "failed") return result.failure.error;
    if (result.done === "quarantined") return quarantined;
    if ((await ctx.credentials.secrets.current()).isRejected) return secretRejected;
    if (performance.now() > until || signal.aborted) return busy;
    await sleep(100);
  }
}

const quarantined = { id: "quarantined", message: "Its refresh token cannot be decrypted." };
const busy = { id: "busy", message: "Another process is at work on it; try again." };
/** An entry of a report: our secret is wrong, and not the resource's token. */
export const secretRejected = {
  id: "client_secret_rejected",
  message: "The platform rejects our client secret: run kit secret set with the new one, then this again.",
};
