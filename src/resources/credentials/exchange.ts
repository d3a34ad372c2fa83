import type { Log } from "../../log.ts";
import type { Admission, Admitted } from "./admission.ts";
import type { CallTokenEndpoint } from "./calls.ts";
import type { ClaimedCredential, Claims } from "./claims.ts";
import { drain } from "./drain.ts";
import type { CredentialStore } from "./store.ts";
import { judgeFailedExchange, reasonForLoss } from "./verdict.ts";

/**
 * Exchanges every grant that is due for its first pair of tokens, and ends those whose five minutes are over (platform
 * document, "States and transitions"). Returns how many rows it took.
 */
export type ExchangeGrants = (signal: AbortSignal) => Promise<number>;

export function createExchange(needs: {
  claims: Claims;
  store: CredentialStore;
  admission: Admission;
  call: CallTokenEndpoint;
  concurrency: number;
  /** Called after tokens were stored: steps that waited for them are due. */
  onIssued(refreshInSeconds: number): void;
  /** Called after a grant was stored as lost. */
  onLost(): Promise<void>;
  log: Log;
}): ExchangeGrants {
  const { claims, store, admission, call, concurrency, onIssued, onLost, log } = needs;

  async function exchange({ row, ...admitted }: Admitted): Promise<void> {
    if (!(await admission.isStillGood({ row, ...admitted }))) return store.release(row);
    const result = await call(row, admitted.secret);
    if (result.done === "stored") {
      log.info({ uuid: row.uuid }, "Grant exchanged, tokens sealed");
      onIssued(result.refreshInSeconds);
    }
    if (result.done !== "failed") return;

    const { outcome, error } = result.failure;
    const verdict = judgeFailedExchange(row, result.failure);
    await store.putOffGrant(row, {
      ...verdict,
      refused: outcome === "token_rejected",
      error: `${error.id}: ${error.message}`,
    });
    log.warn({ uuid: row.uuid, outcome, reason: error, ...verdict }, "A grant is not exchanged yet");
  }

  async function end(row: ClaimedCredential): Promise<void> {
    const reason = reasonForLoss(row);
    if (!(await store.loseGrant(row, reason))) return;
    log.error({ alarm: "grant_lost", uuid: row.uuid, reason }, "A grant ended without tokens");
    await onLost();
  }

  const alone =
    <Row>(work: (row: Row) => Promise<void>) =>
    (row: Row) =>
      work(row).catch((error: unknown) =>
        log.error({ error }, "Work on a grant failed; its lease ends by itself"),
      );

  return async (signal) => {
    // Ending a grant needs no call, so it happens whatever the client secret is worth.
    const ended = await drain({
      claim: claims.expiredGrants,
      handle: alone(end),
      release: store.release,
      concurrency: 16,
      signal,
    });
    const exchanged = await drain({
      claim: (most) => admission.claim(claims.grants, most),
      handle: alone(exchange),
      release: ({ row }) => store.release(row),
      concurrency,
      signal,
    });
    return ended + exchanged;
  };
}
