import type { Context } from "../context.ts";
import { retryWhileUnreachable } from "../database/database.ts";
import type { Job } from "../jobs/run.ts";
import { oauthGrantOf } from "../platform/authorizations.ts";
import { PlatformRefused } from "../platform/call.ts";
import { readTime } from "../values.ts";
import { credentialSealContext } from "../vault/vault.ts";
import {
  claimLost,
  isRecoverable,
  nextLostInSeconds,
  stopRecovering,
  storeRecovered,
  type LostGrant,
} from "./lost-store.ts";
import { settle, type ClaimedCredential } from "./queue.ts";
import { named } from "./sealed.ts";
import { stateAfter, type Verdict } from "./states.ts";
import { whyLost } from "./verdict.ts";

/** From the loss of a grant until the service asks the platform for another one. */
const ASK_AFTER_SECONDS = 5;
/** The same for one that took the place of an earlier one. */
const ASK_AGAIN_AFTER_SECONDS = 3_600;
/** An endpoint that refuses so many resources in a row as if it was closed is closed: one may be refused for itself. */
const CLOSED_AFTER = 3;
/** One call in this time: each new grant is exchanged before the next is asked for. */
const ASK_EVERY_SECONDS = 3;

/**
 * Ends a grant without tokens. What cannot be had again is an alarm at once; with `LEGACY_GRANTS=on` a first loss is one
 * only if the platform gives no other grant.
 */
export async function endGrant(ctx: Context, row: ClaimedCredential, verdict: Verdict): Promise<void> {
  const { pauses } = ctx.pace;
  const mayAsk = ctx.config.legacyGrants && stateAfter(row.state, verdict.on!) === "grant_lost";
  const isFirst = row.grantNumber <= 1;
  const askInSeconds = (isFirst ? ASK_AFTER_SECONDS : ASK_AGAIN_AFTER_SECONDS) * pauses;
  // False: the row has got another code at this moment.
  if (!(await settle(ctx.db, row, mayAsk ? { ...verdict, againInSeconds: askInSeconds } : verdict))) return;
  const about = { ...named(row), reason: whyLost(row) };
  if (mayAsk && isFirst) {
    ctx.log.warn(about, "A grant ended without tokens; the service asks the platform for another one");
    ctx.wake.recoverGrants(askInSeconds * 1_000);
  } else ctx.log.error({ alarm: "grant_lost", ...about }, "A grant ended without tokens");
  ctx.wake.failStranded();
}

/** Why the platform gives no grant. */
export interface GrantRefused {
  id: string;
  message: string;
  /** It is not about this resource: the endpoint is closed, or rejects our credentials. */
  isOfAll: boolean;
  /** The platform is in trouble, or wants fewer calls. */
  isPassing: boolean;
}

/** The platform's document names the cases without their statuses; its API has these for similar ones (assumed, section 2). */
const EXCHANGED = {
  id: "already_exchanged",
  means:
    "A grant was exchanged before, and its tokens cannot be had again: ask the platform's support, or the customer to install again.",
};
const REFUSALS: Readonly<Record<number, { id: string; means: string }>> = {
  401: {
    id: "credentials_rejected",
    means: "The endpoint rejects ADDON_ID with ADDON_PASSWORD: set those of the legacy partner API.",
  },
  403: {
    id: "closed",
    means: "The oauth-grant endpoint is closed for your add-on: ask the platform to open it.",
  },
  409: EXCHANGED,
  410: EXCHANGED,
  422: EXCHANGED,
};

/**
 * Asks the legacy oauth-grant endpoint for a resource's grant and stores it, due at once (platform document,
 * "Oauth-grant retrieval"). `unwanted`: the resource was deprovisioned meanwhile, or has got a grant or tokens. `isOpen`:
 * the endpoint gave a grant before, so that a 403 is of this resource alone. Rejects if the platform gave no answer.
 */
export async function askForGrant(
  { db, vault, config, platformCalls }: Context,
  uuid: string,
  isOpen: boolean,
): Promise<"stored" | "unwanted" | GrantRefused> {
  try {
    const { code, expiresAt } = await oauthGrantOf(platformCalls, config, uuid);
    const sealedGrantCode = vault.seal(credentialSealContext("sealed_grant_code", uuid), code);
    const grant = { uuid, sealedGrantCode, grantExpiresAt: readTime(expiresAt) };
    return (await storeRecovered(db, grant)) ? "stored" : "unwanted";
  } catch (error) {
    if (!(error instanceof PlatformRefused)) throw error;
    if (!(await isRecoverable(db, uuid))) return "unwanted";
    const { status } = error;
    const isOfOne = status === 403 && (isOpen || error.id === "suspended");
    const { id, means } = (!isOfOne && REFUSALS[status]) || { id: error.id, means: "" };
    const isOfAll = !isOfOne && (status === 401 || status === 403);
    return {
      id,
      message: `${means} ${error.message}`.trim(),
      isOfAll,
      isPassing: status === 429 || status >= 500,
    };
  }
}

/**
 * The job that asks for lost grants where `LEGACY_GRANTS=on`: one call at a time and few a minute, the longest lost
 * first. A refusal is final for its resource. A closed endpoint is final for all that are lost by then: an operator asks
 * again once it is open (`kit grants recover`).
 */
export function createRecovery(ctx: Context): Omit<Job, "name"> {
  const { config, credentials, db, log, pace } = ctx;
  const everySeconds = ASK_EVERY_SECONDS * pace.pauses;
  let askedAtMs = -Infinity;
  let closedInRow = 0;
  /** With another setting, another process or this one before its start may have left grants to ask for. */
  let mayBeLeft = !config.legacyGrants;

  function gaveUp(lost: readonly LostGrant[], error: Pick<GrantRefused, "id" | "message">): void {
    for (const { uuid, requestId, reason } of lost)
      log.error({ alarm: "grant_lost", uuid, requestId, reason, error }, "A lost grant cannot be had again");
    ctx.wake.failStranded();
  }

  async function ask({ uuid, requestId, reason }: LostGrant): Promise<void> {
    const about = { uuid, requestId, reason };
    const result = await askForGrant(ctx, uuid, false);
    if (result === "unwanted") return;
    if (result === "stored") {
      closedInRow = 0;
      log.info(about, "A lost grant was recovered: the platform gave another one, which is exchanged now");
      return ctx.wake.exchangeGrants();
    }
    const { id, message, isOfAll, isPassing } = result;
    if (isPassing)
      return log.warn({ ...about, error: { id, message } }, "A lost grant is asked for again in a minute");
    closedInRow = isOfAll ? closedInRow + 1 : 0;
    if (closedInRow < CLOSED_AFTER)
      return gaveUp(await stopRecovering(db, uuid, `${id}: ${message}`), { id, message });
    const words = "The oauth-grant endpoint refuses every resource: see the alarms before this one.";
    gaveUp(await stopRecovering(db, null, `${id}: ${words}`), { id, message: words });
  }

  return {
    async run() {
      if (mayBeLeft) await stopRecovering(db, null);
      mayBeLeft = false;
      if (!config.legacyGrants || performance.now() - askedAtMs < everySeconds * 1_000) return;
      const { isRejected, isPresumed } = await retryWhileUnreachable(credentials.secrets.current);
      if (isRejected && !isPresumed) return;
      const lost = await claimLost(db);
      if (!lost) return;
      askedAtMs = performance.now();
      await ask(lost).catch((error: unknown) =>
        log.warn({ uuid: lost.uuid, error }, "A lost grant is asked for again in a minute"),
      );
    },
    async nextInSeconds() {
      const seconds = config.legacyGrants ? await nextLostInSeconds(db) : null;
      return seconds === null ? null : Math.max(seconds, everySeconds);
    },
  };
}
