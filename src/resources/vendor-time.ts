import type { Attempt } from "./steps/attempt.ts";

/**
 * The result of a vendor's call, or `slow` after `vendorMs`. A call that is cut off because the process
 * stops has failed: the platform waits for an answer.
 */
export function resultOrSlow(call: Promise<Attempt>, vendorMs: number): Promise<Attempt | { is: "slow" }> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve({ is: "slow" }), vendorMs);
    void call
      .catch((error: unknown): Attempt => ({ is: "failed", error }))
      .finally(() => clearTimeout(timer))
      .then(resolve);
  });
}
