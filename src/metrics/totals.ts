import type { Queryable } from "../database/statement.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import type { Metrics } from "./metrics.ts";
import { addTotals } from "./totals-store.ts";

/** How often each process adds its counts to the totals; a process that is killed loses those since the last time. */
const STORE_EVERY_MS = 10_000;

/** Stores the counts of this process in the database, added to those of other processes; before `start`, nothing. */
export function createTotals({ db, metrics, log }: { db: Queryable; metrics: Metrics; log: Log }) {
  const stored = new Map<string, number>();
  let storing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;

  async function storeNews(): Promise<void> {
    const counts = (await metrics.families()).flatMap(({ name, values }) =>
      values.map(({ metricName = name, labels, value }) => {
        const sorted = Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
        return { sample: metricName, labels: JSON.stringify(sorted), value };
      }),
    );
    const keyOf = ({ sample, labels }: (typeof counts)[number]) => `${sample} ${labels}`;
    const news = counts.filter((count) => count.value !== stored.get(keyOf(count)));
    if (news.length === 0) return;
    await addTotals(
      db,
      news.map((count) => ({ ...count, value: count.value - (stored.get(keyOf(count)) ?? 0) })),
    );
    for (const count of news) stored.set(keyOf(count), count.value);
  }

  /** If that fails, the next call adds it: twice, if only the acknowledgement was lost. */
  const store = () => (storing ??= storeNews().finally(() => (storing = null)));

  const storeIfPossible = () =>
    store().catch((error: unknown) =>
      log.debug({ reason: messageOf(error) }, "What was counted is not stored yet; the next time it is"),
    );

  return {
    store,
    start(): void {
      timer = setInterval(() => void storeIfPossible(), STORE_EVERY_MS).unref();
    },
    /** Stops, and adds the remaining counts. */
    async stop(): Promise<void> {
      if (!timer) return;
      clearInterval(timer);
      // One that is under way had read the counts before the last ones.
      await storing?.catch(() => undefined);
      await storeIfPossible();
    },
  };
}
