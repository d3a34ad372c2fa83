import type { Queryable } from "../database/database.ts";
import { addTotals, readTotals, type Total } from "./store.ts";
import { messageOf } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import type { Family, Metrics, Value } from "./metrics.ts";

/** How often each process adds its counts to the totals; a process that is killed loses those since the last time. */
const STORE_EVERY_MS = 10_000;

/** Stores the counts of this process in the database, added to those of other processes; before `start`, nothing. */
export function createTotals({ db, metrics, log }: { db: Queryable; metrics: Metrics; log: Log }) {
  const stored = new Map<string, number>();
  let storing: Promise<void> | null = null;
  let timer: NodeJS.Timeout | undefined;

  async function storeNews(): Promise<void> {
    const news = (await metrics.families())
      .flatMap(({ name, values }) => values.map((value) => totalOf(name, value)))
      .map((total) => ({ ...total, before: stored.get(keyOf(total)) }))
      .filter(({ value, before }) => value !== before);
    if (news.length === 0) return;
    await addTotals(
      db,
      news.map(({ sample, labels, value, before = 0 }) => ({ sample, labels, value: value - before })),
    );
    for (const total of news) stored.set(keyOf(total), total.value);
  }

  /** Adds what this process counted since the last call. If that fails, the next call adds it. */
  const store = () => (storing ??= storeNews().finally(() => (storing = null)));

  const storeIfPossible = () =>
    store().catch((error: unknown) =>
      log.debug({ reason: messageOf(error) }, "What was counted is not stored yet; the next time it is"),
    );

  return {
    store,
    /** Starts to add to the totals at an interval. */
    start(): void {
      timer = setInterval(() => void storeIfPossible(), STORE_EVERY_MS).unref();
    },
    /** Stops, and adds the remaining counts. */
    async stop(): Promise<void> {
      if (!timer) return;
      clearInterval(timer);
      await storeIfPossible();
      // The first call may have joined a store in progress, which had read the metrics before the last counts.
      await storeIfPossible();
    },
    /** The metrics summed over all processes. */
    async read(): Promise<Family[]> {
      const totals = await readTotals(db);
      return (await metrics.families()).map((family) => ({
        ...family,
        values: totals
          .filter(({ sample }) => samplesOf(family).includes(sample))
          .map(({ sample, labels, value }) => ({
            ...{ metricName: sample, labels: JSON.parse(labels) as Value["labels"], value },
          }))
          .sort(asShown),
      }));
    },
  };
}

export type Totals = ReturnType<typeof createTotals>;

const keyOf = ({ sample, labels }: Total): string => `${sample} ${labels}`;

function totalOf(name: string, { metricName = name, labels, value }: Value): Total {
  const sorted = Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1));
  return { sample: metricName, labels: JSON.stringify(Object.fromEntries(sorted)), value };
}

/** The names that samples of a counter or a histogram have. */
const samplesOf = ({ name }: Family) => [name, `${name}_bucket`, `${name}_sum`, `${name}_count`];

/** Sorts by series, and the buckets of each by their bound. */
function asShown(one: Value, other: Value): number {
  const [a, b] = [one, other].map(({ labels: { le: _, ...series } }) => JSON.stringify(series)) as [
    string,
    string,
  ];
  if (a !== b) return a < b ? -1 : 1;
  return boundOf(one) - boundOf(other);
}

function boundOf({ labels: { le } }: Value): number {
  return le === undefined ? Infinity : Number(le === "+Inf" ? Number.MAX_VALUE : le);
}
