import { setTimeout as sleep } from "node:timers/promises";
import type { KitError } from "../../errors.ts";
import type { NoGrant } from "../../platform/oauth-grant.ts";
import type { Recovery } from "../../credentials/grant.ts";
import { GrantsClosed, LegacyCredentialsRejected } from "./errors.ts";

/** Why a resource got no grant. */
export type WhyNot = NoGrant["error"];

/** Asks for the grants of many resources, and stops once asking on is pointless. */
export interface Asking {
  /**
   * Answers null if a grant is stored and will be exchanged. `halted`: the endpoint was not asked, or its answer showed
   * that asking on is pointless.
   */
  ask(uuid: string): Promise<WhyNot | "halted" | null>;
  isHalted(): boolean;
  /** What is wrong with the endpoint as a whole, reported once instead of for every resource; null: nothing. */
  wrong(): KitError | null;
}

/** Asking is idempotent, so a failure that may pass is retried after these pauses. */
const TRY_AGAIN_AFTER_MS = [1_000, 4_000];
const LONGEST_REST_MS = 60_000;
/** After this many resources in a row without an answer about the resource itself, the rest is left for another run. */
const MOST_IN_TROUBLE = 3;

/**
 * Until the endpoint has given an answer about one resource, the resources are asked for one at a time: so a closed
 * endpoint or wrong credentials are met only once. After that, such an answer counts for its resource alone.
 */
export function createAsking(recover: (uuid: string) => Promise<Recovery>, signal: AbortSignal): Asking {
  let isOpen = false;
  let turn: Promise<unknown> = Promise.resolve();
  let inTrouble = 0;
  let restUntilMs = 0;
  let wrong: KitError | null = null;

  const isHalted = () => wrong !== null || inTrouble >= MOST_IN_TROUBLE || signal.aborted;

  /** Null if `signal` was aborted, so the endpoint was not asked. */
  async function once(uuid: string): Promise<Recovery | null> {
    while (!signal.aborted && performance.now() < restUntilMs)
      await rest(restUntilMs - performance.now(), signal);
    return signal.aborted ? null : recover(uuid);
  }

  async function persistently(uuid: string): Promise<Recovery | null> {
    let answer = await once(uuid);
    for (const pauseMs of TRY_AGAIN_AFTER_MS) {
      if (answer?.outcome !== "not_now") break;
      // A Retry-After holds back all our calls.
      if (answer.retryAfterMs)
        restUntilMs = performance.now() + Math.min(answer.retryAfterMs, LONGEST_REST_MS);
      else await rest(pauseMs, signal);
      answer = await once(uuid);
    }
    return answer;
  }

  function judge(answer: Recovery): WhyNot | null {
    if (isAboutOne(answer)) {
      isOpen = true;
      inTrouble = 0;
    } else {
      inTrouble += 1;
      if (!isOpen) wrong ??= wrongWith(answer);
    }
    return whyNot(answer);
  }

  async function ask(uuid: string): Promise<WhyNot | "halted" | null> {
    if (isHalted()) return "halted";
    const answer = await persistently(uuid);
    const why = answer ? judge(answer) : "halted";
    return wrong ? "halted" : why;
  }

  return {
    isHalted,
    wrong: () => wrong,
    ask(uuid) {
      if (isOpen) return ask(uuid);
      const asked = turn.then(() => ask(uuid));
      turn = asked.catch(() => undefined);
      return asked;
    },
  };
}

type AboutOne = Exclude<Recovery, NoGrant>;

function isAboutOne(answer: Recovery): answer is AboutOne {
  return ["stored", "not_wanted", "already_exchanged", "unknown"].includes(answer.outcome);
}

function wrongWith({ outcome, error }: NoGrant): KitError | null {
  if (outcome === "closed") return new GrantsClosed(error.message);
  if (outcome === "credentials_rejected") return new LegacyCredentialsRejected(error.message);
  return null;
}

function whyNot(answer: Recovery): WhyNot | null {
  switch (answer.outcome) {
    case "stored":
    case "not_wanted":
      return null;
    case "already_exchanged":
      return { id: "already_exchanged", message: `${EXCHANGED} (${answer.error.message}).` };
    case "unknown":
      return {
        id: "unknown_to_platform",
        message: `The platform knows no such resource (${answer.error.message}).`,
      };
    default:
      return answer.error;
  }
}

const EXCHANGED =
  "The platform gives no grant for it, because one was exchanged before: its tokens cannot be had again. Ask the platform's support, or the customer to install again";

async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
