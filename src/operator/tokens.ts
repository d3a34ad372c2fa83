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
    async ({ uuid, credential, hasRefreshToken }) => {
      if (!states.includes(credential)) return { skipped: credential };
      // The platform sent no refresh token: the access token works until it expires.
      if (!hasRefreshToken) return { skipped: credential === "active" ? "no_refresh_token" : credential };
      return refreshOne(ctx, uuid, how.signal);
    },
    how,
  );
}

async function refreshOne(ctx: Context, uuid: string, signal: AbortSignal): Promise<End> {
  const until = performance.now() + BUSY_PATIENCE_MS;
  for (;;) {
    const result = await refreshNow(ctx, uuid);
    if (result.done === "stored") return null;
    if (result.done === "failed") return result.failure.error;
    if (result.done === "quarantined")
      return { id: "quarantined", message: "Its refresh token cannot be decrypted." };
    if (result.done === "secret_rejected") return secretRejected;
    if (performance.now() > until || signal.aborted)
      return { id: "busy", message: "Another process is refreshing it; try again." };
    await sleep(100);
  }
}

/** An entry of a report: our secret is wrong, and not the resource's token. */
export const secretRejected = {
  id: "client_secret_rejected",
  message: "The platform rejects our client secret: run kit secret set with the new one, then this again.",
};
