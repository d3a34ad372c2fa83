/** A metric with its series, in the form in which the library hands them out and takes them back. */
export interface Family {
  name: string;
  help: string;
  type: "counter" | "gauge" | "histogram";
  /** How the library joins several of one name. There is one of each, so it has nothing to do. */
  aggregator: "sum" | "first";
  values: Value[];
}

export interface Value {
  value: number;
  labels: Record<string, string | number>;
  /** For a histogram, which of its numbers it is. */
  metricName?: string;
}

/** A gauge with one value a row. */
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

/** A histogram of what is there now: `counts` are those below each bound and above the one before. */
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
