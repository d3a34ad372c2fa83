import type { Context } from "../context.ts";
import { failProvision } from "../resources/end-store.ts";
import { createWorkerPool, type WorkerPool } from "../work/worker-pool.ts";
import type { Admitted } from "./admission.ts";
import {
  claimExpiredGrants,
  claimGrants,
  releaseCredential,
  ROWS_PER_CALL,
  type ClaimedCredential,
} from "./queue.ts";
import { named } from "./sealed.ts";
import { loseGrant, putOffGrant } from "./store.ts";
import { callTokenEndpoint } from "./token-call.ts";
import { judgeFailedExchange, reasonForLoss } from "./verdict.ts";

/**
 * Exchanges every grant that is due for its first pair of tokens, and ends those whose five minutes are over (platform
 * document, "States and transitions").
 */
export function createExchanges(ctx: Context): WorkerPool {
  const { config, log } = ctx;
  return createWorkerPool({
    claim: (most) => claim(ctx, most),
    handle: (row, signal) =>
      (isAdmitted(row) ? exchange(ctx, row, signal) : endGrant(ctx, row)).catch((error: unknown) =>
        log.error({ error }, "Work on a grant failed; its lease ends by itself"),
      ),
    concurrency: config.tokenConcurrency * ROWS_PER_CALL,
    onEnd: () => ctx.nudge("exchange-grants"),
  });
}

/** Under a rejected secret one grant a minute probes it; those whose time is over need no call, only an end. */
async function claim(ctx: Context, most: number): Promise<(Admitted | ClaimedCredential)[]> {
  const { resources: client } = ctx.credentials;
  const secret = await client.open(true);
  if (!secret) {
    const over = await claimExpiredGrants(ctx, most);
    if (over.length > 0) return over;
    return client.probe(
      (some) => claimGrants(ctx, some),
      (row) => releaseCredential(ctx, row),
    );
  }
  const rows = await claimGrants(ctx, most);
  return rows.map((row) => (row.isOver ? row : { row, client, secret, isProbe: false }));
}

const isAdmitted = (row: Admitted | ClaimedCredential): row is Admitted => "row" in row;

async function exchange(ctx: Context, admitted: Admitted, signal: AbortSignal): Promise<void> {
  const { log, pace, db, credentials } = ctx;
  const { row } = admitted;
  const result = await callTokenEndpoint(ctx, admitted, credentials.turns.forGrant(signal));
  if (result.done === "stored") {
    log.info(named(row), "Grant exchanged, tokens sealed");
    wakeWhatWaited(ctx, result.refreshInSeconds);
  }
  if (result.done !== "failed") return;
  const { outcome, error } = result.failure;
  const verdict = judgeFailedExchange(row, result.failure, pace);
  const isRefused = outcome === "token_rejected";
  await putOffGrant(db, row, { ...verdict, isRefused, error: `${error.id}: ${error.message}` });
  log.warn({ ...named(row), outcome, error, ...verdict }, "A grant is not exchanged yet");
}

async function endGrant(ctx: Context, row: ClaimedCredential): Promise<void> {
  const reason = reasonForLoss(row);
  // The row has got another code at this moment, which need not wait for the end of the lease.
  if (!(await loseGrant(ctx.db, row, reason))) return releaseCredential(ctx, row);
  ctx.log.error({ alarm: "grant_lost", ...named(row), reason }, "A grant ended without tokens");
  await failProvision(ctx, row.uuid, { onlyIfStranded: true });
}

/** The delay (ms) before looking for steps that were put off while their tokens were being stored: one look serves a burst. */
const AFTER_TOKENS_MS = 5_000;

function wakeWhatWaited(ctx: Context, refreshInSeconds: number): void {
  ctx.nudge("run-steps");
  ctx.nudge("run-vendor-steps");
  ctx.nudge("find-late-steps", AFTER_TOKENS_MS);
  // Tokens live for hours. A sandbox may give them a life of seconds, which would end before the next sweep.
  if (refreshInSeconds < 60) ctx.nudge("refresh-tokens", refreshInSeconds * 1_000);
}
