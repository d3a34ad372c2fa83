import { statement, type Queryable } from "../../database/database.ts";
import type { Log } from "../../logging/log.ts";
import { PlatformRefused } from "../../platform/api-errors.ts";
import type { PlatformFor } from "../platform-for.ts";
import { NoToken } from "./token-source.ts";

// `verify_at` is put off by a minute, not cleared: if this process dies, another one verifies. A row that is just being
// refreshed is left alone, for its token is about to change.
const take = statement(
  "take_suspects",
  `UPDATE credentials SET verify_at = now() + interval '60 seconds'
   WHERE uuid = ANY(ARRAY(
     SELECT uuid FROM credentials WHERE verify_at <= now() AND (leased_until IS NULL OR leased_until <= now())
     LIMIT 50 FOR UPDATE SKIP LOCKED)) RETURNING uuid, verify_at::text AS "verifyAt"`,
);
// Unless the token was suspected again meanwhile.
const clear = statement(
  "clear_suspect",
  `UPDATE credentials SET verify_at = NULL WHERE uuid = $1 AND verify_at = $2::timestamptz`,
);

/**
 * Verifies the stored token of every resource for which a success came too late to be stored: the platform may have
 * issued that token after the one we keep, and killed ours. An ordinary call finds out; on 401 the client refreshes.
 * Any other definite answer means that the token works, whatever it says about the resource.
 */
export function createVerify({
  db,
  platformFor,
  log,
}: {
  db: Queryable;
  platformFor: PlatformFor;
  log: Log;
}) {
  async function probe(uuid: string): Promise<void> {
    try {
      await platformFor(uuid).addons.own();
    } catch (error) {
      if (!isFinal(error)) throw error;
    }
  }

  return async (signal: AbortSignal): Promise<void> => {
    for (const { uuid, verifyAt } of await db.query<{ uuid: string; verifyAt: string }>(take)) {
      if (signal.aborted) return;
      try {
        await probe(uuid);
        await db.query(clear, [uuid, verifyAt]);
      } catch (error) {
        log.warn({ uuid, error }, "A token could not be verified yet");
      }
    }
  };
}

/**
 * The statuses that do not show that the token works: 401 refuses it, and by the others a server says that it has not
 * looked at it.
 */
const NO_WORD_ON_IT = [401, 408, 425, 429];

/** Whether another probe would find out no more: the token works, or there is none and none will come. */
function isFinal(error: unknown): boolean {
  if (error instanceof PlatformRefused) return error.status < 500 && !NO_WORD_ON_IT.includes(error.status);
  return error instanceof NoToken && error.isFinal;
}
