import { setTimeout as sleep } from "node:timers/promises";
import { retryWhileDatabaseAway } from "../../database/database.ts";
import type { Context } from "../../context.ts";
import { grantRow, type GrantRow } from "../store.ts";

/** What became of a grant: exchanged for tokens, or the reason why not; `gone`: the resource was deprovisioned. */
export type GrantEnd = { is: "exchanged" } | { is: "gone" } | { is: "failed"; id: string; message: string };

const LOOK_EVERY_MS = 250;

/**
 * Waits until a grant is exchanged, by this process or by another: it exchanges due grants itself, under the same leases
 * as the service, so it works both beside a running service and without one. Every grant ends at its deadline at the
 * latest.
 */
export async function grantEnd(
  ctx: Pick<Context, "db" | "credentials" | "exchanges"> & { signal: AbortSignal },
  uuid: string,
): Promise<GrantEnd> {
  for (;;) {
    const row = await retryWhileDatabaseAway(() => grantRow(ctx.db, uuid));
    if (row && row.state !== "grant_pending") return endOf(row);
    const { isRejected, isPresumed } = await ctx.credentials.secrets.current();
    if (isRejected && !isPresumed) return secretRejected;
    if (ctx.signal.aborted) return interrupted;
    // An error here is ignored: a running service meets the same one, and it is stored in the row.
    await ctx.exchanges.fill(ctx.signal).catch(() => 0);
    await sleep(LOOK_EVERY_MS);
  }
}

function endOf({ state, reason, lastError }: GrantRow): GrantEnd {
  if (state === "active") return { is: "exchanged" };
  if (state === "erased") return { is: "gone" };
  const why = [reason, lastError].filter(Boolean).join("; ");
  return {
    is: "failed",
    id: state,
    message: `No tokens came: its credential is ${state}${why && ` (${why})`}.`,
  };
}

const secretRejected: GrantEnd = {
  is: "failed",
  id: "client_secret_rejected",
  message: "The platform rejects our client secret: run kit secret set with the new one, then this again.",
};
const interrupted: GrantEnd = {
  is: "failed",
  id: "interrupted",
  message:
    "Its grant is kept: a running service exchanges it, or the same command again within five minutes.",
};
