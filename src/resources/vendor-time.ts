import type { Attempt } from "./steps/attempt.ts";

/**
 * The platform wants its answer within 3 s. After this long the answer is "later" (202), with 200 ms left to store it.
 */
export const VENDOR_TIME_MS = 2_800;

/**
 * The result of a vendor's call, or `slow` after {@link VENDOR_TIME_MS}. A call that is cut off because the process
 * stops has failed: the platform waits for an answer.
 */
export function resultOrSlow(call: Promise<Attempt>): Promise<Attempt | { is: "slow" }> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve({ is: "slow" }), VENDOR_TIME_MS);
    void call
      .catch((error: unknown): Attempt => ({ is: "failed", error }))
      .finally(() => clearTimeout(timer))
      .then(resolve);
  });
}
