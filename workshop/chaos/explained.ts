import type { Freeze, Kill } from "./fleet.ts";
import type { History } from "./history.ts";
import type { TokenCall } from "./token-calls.ts";

// Decides which losses a storm causes even to a faultless service, and no others: strikes follow each other so closely
// that an excuse like "something was going on" would excuse everything. The process that made each call is known, so a
// strike on one process excuses no other.

/**
 * A call may have been sent by a process that was killed this long before the sandbox, which shares a process with the
 * storm, reads it.
 */
const READ_WITHIN_MS = 2_000;
/** Issued tokens are stored within this time after they arrive, or after the end of whatever prevented that. */
const STORED_WITHIN_MS = 5_000;
/**
 * A refresh whose tokens could not be stored for longer than this may have been superseded: a process holds tokens for
 * 20 s, its last try may spend 3 s of them waiting for the database, and then another process takes over the lease.
 */
const LATE_AFTER_MS = 15_000;
/**
 * Every process knows a new client secret within this time, and replaces at once the tokens that an older version
 * issued.
 */
const SECRET_KNOWN_WITHIN_MS = 6_000;

export interface Explained {
  /**
   * Whether the tokens that this call issued may be lost: the answer was damaged, or the process that received it was
   * killed.
   */
  isLoss(call: TokenCall): boolean;
  /** Whether `again` may have replaced the tokens of `before` early. */
  isRefresh(before: TokenCall, again: TokenCall): boolean;
  /**
   * Whether the calling process was frozen before this call for so long that another process had taken over its lease.
   */
  isFromThePast(call: TokenCall): boolean;
}

/** Works out, from what was done to the service, which tokens no service could have kept. */
export function createExplained(
  {
    databaseTroubles,
    killedTokens,
    renewals,
  }: Pick<History, "databaseTroubles" | "killedTokens" | "renewals">,
  { kills, freezes }: { kills: readonly Kill[]; freezes: readonly Freeze[] },
): Explained {
  const isOf = ({ by }: TokenCall, name: string) => by === null || by === name;

  /**
   * The time until which the call's tokens could not be stored: during database trouble they are held in memory, and a
   * frozen process has not read the answer.
   */
  function heldUpUntilMs(call: TokenCall): number {
    const delays = [...databaseTroubles, ...freezes.filter(({ name }) => isOf(call, name))];
    return delays
      .sort((a, b) => a.fromMs - b.fromMs)
      .reduce(
        (byMs, { fromMs, toMs }) => (fromMs <= byMs + STORED_WITHIN_MS ? Math.max(byMs, toMs) : byMs),
        call.toMs,
      );
  }

  // Stops and freezes cause no loss: a process that is asked to stop stores its tokens first, and a frozen one reads
  // the answer later, within the call's time limit.
  function isLoss(call: TokenCall): boolean {
    const fromMs = call.fromMs - READ_WITHIN_MS;
    const toMs = heldUpUntilMs(call) + STORED_WITHIN_MS;
    return (
      call.isHarmed || kills.some(({ name, atMs }) => isOf(call, name) && atMs >= fromMs && atMs <= toMs)
    );
  }

  const isFromThePast = (call: TokenCall) =>
    freezes.some(
      ({ name, fromMs, toMs }) =>
        isOf(call, name) &&
        toMs - fromMs > LATE_AFTER_MS &&
        fromMs <= call.fromMs &&
        toMs >= call.fromMs - READ_WITHIN_MS,
    );

  /** It was about to be sent when its process was frozen: the life of its tokens is counted from before. */
  const isSentAtThaw = (call: TokenCall) =>
    freezes.some(
      ({ name, toMs }) => isOf(call, name) && toMs <= call.fromMs && toMs >= call.fromMs - READ_WITHIN_MS,
    );

  return {
    isLoss,
    isFromThePast,
    isRefresh(before, again) {
      return (
        isLoss(before) ||
        heldUpUntilMs(before) - before.fromMs > LATE_AFTER_MS ||
        // A call made after its lease had expired invalidated tokens that another process had stored.
        isFromThePast(before) ||
        isSentAtThaw(before) ||
        isFromThePast(again) ||
        killedTokens.some(
          ({ uuid, atMs }) => uuid === before.uuid && atMs >= before.fromMs && atMs <= again.toMs,
        ) ||
        renewals.some(
          ({ fromMs, toMs }) => fromMs <= again.toMs && toMs >= before.fromMs - SECRET_KNOWN_WITHIN_MS,
        )
      );
    },
  };
}
