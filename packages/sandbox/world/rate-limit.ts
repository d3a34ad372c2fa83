import type { AuthorizationRecord } from "./records.ts";
import type { World } from "./world.ts";

const REFILL_PER_MINUTE = 75;

/**
 * The calls left in the bucket of a resource's token, in whole calls ("Limits": calls on one resource do not affect
 * another; numbers from assumed, section 4). The bucket belongs to the token pair, so a refresh does not fill it. If
 * `rateLimit` grows, the bucket gains the difference at once; if it shrinks, the bucket is cut to the new size.
 */
export function remainingCalls(world: World, { bucket }: AuthorizationRecord): number {
  const now = world.clock.now();
  const size = world.settings.rateLimit;
  const refill = (Math.max(0, now - bucket.at) / 60_000) * REFILL_PER_MINUTE;
  const gain = Math.max(0, size - bucket.size);
  bucket.level = Math.min(size, bucket.level + refill + gain);
  bucket.size = size;
  bucket.at = now;
  return Math.floor(bucket.level);
}

/** Takes one call out of the bucket; false when it is empty. */
export function takeCall(world: World, authorization: AuthorizationRecord): boolean {
  if (remainingCalls(world, authorization) < 1) return false;
  authorization.bucket.level -= 1;
  return true;
}
