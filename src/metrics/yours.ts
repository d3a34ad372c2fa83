import { Counter, Histogram, type Registry } from "prom-client";
import { messageOf, storable } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import { untilCut } from "../within.ts";

// Metrics that a vendor declares: counters and histograms, which are summed over all processes, and gauges, which whichever
// process is scraped reads.

type Labels = Readonly<Record<string, string>>;

interface Declared {
  help: string;
  labels?: readonly string[];
}

/** `kit.count` adds to it. */
export interface YourCounter extends Declared {
  type?: "counter";
}

/** `kit.observe` adds a value to it. */
export interface YourHistogram extends Declared {
  type: "histogram";
  /** The upper bounds of its buckets, ascending, 30 at most. */
  buckets: readonly number[];
}

/**
 * A number that goes up and down. It is read where and when `/metrics` is scraped, so that all processes, and their restarts,
 * agree: read it from your backend or your tables, not from a variable of a process.
 */
export interface YourGauge extends Declared {
  type: "gauge";
  /** Returns the number, or one for each of some labels, within 3 seconds. If it throws, the scrape lacks the gauge. */
  read(signal: AbortSignal): Promise<number | readonly GaugeValue[]>;
}

export interface GaugeValue {
  labels: Labels;
  value: number;
}

/** A value of a gauge, as a scrape has it. */
interface GaugeSample {
  sample: string;
  labels: Labels;
  value: number;
}

export type YourMetric = YourCounter | YourHistogram | YourGauge;

/** A label's value, of which 100 characters are kept: PostgreSQL stores it in an index. */
export const labelIn = (value: unknown) => storable(String(value).slice(0, 100));

const GAUGE_MS = 3_000;
/** What more would cost each scrape, and Prometheus. */
const MOST_VALUES = 1_000;

export function createYourMetrics(registers: Registry[]) {
  const counters = new Map<string, Counter>();
  const histograms = new Map<string, { histogram: Histogram; bounds: ReadonlySet<string> }>();
  const gauges = new Map<string, YourGauge>();

  return {
    /** Makes a metric in which there is no {@link faultInMetric}. */
    declare(name: string, metric: YourMetric): void {
      const { help, labels = [] } = metric;
      const common = { name, help, labelNames: [...labels], registers };
      if (metric.type === "gauge") {
        gauges.set(name, metric);
      } else if (metric.type === "histogram") {
        const bounds = new Set([...metric.buckets.map(String), "+Inf"]);
        const histogram = new Histogram({ ...common, buckets: [...metric.buckets] });
        histograms.set(name, { histogram, bounds });
      } else {
        const counter = new Counter(common);
        if (labels.length === 0) counter.inc(0);
        counters.set(name, counter);
      }
    },
    /** Adds to a counter. Throws an `Error` if there is none, for other labels, and for what is no number to add. */
    count(name: string, labels: Labels, by: number): void {
      const counter = counters.get(name);
      if (!counter) throw new Error(`${name} is not among the metrics of src/your-service, or no counter.`);
      if (!(by >= 0 && by < Infinity)) throw new Error(`${name}: ${by} is no number to add.`);
      counter.inc(labelsIn(name, labels), by);
    },
    /** Adds a value to a histogram. Throws as `count` does. */
    observe(name: string, labels: Labels, value: number): void {
      const { histogram } = histograms.get(name) ?? {};
      if (!histogram)
        throw new Error(`${name} is not among the metrics of src/your-service, or no histogram.`);
      if (!(value >= 0 && value < Infinity)) throw new Error(`${name}: ${value} is no number to observe.`);
      histogram.observe(labelsIn(name, labels), value);
    },
    /** A bucket of a release that had other ones is not shown. */
    isOfOtherBuckets(name: string, bound: string | number | undefined): boolean {
      const { bounds } = histograms.get(name) ?? {};
      return bounds !== undefined && bound !== undefined && !bounds.has(String(bound));
    },
    gaugeFamilies: () => [...gauges].map(([name, { help }]) => ({ name, help, type: "gauge" })),
    /** Reads all gauges at once. One that fails is logged, and left out. */
    async readGauges(log: Log): Promise<GaugeSample[]> {
      const read = async (name: string, gauge: YourGauge): Promise<GaugeSample[]> => {
        try {
          const late = () => new Error(`${name} took longer than ${GAUGE_MS / 1_000} s to read.`);
          const value = await untilCut({ ms: GAUGE_MS, late, cuts: [] }, async (signal) =>
            gauge.read(signal),
          );
          return samplesIn(name, gauge, value);
        } catch (error) {
          log.warn({ metric: name, error }, "A gauge of your service cannot be read, and is left out");
          return [];
        }
      };
      return (await Promise.all([...gauges].map(([name, gauge]) => read(name, gauge)))).flat();
    },
  };
}

function labelsIn(name: string, labels: Labels): Record<string, string> {
  const values = Object.entries(labels).map(([label, value]) => {
    if (typeof value !== "string") throw new Error(`${name}: the label ${label} is no text.`);
    return [label, labelIn(value)] as const;
  });
  return Object.fromEntries(values);
}

/** The values of a gauge as a scrape has them. Throws for what Prometheus would not take, which would cost it the whole scrape. */
function samplesIn(
  name: string,
  { labels = [] }: YourGauge,
  read: number | readonly GaugeValue[],
): GaugeSample[] {
  const values: readonly GaugeValue[] = Array.isArray(read)
    ? (read as readonly GaugeValue[])
    : [{ labels: {}, value: read as number }];
  if (values.length > MOST_VALUES)
    throw new Error(`${name} has ${values.length} values; ${MOST_VALUES} fit.`);
  const samples = values.map(({ labels: given = {}, value }) => {
    if (typeof value !== "number") throw new Error(`${name}: ${String(value)} is no number.`);
    const other = Object.keys(given).find((label) => !labels.includes(label));
    if (other !== undefined) throw new Error(`${name} has no label ${other}.`);
    return { sample: name, labels: labelsIn(name, given), value };
  });
  const series = new Set(samples.map((each) => JSON.stringify(Object.entries(each.labels).sort())));
  if (series.size < samples.length) throw new Error(`${name} has two values for the same labels.`);
  return samples;
}

const OF_OTHERS = /^(addon_|nodejs_|process_|scrape_|(up|ALERTS|ALERTS_FOR_STATE)$)/;
const RESERVED_LABEL = /^(le$|__)/;
const MOST_BUCKETS = 30;

/** Why a vendor's metric cannot be declared beside these others; null: it can. */
export function faultInMetric(
  name: string,
  metric: YourMetric,
  all: Readonly<Record<string, YourMetric>> = {},
): string | null {
  const { help, labels = [], type = "counter" } = Object(metric) as YourMetric;
  if (OF_OTHERS.test(name)) return "names that begin so are the kit's own, or Prometheus'";
  if (typeof help !== "string") return "help is no text";
  if (!Array.isArray(labels)) return "labels is no list";
  const odd = (labels as readonly unknown[]).find(
    (each) => typeof each !== "string" || RESERVED_LABEL.test(each),
  );
  if (odd !== undefined) return `a label cannot be named "${String(odd)}"`;
  if (!["counter", "histogram", "gauge"].includes(type))
    return `type is "${String(type)}", and can be counter, histogram or gauge`;
  const [, of] = /^(.*)_(?:bucket|sum|count)$/.exec(name) ?? [];
  if (of !== undefined && Object.hasOwn(all, of) && all[of]?.type === "histogram")
    return `a series of the histogram ${of} has this name`;
  return faultIn(metric) ?? faultForPrometheus(name, help, labels);
}

function faultIn(metric: YourMetric): string | null {
  if (metric.type === "gauge") return typeof metric.read === "function" ? null : "read is no function";
  if (metric.type !== "histogram") return null;
  const buckets: unknown = metric.buckets;
  const isSound =
    Array.isArray(buckets) &&
    buckets.length > 0 &&
    buckets.length <= MOST_BUCKETS &&
    buckets.every((bound, at) => Number.isFinite(bound) && (at === 0 || bound > buckets[at - 1]));
  return isSound ? null : `buckets must be 1 to ${MOST_BUCKETS} numbers, each larger than the one before`;
}

function faultForPrometheus(name: string, help: string, labels: readonly string[]): string | null {
  try {
    new Counter({ name, help, labelNames: [...labels], registers: [] });
    return null;
  } catch (error) {
    return messageOf(error);
  }
}
