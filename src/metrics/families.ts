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

type ValueOf<Row> = (row: Row) => [labels: Record<string, string>, value: number];

/** A gauge with one value for each row. */
export function gauge<Row>(name: string, help: string, rows: readonly Row[], valueOf: ValueOf<Row>): Family {
  return { name, help, type: "gauge", aggregator: "first", values: valuesOf(rows, valueOf) };
}

/** A counter with one value for each row. */
export function counter<Row>(
  name: string,
  help: string,
  rows: readonly Row[],
  valueOf: ValueOf<Row>,
): Family {
  return { name, help, type: "counter", aggregator: "sum", values: valuesOf(rows, valueOf) };
}

function valuesOf<Row>(rows: readonly Row[], valueOf: ValueOf<Row>): Value[] {
  return rows.map((row) => {
    const [labels, value] = valueOf(row);
    return { labels, value };
  });
}

/** One series of a histogram. */
export interface Distribution {
  labels: Record<string, string>;
  /** For each bound, how many values lie between the previous bound and this one. */
  counts: readonly number[];
  count: number;
  sum: number;
}

/** A histogram. Its buckets are cumulative, as Prometheus wants them. */
export function histogram(
  name: string,
  help: string,
  bounds: readonly number[],
  series: readonly Distribution[],
): Family {
  const values = series.flatMap(({ labels, counts, count, sum }) => {
    let below = 0;
    return [
      ...bounds.map((le, index) => bucket(labels, le, (below += counts[index]!))),
      bucket(labels, "+Inf", count),
      { metricName: `${name}_sum`, labels, value: sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  });
  function bucket(labels: Distribution["labels"], le: number | string, value: number): Value {
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value };
  }
  return { name, help, type: "histogram", aggregator: "first", values };
}
