import type { Disturbance, History } from "./history.ts";
import type { TokenCall } from "./token-calls.ts";

// What a storm takes from a service that makes no mistake, and no more: strikes follow each other so closely that an
// excuse for "something was going on" would excuse everything.

/** Whoever sent a call may be dead by the time the sandbox, in one process with the storm, comes to read it. */
const READ_WITHIN_MS = 2_000;
/** Issued tokens are stored within this time after they came, or after whatever kept them from being stored. */
const STORED_WITHIN_MS = 5_000;
/** A new client secret is known to every process within this time; what an older version issued is replaced at once. */
const SECRET_KNOWN_WITHIN_MS = 6_000;

export interface Explained {
  /** Whether the tokens that this call issued may be lost: their answer was harmed, or a process killed that had them. */
  isLoss(call: TokenCall): boolean;
  /** Whether the tokens of `before` may have been replaced by `again` although their time had not come. */
  isRefresh(before: TokenCall, again: TokenCall): boolean;
}

/** Reads from what was done to the service which answers of the token endpoint nobody could have kept. */
export function createExplained(
  { disturbances, killedTokens }: Pick<History, "disturbances" | "killedTokens">,
  /** When processes were killed. */
  killedAtMs: readonly number[],
): Explained {
  const having = (wanted: Disturbance["effect"]) =>
    disturbances.filter(({ effect }) => effect === wanted).sort((a, b) => a.fromMs - b.fromMs);
  const delays = having("delay");
  const renewals = having("renewal");

  /** Tokens are held in memory for as long as they cannot be stored; a process that stands still has not read them. */
  function storedByMs({ toMs }: TokenCall): number {
    return delays.reduce(
      (byMs, delay) => (delay.fromMs <= byMs ? Math.max(byMs, delay.toMs + STORED_WITHIN_MS) : byMs),
      toMs + STORED_WITHIN_MS,
    );
  }

  // Which process made the call, the platform does not know: a kill of any may have been that of this one. A process that
  // is asked to stop stores what it has, and one that freezes reads its answer later, within the call's own limit.
  function isLoss(call: TokenCall): boolean {
    const [fromMs, toMs] = [call.fromMs - READ_WITHIN_MS, storedByMs(call)];
    return call.isHarmed || killedAtMs.some((atMs) => atMs >= fromMs && atMs <= toMs);
  }

  return {
    isLoss,
    isRefresh(before, again) {
      const storedBy = storedByMs(before);
      return (
        isLoss(before) ||
        // Stored after its lease, a refresh does not count, and another process makes it again.
        delays.some(({ fromMs, toMs }) => fromMs <= storedBy && toMs >= before.fromMs - READ_WITHIN_MS) ||
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
