import * as echarts from "echarts";
import type { Line } from "./works/work.ts";

const PLOTS = {
  processes: { title: "Refreshes a second by worker processes", x: "processes" },
  resources: { title: "One process among more and more resources, work a second", x: "resources" },
};

/** The plots of growth, by file name: SVG, rendered without a browser. */
export function plots(lines: readonly Line[]): Record<string, { title: string; svg: string }> {
  const drawings: Record<string, { title: string; svg: string }> = {};
  for (const [plot, about] of Object.entries(PLOTS)) {
    const points = lines.filter(({ point }) => point?.plot === plot);
    if (points.length > 0) drawings[`${plot}.svg`] = { title: about.title, svg: draw(about, points) };
  }
  return drawings;
}

function draw({ title, x }: { title: string; x: string }, lines: readonly Line[]): string {
  const names = [...new Set(lines.map(nameOf))];
  const steps = [...new Set(lines.map(({ point }) => point!.x))];
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width: 640, height: 360 });
  chart.setOption({
    // Without this, the picture would show the start of the animation.
    animation: false,
    title: { text: title, left: "center", textStyle: { fontSize: 15 } },
    backgroundColor: "#ffffff",
    legend: { bottom: 0, itemGap: 40 },
    grid: { left: 70, right: 30, top: 50, bottom: 70 },
    xAxis: {
      ...{ type: "category", name: x, nameLocation: "middle", nameGap: 28 },
      data: steps.map((step) => step.toLocaleString("en")),
    },
    yAxis: { type: "value", min: 0 },
    series: names.map((name) => ({
      ...{ type: "line", name, symbolSize: 8, label: { show: true, position: "top" } },
      data: lines.filter((line) => nameOf(line) === name).map(({ subject }) => Math.round(subject)),
    })),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

/** The name of a series: the work without its number of processes or resources. */
function nameOf({ work, unit }: Line): string {
  return `${work.split(/(?: among|, worker processes:) \d/)[0]}, ${unit}`;
}
