import { setTimeout as sleep } from "node:timers/promises";
import type { Context } from "../context.ts";
import { recoverGrant, type Recovery } from "../credentials/grant.ts";
import { retryWhileDatabaseAway } from "../database/database.ts";
import { KitError } from "../errors.ts";
import { findResources } from "./store.ts";
import { secretRejected } from "./tokens.ts";
import { forEachResource, type End, type How, type Report, type Run, type Which } from "./work-through.ts";

export const LEGACY_GRANTS_OFF =
  "Recovering grants is off. Ask the platform to open its oauth-grant endpoint for your add-on (it is closed by default), then set LEGACY_GRANTS=on.";

/** Asking is idempotent, so a failure that may pass is retried after these pauses, or after the platform's Retry-After. */
const TRY_AGAIN_AFTER_MS = [1_000, 4_000];
const LONGEST_PAUSE_MS = 60_000;
/** After this many resources in a row without an answer about the resource itself, the rest is left for another run. */
const MOST_IN_TROUBLE = 3;
const LOOK_EVERY_MS = 250;

/**
 * Recovers grants at the platform's legacy oauth-grant endpoint, and waits until they are exchanged. Of all resources
 * those are taken whose grant was lost or never came. A resource whose grant was exchanged before gets no other one, so
 * `needs_reauth` is tried only by name. Throws if LEGACY_GRANTS is off, the client secret is rejected, or the endpoint as
 * a whole does not work.
 */
export async function recoverGrants(ctx: Context, which: Which, how: How): Promise<Report> {
  if (!ctx.config.legacyGrants) throw new KitError("legacy_grants_off", LEGACY_GRANTS_OFF);
  if (await isSecretRejected(ctx)) throw new KitError(secretRejected.id, secretRejected.message);
  const ask = createAsking(ctx);
  return forEachResource(
    ctx,
    which,
    async ({ uuid, state, credential, isRecoverable, isOnItsWay }, run) => {
      if (!isRecoverable && !isOnItsWay) return { skipped: state === "provisioned" ? credential : state };
      const refused = isOnItsWay ? null : await ask(uuid, run);
      if (refused) return refused;
      // A grant lives five minutes, so it is exchanged before the next one is asked for.
      const end = await exchanged(ctx, uuid, how.signal);
      if (end === secretRejected) run.halt();
      return end;
    },
    {
      ...how,
      isWanted: ({ credential, isRecoverable, isOnItsWay }) =>
        isOnItsWay || (isRecoverable && ["grant_lost", "no_grant"].includes(credential)),
    },
  );
}

/**
 * Until the endpoint has given an answer about one resource, the resources are asked for one at a time: so a closed
 * endpoint or wrong credentials are met only once. After that, such an answer counts for its resource alone.
 */
function createAsking(ctx: Context) {
  let isOpen = false;
  let inTrouble = 0;
  let turn: Promise<End> = Promise.resolve(null);

  async function ask(uuid: string, { signal, halt }: Run): Promise<End> {
    const answer = await askPersistently(ctx, uuid, signal);
    if (answer === "left") return answer;
    const { outcome } = answer;
    const isAboutOne = outcome !== "not_now" && outcome !== "refused" && !(outcome in WRONG);
    isOpen ||= isAboutOne;
    inTrouble = isAboutOne ? 0 : inTrouble + 1;
    if (outcome === "stored" || outcome === "not_wanted") return null;
    const { id, message } = answer.error;
    if (!isOpen && outcome in WRONG) halt(new KitError(...inFull(WRONG[outcome]!, message)));
    if (inTrouble >= MOST_IN_TROUBLE) halt();
    const [ownId, own] = ABOUT_ONE[outcome] ? inFull(ABOUT_ONE[outcome], message) : [id, message];
    return { id: ownId, message: own };
  }

  return (uuid: string, run: Run): Promise<End> =>
    isOpen ? ask(uuid, run) : (turn = turn.catch(() => null).then(() => ask(uuid, run)));
}

async function askPersistently(ctx: Context, uuid: string, signal: AbortSignal): Promise<Recovery | "left"> {
  if (signal.aborted) return "left";
  let answer = await recoverGrant(ctx, uuid);
  for (const pauseMs of TRY_AGAIN_AFTER_MS) {
    if (answer.outcome !== "not_now") break;
    const waitMs = Math.min(answer.retryAfterMs ?? pauseMs, LONGEST_PAUSE_MS);
    await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return "left";
    answer = await recoverGrant(ctx, uuid);
  }
  return answer;
}

type Said = readonly [id: string, sentence: string];
/** What is wrong with the endpoint as a whole. */
const WRONG: Readonly<Record<string, Said>> = {
  closed: [
    "grants_closed",
    "The platform keeps its oauth-grant endpoint closed for your add-on, as it does by default: ask it to open the endpoint, then run this again",
  ],
  credentials_rejected: [
    "legacy_credentials_rejected",
    "The platform's oauth-grant endpoint does not accept ADDON_ID with ADDON_PASSWORD: they must be those of the legacy partner API",
  ],
};
const ABOUT_ONE: Readonly<Record<string, Said>> = {
  already_exchanged: [
    "already_exchanged",
    "The platform gives no grant for it, because one was exchanged before: its tokens cannot be had again. Ask the platform's support, or the customer to install again",
  ],
  unknown: ["unknown_to_platform", "The platform knows no such resource"],
};
const inFull = ([id, sentence]: Said, answer: string): [string, string] => [id, `${sentence} (${answer}).`];

/**
 * Waits until a grant is exchanged, by this process or another: it exchanges due grants itself, under the same leases as
 * the service, so it works both beside a running service and without one. Every grant ends at its deadline.
 */
async function exchanged(ctx: Context, uuid: string, signal: AbortSignal): Promise<End> {
  for (;;) {
    const [row] = await retryWhileDatabaseAway(() => findResources(ctx.db, [uuid]));
    const { credential = "erased", reason, lastError } = row ?? {};
    if (credential === "erased") return { skipped: "deprovisioned" };
    if (credential === "active") return null;
    if (credential !== "grant_pending") {
      const why = [reason, lastError].filter(Boolean).join("; ");
      return { id: credential, message: `No tokens came: its credential is ${credential} (${why}).` };
    }
    if (await isSecretRejected(ctx)) return secretRejected;
    if (signal.aborted) return interrupted;
    // An error here is ignored: a running service meets the same one, and it is stored in the row.
    await ctx.exchanges.fill(signal).catch(() => 0);
    await sleep(LOOK_EVERY_MS);
  }
}

const interrupted = {
  id: "interrupted",
  message:
    "Its grant is kept: a running service exchanges it, or the same command again within five minutes.",
};

async function isSecretRejected({ credentials }: Context): Promise<boolean> {
  const { isRejected, isPresumed } = await credentials.secrets.current();
  return isRejected && !isPresumed;
}
