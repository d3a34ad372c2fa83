import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../errors.ts";
import { isUnreachable } from "./retry.ts";

const PING_EVERY_MS = 1_000;
/** A request waits as long for the database; a shorter outage costs nobody anything. */
const ALARM_AFTER_SECONDS = 8;
/** Fewer failures in that time mean that the process stood still. */
const ALARM_AFTER_PINGS = 3;

/**
 * Logs an outage of the database once: its beginning, an alarm if it lasts for 8 seconds, its end. `noticed` is called
 * with every error of the database; after one that may be an outage, a ping a second follows until the database answers.
 */
export function createOutageWatch({
  ping,
  log,
}: {
  ping(): Promise<void>;
  log: Record<"warn" | "error", (members: object, message: string) => void>;
}) {
  const closing = new AbortController();
  let watch: Promise<void> | null = null;

  async function untilItAnswers(): Promise<void> {
    const begunMs = performance.now();
    let isAlarmed = false;
    for (let failed = 1; !closing.signal.aborted; failed++) {
      const reason = await ping().then(() => null, messageOf);
      const seconds = Math.round((performance.now() - begunMs) / 1_000);
      if (reason === null)
        return void (failed > 1 && log.warn({ seconds }, "The database is reachable again"));
      if (failed === 1) log.warn({ reason }, "The database is unreachable; trying until it answers");
      if (!isAlarmed && failed >= ALARM_AFTER_PINGS && seconds >= ALARM_AFTER_SECONDS) {
        isAlarmed = true;
        log.error({ alarm: "database_unreachable", reason, seconds }, "The database is unreachable");
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
