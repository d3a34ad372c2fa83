import { renderToString } from "preact-render-to-string";
import type { Line } from "./works/work.ts";

const PLOTS = {
  processes: { title: "Refreshes a second by worker processes", x: "processes" },
  resources: { title: "One process among more and more resources, work a second", x: "resources" },
};

const [WIDTH, HEIGHT] = [640, 360];
const FRAME = { left: 70, right: 610, top: 50, bottom: 290 };
const [INK, RULE] = ["#54555a", "#dbdee4"];
const COLOURS = ["#3b6ea8", "#a34a12", "#1b7f4d", "#7a3e9d"];
/** The most rules above the axis. */
const RULES = 5;

/** The plots of growth, by file name: SVG. */
export function plots(lines: readonly Line[]): Record<string, { title: string; svg: string }> {
  const drawings: Record<string, { title: string; svg: string }> = {};
  for (const [plot, about] of Object.entries(PLOTS)) {
    const points = lines.filter(({ point }) => point?.plot === plot);
    if (points.length === 0) continue;
    drawings[`${plot}.svg`] = { title: about.title, svg: renderToString(<Plot {...about} lines={points} />) };
  }
  return drawings;
}

function Plot({ title, x, lines }: { title: string; x: string; lines: readonly Line[] }) {
  const names = [...new Set(lines.map(nameOf))];
  const steps = [...new Set(lines.map(({ point }) => point!.x))];
  const rules = rulesTo(Math.max(...lines.map(({ subject }) => subject)));
  const across = (step: number) =>
    FRAME.left + ((steps.indexOf(step) + 0.5) * (FRAME.right - FRAME.left)) / steps.length;
  const up = (value: number) => FRAME.bottom - (value * (FRAME.bottom - FRAME.top)) / rules.at(-1)!;
  return (
    <svg
      xmlns="http://www.w3.org/2000/svg"
      {...{ width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}` }}
      {...{ "font-family": "sans-serif", "font-size": 12, "text-anchor": "middle", fill: INK }}
    >
      <rect width={WIDTH} height={HEIGHT} fill="#ffffff" />
      <text {...{ x: WIDTH / 2, y: 25, "font-size": 15, "font-weight": "bold" }}>{title}</text>
      {rules.map((value) => (
        <>
          <path d={`M${FRAME.left} ${up(value)}H${FRAME.right}`} stroke={value === 0 ? INK : RULE} />
          <text {...{ x: FRAME.left - 8, y: up(value) + 4, "text-anchor": "end" }}>{written(value)}</text>
        </>
      ))}
      {steps.map((step) => (
        <text {...{ x: across(step), y: FRAME.bottom + 18 }}>{written(step)}</text>
      ))}
      <text {...{ x: (FRAME.left + FRAME.right) / 2, y: FRAME.bottom + 36 }}>{x}</text>
      {names.map((name, index) => {
        const points = lines
          .filter((line) => nameOf(line) === name)
          .map(({ point, subject }) => ({ x: across(point!.x), y: up(subject), words: written(subject) }));
        return <Series name={name} points={points} index={index} among={names.length} />;
      })}
    </svg>
  );
}

interface Point {
  x: number;
  y: number;
  words: string;
}

/** The line of one work, its values, and its name below the plot. */
function Series(of: { name: string; points: readonly Point[]; index: number; among: number }) {
  const { name, points, index, among } = of;
  const colour = COLOURS[index % COLOURS.length]!;
  const middle = ((index + 0.5) * WIDTH) / among;
  return (
    <g fill={colour}>
      <polyline
        {...{ points: points.map(({ x, y }) => `${x},${y}`).join(" "), fill: "none" }}
        {...{ stroke: colour, "stroke-width": 2 }}
      />
      {points.map(({ x, y, words }) => (
        <>
          <circle cx={x} cy={y} r={4} />
          <text {...{ x, y: y - 9 }}>{words}</text>
        </>
      ))}
      <text {...{ x: middle, y: HEIGHT - 12 }}>● {name}</text>
    </g>
  );
}

/** Round numbers from 0 to at least `most`. */
function rulesTo(most: number): number[] {
  const least = Math.max(most, 1) / RULES;
  const tenth = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((times) => times * tenth).find((each) => each >= least)!;
  return Array.from({ length: Math.ceil(most / step) + 1 }, (_, index) => index * step);
}

const written = (value: number) => Math.round(value).toLocaleString("en");

/** The name of a series: the work without its number of processes or resources. */
function nameOf({ work, unit }: Line): string {
  return `${work.split(/(?: among|, worker processes:) \d/)[0]}, ${unit}`;
}
