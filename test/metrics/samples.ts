import { AggregatorRegistry } from "prom-client";

/** The samples of a metric, as a scrape shows them. */
export async function samplesOf(metric: { family(): unknown }): Promise<string[]> {
  const text = await AggregatorRegistry.aggregate([[metric.family()]]).metrics();
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
}
