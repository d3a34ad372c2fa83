import type { Log } from "../logging/log.ts";
import type { Http } from "../platform/http.ts";
import type { StatusWatch } from "../platform/status-watch.ts";

/** Clocks further apart than this (ms) are a fault: decisions about times go wrong. */
const MOST_APART_MS = 60_000;
const LOOK_EVERY_MS = 60_000;
/** The platform is asked for its clock if no other call has shown it for this long. */
const PLATFORM_SEEN_MS = 600_000;

export type Clocks = ReturnType<typeof createClocks>;

/**
 * Compares the clocks of the database and the platform with that of this process. `databaseClock` reads the one, in ms
 * since 1970; `status.look` makes a call by a client whose dates are read, and never rejects.
 */
export function createClocks(
  ctx: { status: Pick<StatusWatch, "look">; log: Log },
  databaseClock: () => Promise<number>,
) {
  /** By how much (ms) each that was seen is ahead of ours. */
  const ahead: { database?: number; platform?: number } = {};
  let platformSeenMs = -Infinity;
  let isAlarmed = false;
  let timer: NodeJS.Timeout | undefined;

  /** By how much (ms) the furthest two of the three clocks are apart, as far as they were seen. */
  const apartMs = () => Math.max(0, ...Object.values(ahead)) - Math.min(0, ...Object.values(ahead));

  /** Which clocks are more than a minute apart, as a sentence; null: none. */
  function trouble(): string | null {
    if (apartMs() <= MOST_APART_MS) return null;
    const each = Object.entries(ahead).map(([whose, ms]) => `that of the ${whose} ${inWords(ms)}`);
    return `Clocks are apart: ${each.join(", ")}.`;
  }

  /** Looks at the database's clock, and at the platform's if it has not been seen lately. */
  async function look(): Promise<void> {
    const sentMs = Date.now();
    ahead.database = aheadMs(await databaseClock(), sentMs);
    if (trouble() || performance.now() - platformSeenMs > PLATFORM_SEEN_MS) await ctx.status.look();
  }

  async function watch(): Promise<void> {
    // Without the database there is nothing to compare, and its outage is logged elsewhere.
    await look().catch(() => undefined);
    const sentence = trouble();
    if (sentence && !isAlarmed) ctx.log.error({ alarm: "clocks_apart" }, sentence);
    if (!sentence && isAlarmed) ctx.log.warn("The clocks agree again");
    isAlarmed = sentence !== null;
  }

  return {
    apartMs,
    trouble,
    look,
    /** Wraps a client for the platform: the `Date` header of its answers shows the platform's clock. */
    readingDates: ({ send, close }: Http): Http => ({
      close,
      async send(request) {
        const sentMs = Date.now();
        const answer = await send(request);
        const { date, age = "0" } = answer.headers;
        const shownMs = Date.parse(date ?? "");
        // An answer from a cache shows when it was made.
        if (Number.isNaN(shownMs) || age !== "0") return answer;
        ahead.platform = aheadMs(shownMs, sentMs);
        platformSeenMs = performance.now();
        return answer;
      },
    }),
    /** Looks every minute, and raises an alarm when the clocks are apart. */
    start(): void {
      platformSeenMs = performance.now();
      timer ??= setInterval(() => void watch(), LOOK_EVERY_MS).unref();
      void watch();
    },
    stop: () => clearInterval(timer),
  };
}

/** By how much a clock that showed `shownMs` between `sentMs` and now is ahead of ours. */
function aheadMs(shownMs: number, sentMs: number): number {
  return Math.max(0, shownMs - Date.now()) + Math.min(0, shownMs - sentMs);
}

function inWords(ms: number): string {
  const seconds = Math.round(Math.abs(ms) / 1_000);
  if (seconds < 2) return "agrees with that of this process";
  return `is ${seconds} s ${ms < 0 ? "behind" : "ahead of"} that of this process`;
}
