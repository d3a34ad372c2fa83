import type { Call } from "./books.ts";
import type { Outgoing, Reply } from "./wire.ts";

/** How the platform treats one call of the service differently. */
export interface Reaction {
  /** Answered in place of the platform's own answer; no work is done. */
  reply?: Reply;
  /** The connection is cut; no work is done. */
  cut?: true;
  /** Waits this many ms first. */
  delayMs?: number;
  /** Waits for this after the work is done, before the answer is given. */
  heldUntil?: Promise<unknown>;
  /** Changes the platform's own answer. */
  rewrite?(reply: Reply): Reply;
}

/** How the platform treats one resource. */
export interface Script {
  /** Changes a call to the service before it is sent. */
  alter?(request: Outgoing): void;
  /** Called for each call of the service that concerns the resource. */
  react?(call: Call): Reaction | undefined;
  /** The lifetime of its access tokens in seconds, also sent as `expires_in`. */
  tokenLifeSeconds?: number;
  /** Replaces a token that is handed out by another one. */
  disguise?(token: string, kind: "access" | "refresh"): string;
  /** The number of answers of the service that do not reach the platform. */
  lostAnswers?: number;
}

/** Applies `reaction` to the first `times` calls that match. */
export function firstTimes(
  times: number,
  isMeant: (call: Call) => boolean,
  reaction: (call: Call) => Reaction,
) {
  let left = times;
  return (call: Call): Reaction | undefined => (isMeant(call) && left-- > 0 ? reaction(call) : undefined);
}
