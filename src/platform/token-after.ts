import { setTimeout as wait } from "node:timers/promises";
import type { Secret } from "../secret.ts";
import { within } from "../within.ts";

/** A pair of tokens as it is stored; `generation` counts the pairs that a row has had. */
export interface StoredPair {
  token: Secret;
  generation: number;
}

/** Whose tokens, and how another one is come by. */
export interface Successor<Pair extends StoredPair> {
  /** What is stored now; rejects where there is no token to use. */
  stored(): Promise<Pair>;
  /** Tries to replace this pair, and no other. `busy`: somebody else is at it. Rejects with what makes it impossible. */
  replace(pair: Pair): Promise<"done" | "busy">;
  /** What the caller is told whose patience is over. */
  stillBusy(): Error;
}

/** How long a caller waits for the process that is just refreshing the same token. */
const PATIENCE_MS = 5_000;
const LOOK_AGAIN_MS = 50;
/** The longest call to the token endpoint, and some. What then still cannot be stored is held, but not waited for. */
const LONGEST_REPLACING_MS = 25_000;

/**
 * The access token that comes after one found dead, replaced by whoever gets the row's lease first, once for however
 * many callers and processes found it dead.
 */
export async function tokenAfter<Pair extends StoredPair>(
  dead: Secret,
  { stored, replace, stillBusy }: Successor<Pair>,
): Promise<Secret> {
  const until = performance.now() + PATIENCE_MS;
  let first: number | null = null;
  for (;;) {
    const pair = await stored();
    first ??= pair.generation;
    // A refresh may bring the same token again. It is returned, for asking once more would bring nothing else; the
    // caller sees whether it works.
    if (pair.token.reveal() !== dead.reveal() || pair.generation > first) return pair.token;
    if ((await within(LONGEST_REPLACING_MS, replace(pair), stillBusy)) === "done") continue;
    if (performance.now() > until) throw stillBusy();
    await wait(LOOK_AGAIN_MS);
  }
}
