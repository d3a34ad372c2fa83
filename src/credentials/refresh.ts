import type { Log } from "../logging/log.ts";
import type { Pace } from "../pace.ts";
import type { TokenFailure } from "../platform/oauth.ts";
import { createWorkerPool } from "../work/worker-pool.ts";
import type { Admission, Admitted } from "./admission.ts";
import type { CallResult, CallTokenEndpoint } from "./token-call.ts";
import { ROWS_PER_CALL, type ClaimedCredential, type Claims } from "./claims.ts";
import type { MassRefusal } from "./mass-refusal.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import { type Acquire, type PrioritySemaphore, withoutPermit } from "./priority-semaphore.ts";
import type { CredentialStore } from "./store.ts";
import { judgeFailedRefresh, type RefreshVerdict } from "./verdict.ts";

const MASS_FAILURE_PAUSE_SECONDS = 600;

export interface Refresh {
  /** Starts refreshing every token pair that is due. Returns how many rows it took. */
  due(signal: AbortSignal): Promise<number>;
  /**
   * Resolves when no refresh is under way, neither one of `due` nor one of `now` whose caller may have stopped waiting.
   */
  settled(): Promise<void>;
  /**
   * Refreshes one now, due or not. `busy`: another process is refreshing it or has just done so, or there is none. With
   * `generation`, only that pair is replaced, so that a token found dead is not refreshed again after another process
   * did it.
   *
   * The circuit breaker does not hold it back: a caller waits for this one token and would otherwise be refused for up
   * to 15 seconds after the platform is back. It is one call per resource at a time, and its outcome feeds the breaker.
   */
  now(uuid: string, generation?: number): Promise<CallResult | { done: "busy" }>;
}

/** Refreshes tokens before they expire (platform document, "Access token expired … Refresh grant"). */
export function createRefresh(needs: {
  claims: Claims;
  store: CredentialStore;
  admission: Admission;
  call: CallTokenEndpoint;
  breaker: CircuitBreaker;
  massRefusal: MassRefusal;
  semaphore: PrioritySemaphore;
  concurrency: number;
  /** Called when a refresh ended: another try may be due soon. */
  onEnd(): void;
  log: Log;
  pace: Pace;
}): Refresh {
  const { claims, store, admission, call, breaker, massRefusal, semaphore, concurrency, onEnd, log, pace } =
    needs;

  async function refresh(admitted: Admitted, acquire: Acquire): Promise<CallResult> {
    const { row } = admitted;
    const sentMs = performance.now();
    const result = await call(admitted, acquire);
    if (result.done === "stored" || result.done === "not_ours") {
      breaker.succeeded(sentMs);
      massRefusal.saw(false);
    }
    // A quarantined row stays so until tokens are stored, whatever the platform says of those it holds.
    if (row.state === "quarantined" && result.done !== "stored") await store.release(row);
    if (result.done !== "failed" || row.state === "quarantined") return result;

    const { outcome, error, retryAfterMs } = result.failure;
    if (outcome === "token_rejected") {
      // A refusal proves that the endpoint is up.
      breaker.succeeded(sentMs);
      if (!row.wasRefused) massRefusal.saw(true);
    }
    if (outcome === "not_issued" || outcome === "unknown") breaker.failed(retryAfterMs);
    const verdict = await spareTheMany(row, judgeFailedRefresh(row, result.failure, pace));
    const turned = await store.putOffRefresh(row, { ...verdict, error: `${error.id}: ${error.message}` });
    if (turned)
      log.error(
        { alarm: "needs_reauth", uuid: row.uuid, error },
        "The platform refuses a refresh token for good",
      );
    else tellOfFailure({ uuid: row.uuid, outcome, error, ...verdict });
    return result;
  }

  /**
   * Logs a failed refresh. Trouble passes, and metrics watch it, so it is a warning; a call that the platform calls
   * malformed fails until a person looks, so it is an alarm.
   */
  function tellOfFailure(
    about: { uuid: string; outcome: TokenFailure } & RefreshVerdict & { error: unknown },
  ): void {
    if (about.outcome !== "bug") return log.warn(about, "A token could not be refreshed yet");
    log.error(
      { alarm: "refresh_misunderstood", ...about },
      "The platform refuses a refresh for another reason than its token",
    );
  }

  /**
   * A wave of refusals must not become a wave of lost customers: during one no token is given up, and an operator is
   * alarmed.
   */
  async function spareTheMany(row: ClaimedCredential, verdict: RefreshVerdict): Promise<RefreshVerdict> {
    if (row.state === "needs_reauth" || verdict.state === "active") return verdict;
    const wave = await massRefusal.wave();
    if (!wave) return verdict;
    log.error(
      { alarm: "mass_refusal", ...wave },
      "Too many refresh tokens are refused at once: none is given up",
    );
    return { state: "active", againInSeconds: MASS_FAILURE_PAUSE_SECONDS, rejected: true };
  }

  const refreshes = createWorkerPool({
    async claim(most) {
      const allowed = Math.min(most, breaker.allowance());
      return allowed > 0 ? admission.claim(claims.refreshes, allowed, false) : [];
    },
    async handle(admitted, signal) {
      await refresh(admitted, semaphore.forRefresh(signal)).catch((error: unknown) =>
        log.error({ uuid: admitted.row.uuid, error }, "A refresh failed; its lease ends by itself"),
      );
    },
    concurrency: concurrency * ROWS_PER_CALL,
    onEnd,
  });

  const asked = new Set<Promise<unknown>>();

  async function refreshOne(uuid: string, generation?: number): Promise<CallResult | { done: "busy" }> {
    let isTaken = true;
    const [admitted] = await admission.claim(
      async () => {
        const row = await claims.refresh(uuid, generation);
        isTaken = row === null;
        return row ? [row] : [];
      },
      1,
      false,
    );
    // Claimed and released: the platform rejects the client secret, and no probe is due.
    if (!admitted) return { done: isTaken ? "busy" : "secret_rejected" };
    return refresh(admitted, withoutPermit);
  }

  return {
    due: refreshes.fill,
    async settled() {
      await refreshes.settled();
      while (asked.size > 0) await Promise.allSettled(asked);
    },
    now(uuid, generation) {
      const answer = refreshOne(uuid, generation).finally(() => asked.delete(answer));
      asked.add(answer);
      return answer;
    },
  };
}
