import { statement, type Queryable } from "../database/database.ts";
import type { Family, Value } from "./families.ts";

// One total for each series, over all processes and beyond their restarts. Behind a router, a scrape reaches an
// arbitrary web process and never a worker: totals of one process would jump from scrape to scrape, and miss the work
// of the workers. Rows are written in the order of their key, so that two processes cannot deadlock.

/** The metrics that are also stored by the hour, for the plots of the operator's pages. */
export const KEPT_BY_THE_HOUR = ["addon_refreshes_total", "addon_refresh_breaker_openings_total"] as const;

const add = statement(
  "add_metric_totals",
  `WITH news AS (
     SELECT sample, labels, value FROM unnest($1::text[], $2::text[], $3::float8[]) AS i(sample, labels, value)
   ), hourly AS (
     INSERT INTO metric_hours AS h (hour, sample, labels, value)
     SELECT date_trunc('hour', now(), 'UTC'), sample, labels, value FROM news
     WHERE sample = ANY($4::text[]) AND value > 0 ORDER BY sample, labels
     ON CONFLICT (hour, sample, labels) DO UPDATE SET value = h.value + excluded.value
   ), past AS (
     DELETE FROM metric_hours WHERE hour < now() - make_interval(days => 14)
   )
   INSERT INTO metric_totals AS t (sample, labels, value) SELECT sample, labels, value FROM news ORDER BY sample, labels
   ON CONFLICT (sample, labels) DO UPDATE SET value = t.value + excluded.value`,
);
const readAll = statement("read_metric_totals", `SELECT sample, labels, value FROM metric_totals`);

/** One sample: a counter's value, or one of a histogram's. */
interface Total {
  sample: string;
  /** JSON, sorted by the labels' names. */
  labels: string;
  value: number;
}

/** Stores the values of this process's metrics in the database, added to those of other processes. */
export function createTotals({ db, families: own }: { db: Queryable; families(): Family[] }) {
  const stored = new Map<string, number>();
  let storing: Promise<void> | null = null;

  async function storeNews(): Promise<void> {
    const all = own().flatMap((family) => family.values.map((value) => totalOf(family.name, value)));
    const news = all
      .map((total) => ({ ...total, before: stored.get(keyOf(total)) }))
      .filter(({ value, before }) => value !== before);
    if (news.length === 0) return;
    await db.query(add, [
      news.map(({ sample }) => sample),
      news.map(({ labels }) => labels),
      news.map(({ value, before = 0 }) => value - before),
      KEPT_BY_THE_HOUR,
    ]);
    for (const total of news) stored.set(keyOf(total), total.value);
  }

  return {
    /** Adds what this process counted since the last call. If that fails, the next call adds it. */
    store: (): Promise<void> => (storing ??= storeNews().finally(() => (storing = null))),

    /** The metrics summed over all processes. */
    async read(): Promise<Family[]> {
      const totals = await db.query<Total>(readAll);
      return own().map((family) => ({
        ...family,
        values: totals
          .filter(({ sample }) => belongsTo(family, sample))
          .map(valueOf)
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

function valueOf({ sample, labels, value }: Total): Value {
  return { metricName: sample, labels: JSON.parse(labels) as Value["labels"], value };
}

function belongsTo({ name, type }: Family, sample: string): boolean {
  const isHistogram = type === "histogram";
  return isHistogram ? ["_bucket", "_count", "_sum"].some((end) => sample === name + end) : sample === name;
}

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
