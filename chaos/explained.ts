import type { Freeze, Kill } from "./fleet.ts";
import type { History } from "./history.ts";
import type { TokenCall } from "./token-calls.ts";

// What a storm takes from a service that makes no mistake, and no more: strikes follow each other so closely that an
// excuse for "something was going on" would excuse everything. Who made a call is known, so what happened to one process
// excuses no other.

/** Whoever sent a call may be dead by the time the sandbox, in one process with the storm, comes to read it. */
const READ_WITHIN_MS = 2_000;
/** Issued tokens are stored within this time after they came, or after whatever kept them from being stored. */
const STORED_WITHIN_MS = 5_000;
/**
 * Held up for longer after its call, a refresh may count no more: its tokens are held for 20 s, the last try may wait for
 * the database's answer for 3 s of them, and then somebody else has the lease.
 */
const LATE_AFTER_MS = 15_000;
/** A new client secret is known to every process within this time; what an older version issued is replaced at once. */
const SECRET_KNOWN_WITHIN_MS = 6_000;

export interface Explained {
  /** Whether the tokens that this call issued may be lost: their answer was harmed, or the process killed that had them. */
  isLoss(call: TokenCall): boolean;
  /** Whether the tokens of `before` may have been replaced by `again` although their time had not come. */
  isRefresh(before: TokenCall, again: TokenCall): boolean;
  /** Whether its process stood still for so long, before this call, that another had taken its lease over. */
  isFromThePast(call: TokenCall): boolean;
}

/** Reads from what was done to the service which answers of the token endpoint nobody could have kept. */
export function createExplained(
  {
    databaseTroubles,
    killedTokens,
    renewals,
  }: Pick<History, "databaseTroubles" | "killedTokens" | "renewals">,
  { kills, freezes }: { kills: readonly Kill[]; freezes: readonly Freeze[] },
): Explained {
  const isOf = ({ by }: TokenCall, name: string) => by === null || by === name;

  /** Until when its tokens could not be stored: they are held in memory, and a process that stands still has not read them. */
  function heldUpUntilMs(call: TokenCall): number {
    const delays = [...databaseTroubles, ...freezes.filter(({ name }) => isOf(call, name))];
    return delays
      .sort((a, b) => a.fromMs - b.fromMs)
      .reduce(
        (byMs, { fromMs, toMs }) => (fromMs <= byMs + STORED_WITHIN_MS ? Math.max(byMs, toMs) : byMs),
        call.toMs,
      );
  }

  // A process that is asked to stop stores what it has, and one that freezes reads its answer later, within the call's own
  // limit.
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

  return {
    isLoss,
    isFromThePast,
    isRefresh(before, again) {
      return (
        isLoss(before) ||
        heldUpUntilMs(before) - before.fromMs > LATE_AFTER_MS ||
        // A call that was made after its lease has killed tokens that somebody else had stored.
        isFromThePast(before) ||
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
