import type { KitResource } from "../extend/contract.ts";
import type { Brokers } from "./brokers.ts";
import type { OurKit } from "./metrics.ts";
import type { offer } from "./plans.ts";

const DAY_MS = 86_400_000;

const dayOf = (at: Date) => at.toISOString().slice(0, 10);

/** The days that have ended last: a job that fails for a while, or runs late, meters the same ones. */
const daysBefore = (at: Date) => [3, 2, 1].map((ago) => dayOf(new Date(at.getTime() - ago * DAY_MS)));

type Metered = Pick<KitResource<typeof offer>, "uuid" | "plan" | "region">;

/** What each queue has carried, day by day, in a table of our own. */
export function createUsage(kit: OurKit, brokers: Brokers) {
  /** Stores what a queue has carried on these days; again, if they are stored. */
  async function meter(
    { uuid, plan, region }: Metered,
    days: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    for (const day of days) {
      const used = await brokers.in(region).usage(uuid, day, signal);
      // An earlier call has removed the queue, and metered it before that.
      if (!used) return;
      await kit.database.query(
        `INSERT INTO yours.usage (uuid, day, messages, plan) VALUES ($1, $2, $3, $4)
         ON CONFLICT (uuid, day) DO UPDATE SET messages = excluded.messages`,
        [uuid, day, used.messages, plan],
      );
    }
  }

  return {
    /** Of a queue that has ended: the day of its end, and what the last night has not metered. */
    meterLast: (queue: Metered, endedAt: Date, signal: AbortSignal) =>
      meter(queue, [...daysBefore(endedAt), dayOf(endedAt)], signal),

    /** Asks the broker about each queue. If one fails the others are asked, and the kit tries the whole job again. */
    async meterAll(signal: AbortSignal): Promise<void> {
      const failed: string[] = [];
      const days = daysBefore(new Date());
      for await (const queue of kit.resources.list({ state: "provisioned" })) {
        if (signal.aborted) return;
        await meter(queue, days, signal).catch((error: unknown) => {
          kit.log.warn({ uuid: queue.uuid, error }, "A queue could not be metered");
          failed.push(queue.uuid);
        });
      }
      if (failed.length > 0) throw new Error(`Not metered: ${failed.join(", ")}`);
    },

    /** All days that are stored, for an export. */
    of: (uuid: string) =>
      kit.database.query<{ day: string; messages: number }>(
        `SELECT day::text, messages::float8 AS messages FROM yours.usage WHERE uuid = $1 ORDER BY day`,
        [uuid],
      ),

    /** The last 30 days that have ended, oldest first; null: the day is not metered. */
    async ofLastDays(uuid: string): Promise<[day: string, messages: number | null][]> {
      const days = await kit.database.query<{ day: string; messages: number | null }>(
        `SELECT to_char(day, 'FMDD Mon') AS day, messages::float8 AS messages
         FROM (SELECT (now() AT TIME ZONE 'UTC')::date - ago AS day FROM generate_series(30, 1, -1) AS ago) days
         LEFT JOIN (SELECT day, messages FROM yours.usage WHERE uuid = $1) metered USING (day) ORDER BY days.day`,
        [uuid],
      );
      return days.map(({ day, messages }) => [day, messages]);
    },

    /** How many queues the last night has metered. */
    async queuesYesterday(): Promise<number> {
      const [row] = await kit.database.query<{ queues: number }>(
        `SELECT count(*)::int AS queues FROM yours.usage WHERE day = (now() AT TIME ZONE 'UTC')::date - 1`,
      );
      return row!.queues;
    },

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
