import { parser } from "@prometheus-io/lezer-promql";

/** A series that an expression selects, with the labels by which it is grouped around it. */
export interface Selector {
  metric: string;
  matchers: { label: string; values: string[] }[];
  groupedBy: string[];
}

/** What an expression of Prometheus selects. Throws if it is none; Grafana's variables count as durations. */
export function selectorsIn(expression: string): Selector[] {
  const text = expression.replaceAll("$__rate_interval", "5m");
  const found: Selector[] = [];
  const around: string[][] = [];
  parser.parse(text).iterate({
    enter({ node, type }) {
      const textOf = (each: { from: number; to: number }) => text.slice(each.from, each.to);
      if (type.isError) throw new Error(`no expression of Prometheus: ${expression}`);
      if (type.name === "AggregateExpr") {
        const labels = node
          .getChild("AggregateModifier")
          ?.getChild("GroupingLabels")
          ?.getChildren("LabelName");
        around.push((labels ?? []).map(textOf));
      }
      if (type.name !== "VectorSelector") return;
      const matchers = node.getChild("LabelMatchers")?.getChildren("UnquotedLabelMatcher") ?? [];
      found.push({
        metric: textOf(node.getChild("Identifier")!),
        matchers: matchers.map((matcher) => ({
          label: textOf(matcher.getChild("LabelName")!),
          values: textOf(matcher.getChild("StringLiteral")!).slice(1, -1).split("|"),
        })),
        groupedBy: around.flat(),
      });
    },
    leave({ type }) {
      if (type.name === "AggregateExpr") around.pop();
    },
  });
  return found;
}
