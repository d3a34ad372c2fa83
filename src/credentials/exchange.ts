import type { GrantsFirst } from "../work/grants-first.ts";
import type { Log } from "../logging/log.ts";
import type { Pace } from "../pace.ts";
import { createWorkerPool } from "../work/worker-pool.ts";
import type { Admission, Admitted } from "./admission.ts";
import type { CallTokenEndpoint } from "./token-call.ts";
import { ROWS_PER_CALL, type ClaimedCredential, type Claims } from "./claims.ts";
import type { PrioritySemaphore } from "./priority-semaphore.ts";
import type { CredentialStore } from "./store.ts";
import { judgeFailedExchange, reasonForLoss } from "./verdict.ts";

/**
 * Exchanges every grant that is due for its first pair of tokens, and ends those whose five minutes are over (platform
 * document, "States and transitions").
 */
export type GrantExchange = ReturnType<typeof createExchange>;

export function createExchange(needs: {
  claims: Claims;
  store: CredentialStore;
  admission: Admission;
  call: CallTokenEndpoint;
  semaphore: PrioritySemaphore;
  concurrency: number;
  grantsFirst: Pick<GrantsFirst, "observe">;
  /** Called after tokens were stored: steps that waited for them are due. */
  onIssued(refreshInSeconds: number): void;
  /** Called after a grant was stored as lost. */
  onLost(uuid: string): Promise<void>;
  /** Called when work on a grant ended: another try may be due soon. */
  onEnd(): void;
  log: Log;
  pace: Pace;
}) {
  const {
    claims,
    store,
    admission,
    call,
    semaphore,
    concurrency,
    grantsFirst,
    onIssued,
    onLost,
    onEnd,
    log,
    pace,
  } = needs;

  async function exchange(admitted: Admitted, signal: AbortSignal): Promise<void> {
    const { row } = admitted;
    const { uuid, requestId } = row;
    if (row.isOver) return end(row);
    const result = await call(admitted, semaphore.forGrant(signal));
    if (result.done === "stored") {
      log.info({ uuid, requestId }, "Grant exchanged, tokens sealed");
      onIssued(result.refreshInSeconds);
    }
    if (result.done !== "failed") return;

    const { outcome, error } = result.failure;
    const verdict = judgeFailedExchange(row, result.failure, pace);
    await store.putOffGrant(row, {
      ...verdict,
      refused: outcome === "token_rejected",
      error: `${error.id}: ${error.message}`,
    });
    log.warn({ uuid, requestId, outcome, error, ...verdict }, "A grant is not exchanged yet");
  }

  async function end(row: ClaimedCredential): Promise<void> {
    const reason = reasonForLoss(row);
    // The row has got another code at this moment, which need not wait for the end of the lease.
    if (!(await store.loseGrant(row, reason))) return store.release(row);
    const { uuid, requestId } = row;
    log.error({ alarm: "grant_lost", uuid, requestId, reason }, "A grant ended without tokens");
    await onLost(uuid);
  }

  const alone =
    <Row>(work: (row: Row, signal: AbortSignal) => Promise<void>) =>
    (row: Row, signal: AbortSignal) =>
      work(row, signal).catch((error: unknown) =>
        log.error({ error }, "Work on a grant failed; its lease ends by itself"),
      );

  // Ending a grant needs no call, so it happens whatever the client secret is worth.
  const ends = createWorkerPool({ claim: claims.expiredGrants, handle: alone(end), concurrency: 16, onEnd });
  const exchanges = createWorkerPool({
    async claim(most) {
      const rows = await admission.claim(claims.grants, most, true);
      grantsFirst.observe(rows.length >= most);
      return rows;
    },
    handle: alone(exchange),
    concurrency: concurrency * ROWS_PER_CALL,
    onEnd,
  });

  return {
    due: async (signal: AbortSignal) => (await ends.fill(signal)) + (await exchanges.fill(signal)),
    settled: async () => void (await Promise.all([ends.settled(), exchanges.settled()])),
  };
}
