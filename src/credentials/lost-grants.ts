import type { Context } from "../context.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import type { Job } from "../jobs/run.ts";
import { oauthGrantOf } from "../platform/authorizations.ts";
import { PlatformRefused } from "../platform/call.ts";
import { readTime } from "../values.ts";
import { credentialSealContext } from "../vault/vault.ts";
import {
  claimLost,
  isRecoverable,
  type LostGrant,
  nextLostInSeconds,
  stopRecovering,
  storeRecovered,
} from "./grant-store.ts";
import { type ClaimedCredential, settle } from "./queue.ts";
import { named } from "./sealed.ts";
import { stateAfter, type Verdict } from "./states.ts";
import { whyLost } from "./verdict.ts";

/** The delay between the loss of a resource's first grant and the request for another one. */
const REQUEST_AFTER_SECONDS = 5;
/** The delay after the loss of a later grant of the resource. */
const REQUEST_AGAIN_AFTER_SECONDS = 3_600;
/**
 * After so many refusals in a row that look like a closed endpoint, the endpoint counts as closed. A single refusal may
 * concern only its resource.
 */
const CLOSED_AFTER = 3;
/** The time between two requests, in which a new grant is exchanged before the next is requested. */
const REQUEST_EVERY_SECONDS = 3;

/**
 * Ends a grant that brought no tokens, with an alarm. With `LEGACY_GRANTS=on` the service first requests another grant
 * after a first loss; the alarm is then raised only if the platform gives none.
 */
export async function endGrant(ctx: Context, row: ClaimedCredential, verdict: Verdict): Promise<void> {
  const { pauses } = ctx.pace;
  const isRequested = ctx.config.legacyGrants && stateAfter(row.state, verdict.on!) === "grant_lost";
  const isFirst = row.grantNumber <= 1;
  const requestInSeconds = (isFirst ? REQUEST_AFTER_SECONDS : REQUEST_AGAIN_AFTER_SECONDS) * pauses;
  const end = isRequested ? { ...verdict, againInSeconds: requestInSeconds } : verdict;
  // Not settled: the row has just received another code.
  if (!(await settle(ctx.db, row, end))) return;
  const about = { ...named(row), reason: whyLost(row) };
  if (isRequested && isFirst) {
    ctx.log.warn(about, "Grant ended without tokens; the service will request another one");
    ctx.wake.recoverGrants(requestInSeconds * 1_000);
  } else ctx.log.error({ alarm: "grant_lost", ...about }, "Grant ended without tokens");
  ctx.wake.failStranded();
}

/** Why the platform returned no grant. */
export interface GrantRefused {
  id: string;
  message: string;
  /** The refusal concerns all resources: the endpoint is closed or rejects the service's credentials. */
  isOfAll: boolean;
  /** The platform fails or limits the rate, so a later request may succeed. */
  isPassing: boolean;
}

/**
 * The meanings of refusals. The platform document names the cases without their statuses; the statuses are those of
 * similar cases in its API (assumed, section 2).
 */
const EXCHANGED = {
  id: "already_exchanged",
  means:
    "The grant was exchanged before, and the platform does not issue its tokens twice: ask the platform's support, or ask the customer to install again.",
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
 * Requests a resource's grant from the legacy oauth-grant endpoint and stores it, due now (platform document, "Oauth-grant
 * retrieval"). `isOpen`: the endpoint has returned a grant before, so a 403 concerns only this resource. Returns
 * `unwanted` if the resource was deprovisioned during the call or has received a grant or tokens. Rejects if the platform
 * did not answer.
 */
export async function requestGrant(
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
 * The job that requests lost grants with `LEGACY_GRANTS=on`: one call at a time, few in a minute, the longest lost grant
 * first. A refusal is final for its resource. A closed endpoint is final for all grants that are lost by then; an operator
 * requests them once the endpoint is open (`kit grants recover`).
 */
export function createRecovery(ctx: Context): Omit<Job, "name"> {
  const { config, credentials, db, log, pace } = ctx;
  const everySeconds = REQUEST_EVERY_SECONDS * pace.pauses;
  let requestedAtMs = -Infinity;
  let closedInRow = 0;
  /** Lost grants may still be due from a time or a process with `LEGACY_GRANTS=on`. */
  let mayBeLeft = !config.legacyGrants;

  function gaveUp(lost: readonly LostGrant[], error: Pick<GrantRefused, "id" | "message">): void {
    for (const { uuid, requestId, reason } of lost)
      log.error({ alarm: "grant_lost", uuid, requestId, reason, error }, "A lost grant cannot be recovered");
    ctx.wake.failStranded();
  }

  async function recover({ uuid, requestId, reason }: LostGrant): Promise<void> {
    const about = { uuid, requestId, reason };
    const result = await requestGrant(ctx, uuid, false);
    if (result === "unwanted") return;
    if (result === "stored") {
      closedInRow = 0;
      log.info(about, "Lost grant recovered: the platform returned another one, which is exchanged now");
      return ctx.wake.exchangeGrants();
    }
    const { id, message, isOfAll, isPassing } = result;
    if (isPassing)
      return log.warn(
        { ...about, error: { id, message } },
        "Request for a lost grant failed; retrying in a minute",
      );
    closedInRow = isOfAll ? closedInRow + 1 : 0;
    if (closedInRow < CLOSED_AFTER)
      return gaveUp(await stopRecovering(db, uuid, `${id}: ${message}`), { id, message });
    const words =
      "The oauth-grant endpoint refuses every resource. The alarms grant_lost before this one name the reason.";
    gaveUp(await stopRecovering(db, null, `${id}: ${words}`), { id, message: words });
  }

  return {
    async run() {
      if (mayBeLeft) await stopRecovering(db, null);
      mayBeLeft = false;
      if (!config.legacyGrants || performance.now() - requestedAtMs < everySeconds * 1_000) return;
      const { isRejected, isPresumed } = await retryWhileUnreachable(credentials.secrets.current);
      if (isRejected && !isPresumed) return;
      const lost = await claimLost(db);
      if (!lost) return;
      requestedAtMs = performance.now();
      await recover(lost).catch((error: unknown) =>
        log.warn({ uuid: lost.uuid, error }, "Request for a lost grant failed; retrying in a minute"),
      );
    },
    async nextInSeconds() {
      const seconds = config.legacyGrants ? await nextLostInSeconds(db) : null;
      return seconds === null ? null : Math.max(seconds, everySeconds);
    },
  };
}
