import type { Brokers } from "./brokers.ts";
import type { OurKit } from "./metrics.ts";

const DAY_MS = 86_400_000;

/** The days that have ended last: a job that fails for a while, or runs late, meters the same ones. */
const lastDays = () => [1, 2, 3].map((ago) => new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10));

/** What each queue has carried, day by day, in a table of our own. */
export function createUsage(kit: OurKit, brokers: Brokers) {
  return {
    /** Asks the broker about each queue. If one fails the others are asked, and the kit tries the whole job again. */
    async meterAll(signal: AbortSignal): Promise<void> {
      const failed: string[] = [];
      for await (const { uuid, region, state } of kit.resources.list()) {
        if (signal.aborted) return;
        if (state !== "provisioned") continue;
        try {
          for (const day of lastDays()) {
            const { messages } = await brokers.in(region).usage(uuid, day, signal);
            await kit.database.query(
              `INSERT INTO yours.usage (uuid, day, messages) VALUES ($1, $2, $3)
               ON CONFLICT (uuid, day) DO UPDATE SET messages = excluded.messages`,
              [uuid, day, messages],
            );
          }
        } catch (error) {
          kit.log.warn({ uuid, error }, "A queue could not be metered");
          failed.push(uuid);
        }
      }
      if (failed.length > 0) throw new Error(`Not metered: ${failed.join(", ")}`);
    },

    /** All days that are stored, for an export. */
    of: (uuid: string) =>
      kit.database.query<{ day: string; messages: number }>(
        `SELECT day::text, messages::float8 AS messages FROM yours.usage WHERE uuid = $1 ORDER BY day`,
        [uuid],
      ),

    /** The messages of the last 30 days. */
    async ofMonth(uuid: string): Promise<number> {
      const tables = await kit.database.prisma(() => import("./client/client.ts"));
      const day = { gt: new Date(Date.now() - 30 * DAY_MS) };
      const { _sum } = await tables.usage.aggregate({ where: { uuid, day }, _sum: { messages: true } });
      return Number(_sum.messages ?? 0);
    },
  };
}

export type Usage = ReturnType<typeof createUsage>;
