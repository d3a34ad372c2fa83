import { histogram, type Family } from "./families.ts";

/** A histogram of times. */
export interface Timer<Label extends string> {
  /** Adds one time to the series of these label values. */
  observe(labels: Record<Label, string>, seconds: number): void;
  family(): Family;
}

/** The series of some label values, and those with one more. */
interface Series {
  labels: Record<string, string>;
  longer: Map<string, Series>;
  /** How many times were at most each bound and above the previous one. */
  counts: number[];
  count: number;
  sum: number;
}

/**
 * Makes a timer. A series is found by one label value after the other. To join them into a text, as prom-client does
 * for each observation, costs ten times as much: with several observations for each request, a twentieth of its time.
 */
export function createTimer<Label extends string>(
  name: string,
  help: string,
  labelNames: readonly Label[],
  bounds: readonly number[],
): Timer<Label> {
  const newSeries = (labels: Series["labels"]): Series => ({
    ...{ labels, longer: new Map(), counts: bounds.map(() => 0), count: 0, sum: 0 },
  });
  const all = newSeries({});

  function seriesOf(labels: Record<Label, string>): Series {
    let series = all;
    for (const label of labelNames) {
      const value = labels[label];
      let longer = series.longer.get(value);
      if (!longer) series.longer.set(value, (longer = newSeries({ ...series.labels, [label]: value })));
      series = longer;
    }
    return series;
  }

  return {
    observe(labels, seconds) {
      // One NaN would stay in the stored total for good.
      if (!Number.isFinite(seconds)) return;
      const series = seriesOf(labels);
      const bound = bounds.findIndex((each) => seconds <= each);
      if (bound >= 0) series.counts[bound]! += 1;
      series.count += 1;
      series.sum += seconds;
    },
    family: () =>
      histogram(
        name,
        help,
        bounds,
        withLonger(all).filter(({ count }) => count > 0),
      ),
  };
}

function withLonger(series: Series): Series[] {
  return [series, ...[...series.longer.values()].flatMap(withLonger)];
}
