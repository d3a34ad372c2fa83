import { setTimeout as sleep } from "node:timers/promises";
import type { Secret } from "../secret.ts";
import { within } from "../within.ts";

/** A pair of tokens as it is stored; `generation` counts the pairs that a row has had. */
export interface StoredPair {
  token: Secret;
  generation: number;
}

/** How to read the stored pair of tokens, and how to replace it. */
export interface Successor<Pair extends StoredPair> {
  /** What is stored now; rejects where there is no token to use. */
  stored(): Promise<Pair>;
  /**
   * Tries to replace this very pair. `busy`: another caller or process is at it. Rejects with what makes it impossible.
   */
  replace(pair: Pair): Promise<"done" | "busy">;
  /** The error for a caller that has waited too long. */
  stillBusy(): Error;
}

/** How long a caller waits for the process that is just refreshing the same token. */
const PATIENCE_MS = 5_000;
const LOOK_AGAIN_MS = 50;
/**
 * The longest token call (20 s) plus 5 s for storing. Tokens not stored by then are held, but no caller waits for that.
 */
const LONGEST_REPLACING_MS = 25_000;

/**
 * Resolves with the access token that comes after one found dead. The caller that gets the row's lease first replaces
 * it, once for all the callers and processes that found it dead.
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
    await sleep(LOOK_AGAIN_MS);
  }
}
