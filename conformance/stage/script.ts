import type { Call } from "./books.ts";
import type { Outgoing, Reply } from "./wire.ts";

/** What the platform does with one call of the service instead of the usual. */
export interface Reaction {
  /** Given instead of the platform's own answer; no work is done. */
  reply?: Reply;
  /** The connection is cut; no work is done. */
  cut?: true;
  /** Waited before anything else. */
  delayMs?: number;
  /** Changes the platform's own answer. */
  rewrite?(reply: Reply): Reply;
}

/** How the platform treats one resource. */
export interface Script {
  /** Changes a call to the service before it is sent. */
  alter?(request: Outgoing): void;
  /** Asked at each call of the service about the resource. */
  react?(call: Call): Reaction | undefined;
  /** How long its access tokens live, and what `expires_in` says. */
  tokenLifeSeconds?: number;
  /** Another form for a token that is handed out. */
  disguise?(token: string, kind: "access" | "refresh"): string;
  /** So many answers of the service do not reach the platform. */
  lostAnswers?: number;
}

/** Lets the first so many calls that match meet `reaction`. */
export function firstTimes(
  times: number,
  isMeant: (call: Call) => boolean,
  reaction: (call: Call) => Reaction,
) {
  let left = times;
  return (call: Call): Reaction | undefined => (isMeant(call) && left-- > 0 ? reaction(call) : undefined);
}
