import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../../context.ts";
import { tokensOf } from "../../credentials/token-source.ts";
import { messageOf } from "../../errors.ts";
import { createPlatformFor, type PlatformFor } from "../../platform/api.ts";
import { AddonEnded, isNotThere, NoToken, PlatformRefused, RateLimited } from "../../platform/call.ts";
import type { Addon, ConfigVar } from "../../platform/types.ts";
import type { OwnRow } from "./store.ts";

// What the platform itself says of one add-on.

/** The platform's word. `mute`: it cannot be asked, for a reason that stays; `trouble`: it gave no answer now. */
export type Word =
  | { is: "there"; addon: Addon; attached: number; config: readonly ConfigVar[] }
  | { is: "gone" | "refused" | "mute" | "trouble"; why: string };

/** Whether waiting brings tokens to use. */
export const canBeAsked = ({ credential }: OwnRow): boolean =>
  ["active", "needs_reauth", "grant_pending"].includes(credential);

/**
 * The platform as a comparison asks it: what it finds is reported, and changes nothing here, unlike what a call of the
 * service finds (ledgers/marks.ts).
 */
export const platformToAsk = (ctx: Context): PlatformFor =>
  createPlatformFor({ ...ctx.platformCalls, tokensOf: (uuid) => tokensOf(ctx, uuid) });

/** So often is one resource asked about again after the platform has asked for patience. */
const MOST_RESTS = 3;

/** Asks about one add-on: the add-on, its attachments, its config vars. Waits as long as the platform wants. */
export async function askAbout(
  ctx: Context,
  platformFor: PlatformFor,
  row: OwnRow,
  signal: AbortSignal,
): Promise<Word> {
  if (!canBeAsked(row)) return { is: "mute", why: `its credential is ${row.credential}` };
  for (let rests = 0; ; rests += 1) {
    try {
      return await wordOf(ctx, platformFor(row.uuid), row.uuid);
    } catch (error) {
      const restMs = restOf(error);
      if (restMs === null || rests === MOST_RESTS || signal.aborted) return wordOfFailure(error);
      await sleep(restMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

async function wordOf(ctx: Context, platform: ReturnType<PlatformFor>, uuid: string): Promise<Word> {
  const addon = await platform.addons.own().catch(async (error: unknown) => {
    if (!isNotThere(error)) throw error;
    // A mistake of a moment is believed no more than by the service itself.
    await sleep(1_000 * ctx.pace.pauses);
    return platform.addons.own();
  });
  if (addon.state === "deprovisioned") throw new AddonEnded(uuid);
  const [attachments, config] = await Promise.all([platform.attachments.ofAddon(), platform.config.get()]);
  return { is: "there", addon, attached: attachments.length, config };
}

function restOf(error: unknown): number | null {
  if (error instanceof RateLimited) return error.retryAfterMs;
  return error instanceof PlatformRefused && error.status === 429 ? (error.retryAfterMs ?? 5_000) : null;
}

/** Of a refresh that is refused: the words of the token endpoint, and our own. */
const REFUSED = /^(invalid_grant|unauthorized|http_40[013]|needs_reauth|refused_again)$/;
const OF_ALL = "client_secret_rejected";

function wordOfFailure(error: unknown): Word {
  const why = messageOf(error);
  if (isNotThere(error))
    return { is: "gone", why: error instanceof PlatformRefused ? `${error.status}` : "ended" };
  if (error instanceof NoToken && error.id !== OF_ALL) {
    if (REFUSED.test(error.id)) return { is: "refused", why };
    return { is: error.isFinal ? "mute" : "trouble", why };
  }
  const isDenied = error instanceof PlatformRefused && error.status < 500 && error.status !== 429;
  return { is: isDenied ? "mute" : "trouble", why };
}
