/** A metric with its series, as prom-client's `getMetricsAsJSON` returns it and `AggregatorRegistry.aggregate` takes it. */
export interface Family {
  name: string;
  help: string;
  type: unknown;
  /** How prom-client aggregates several metrics of one name. There is one of each name, so it has no effect. */
  aggregator: unknown;
  values: Value[];
}

export interface Value {
  value: number;
  labels: Partial<Record<string, string | number>>;
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
