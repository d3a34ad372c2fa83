/** A metric with its series, in prom-client's JSON form. */
export interface Family {
  name: string;
  help: string;
  type: "counter" | "gauge" | "histogram";
  /** How prom-client aggregates several metrics of one name. There is one of each name, so it has no effect. */
  aggregator: "sum" | "first";
  values: Value[];
}

export interface Value {
  value: number;
  labels: Record<string, string | number>;
  /** For a histogram, the name of the sample: `_bucket`, `_sum` or `_count`. */
  metricName?: string;
}

/** A gauge with one value for each row. */
export function gauge<Row>(
  name: string,
  help: string,
  rows: readonly Row[],
  valueOf: (row: Row) => [labels: Record<string, string>, value: number],
): Family {
  const values = rows.map((row) => {
    const [labels, value] = valueOf(row);
    return { labels, value };
  });
  return { name, help, type: "gauge", aggregator: "first", values };
}

/**
 * A histogram of the present state. `counts` are those below each bound and not below the previous one; the buckets are
 * cumulative.
 */
export function histogram(
  name: string,
  help: string,
  { bounds, counts, count, sum }: { bounds: number[]; counts: number[]; count: number; sum: number },
): Family {
  let below = 0;
  const buckets = bounds.map((le, index) => ({ le, value: (below += counts[index]!) }));
  const values = [
    ...buckets.map(({ le, value }) => ({ metricName: `${name}_bucket`, labels: { le }, value })),
    { metricName: `${name}_bucket`, labels: { le: "+Inf" }, value: count },
    { metricName: `${name}_sum`, labels: {}, value: sum },
    { metricName: `${name}_count`, labels: {}, value: count },
  ];
  return { name, help, type: "histogram", aggregator: "first", values };
}
