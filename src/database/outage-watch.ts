import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../errors.ts";
import { isUnreachable } from "./retry.ts";

const PING_EVERY_MS = 1_000;
/** A request waits as long for the database; a shorter outage costs nobody anything. */
const ALARM_AFTER_MS = 8_000;
/** Fewer failures in that time mean that the process stood still. */
const ALARM_AFTER_PINGS = 3;

/** The `cause` of every log line about an unreachable database. */
export const DATABASE_UNREACHABLE = "database_unreachable";

/**
 * Logs an outage of the database once: its beginning, an alarm if it lasts for 8 seconds, its end. `noticed` is told
 * every error of the database; one that may be an outage is followed by a ping a second until the database answers.
 * `forget` is called at the end, and returns how many lines were left out of the log meanwhile.
 */
export function createOutageWatch(needs: {
  ping(): Promise<void>;
  forget(cause: string): number;
  log: Record<"warn" | "error", (members: object, message: string) => void>;
}) {
  const { ping, forget, log } = needs;
  const closing = new AbortController();
  let watch: Promise<void> | null = null;

  async function untilItAnswers(): Promise<void> {
    const begunMs = performance.now();
    let isAlarmed = false;
    for (let failed = 0; !closing.signal.aborted;) {
      const reason = await ping().then(() => null, messageOf);
      const lastedMs = performance.now() - begunMs;
      const about = { reason, seconds: Math.round(lastedMs / 1_000) };
      if (reason === null) {
        const times = forget(DATABASE_UNREACHABLE);
        if (failed > 0) log.warn({ seconds: about.seconds, times }, "The database is reachable again");
        return;
      }
      failed += 1;
      const cause = DATABASE_UNREACHABLE;
      if (failed === 1) log.warn({ cause, reason }, "The database is unreachable; trying until it answers");
      if (!isAlarmed && failed >= ALARM_AFTER_PINGS && lastedMs >= ALARM_AFTER_MS) {
        isAlarmed = true;
        log.error({ alarm: "database_unreachable", ...about }, "The database is unreachable");
      }
      await sleep(PING_EVERY_MS, undefined, { ref: false, signal: closing.signal }).catch(() => undefined);
    }
  }

  return {
    noticed(error: unknown): void {
      if (watch || closing.signal.aborted || !isUnreachable(error)) return;
      watch = untilItAnswers().finally(() => (watch = null));
    },
    /** Ends the watch; resolves when no ping is under way. */
    async close(): Promise<void> {
      closing.abort();
      await watch;
    },
  };
}
