import { Missing } from "./books.ts";

/** A node of a query plan, as EXPLAIN (ANALYZE, FORMAT JSON) shows it. */
interface PlanNode {
  "Node Type": string;
  "Index Name"?: string;
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  Plans?: PlanNode[];
}

/** The partial indexes that serve as the queues, the most urgent row first. */
const QUEUES = /^credentials_(grants|refresh)_(due|urgent)$/;

/**
 * Throws {@link Missing} unless a claim's plan reads its queue through an index, reads at most `atMost` rows in any
 * node, and scans no table sequentially.
 */
export function expectBoundedPlan(name: string, explained: unknown, atMost: number): void {
  const [{ Plan }] = explained as [{ Plan: PlanNode }];
  const nodes = flatten(Plan);
  const whole = nodes.find((node) => node["Node Type"] === "Seq Scan");
  if (whole) throw new Missing(`${name} reads all of ${whole["Relation Name"]}`);
  const indexes = nodes.flatMap((node) => node["Index Name"] ?? []);
  if (!indexes.some((index) => QUEUES.test(index)))
    throw new Missing(`${name} uses none of its queue's indexes, only ${indexes.join(", ")}`);
  const most = Math.max(...nodes.map(rowsOf));
  if (most > atMost) throw new Missing(`${name} reads ${most} rows, more than ${atMost}`);
}

function rowsOf(node: PlanNode): number {
  return (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"];
}

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}
