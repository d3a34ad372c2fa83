import { scaleBand, scaleLinear } from "d3-scale";
import type { ComponentChildren } from "preact";
import type { Hour } from "../../metrics/store.ts";
import type { Gauges } from "../overview.ts";
import { duration } from "../wording.ts";

interface Bar {
  /** The text below the bar; empty for none. */
  label: string;
  /** Hides the label on small screens, where there is no room for it. */
  isMinor?: boolean;
  /** The parts of the bar, from the bottom upwards. */
  parts: readonly { value: number; isBad?: boolean }[];
  /** The bar in words. */
  inWords: string;
}

/** Tokens live for eight hours: older than six means that refreshes have failed for hours. */
const NEAR_THE_END_SECONDS = 6 * 3_600;

/** How old the access tokens in use are. A token is refreshed at about half of its life. */
export function TokenAges({ ages, isEstimated }: { ages: Gauges["tokenAges"]; isEstimated: boolean }) {
  const short = (seconds: number) => (seconds < 3_600 ? `${seconds / 60} m` : `${seconds / 3_600} h`);
  const bars = ages.map(({ upToSeconds, count }, index) => {
    const from = duration(ages[index - 1]?.upToSeconds ?? 0);
    const range = upToSeconds === null ? `over ${from}` : `${from} to ${duration(upToSeconds)}`;
    return {
      label: upToSeconds === null ? "older" : short(upToSeconds),
      isMinor: index % 2 === 0,
      parts: [{ value: count, isBad: upToSeconds === null || upToSeconds > NEAR_THE_END_SECONDS }],
      inWords: `${range}: ${count}`,
    };
  });
  const title = `Age of the tokens in use${isEstimated ? ", estimated" : ""}`;
  return <BarChart id="ages" title={title} bars={bars} empty="There are no tokens in use yet." />;
}

export function RefreshesPerHour({ hours }: { hours: readonly Hour[] }) {
  const bars = hours.map(({ at, refreshed, failed }, index) => {
    const hour = at.toISOString().slice(11, 13);
    return {
      label: (hours.length - 1 - index) % 4 === 0 ? hour : "",
      parts: [{ value: refreshed }, { value: failed, isBad: true }],
      inWords: `${hour}:00 UTC: ${refreshed} refreshed, ${failed} failed`,
    };
  });
  const empty =
    "The service refreshed none within the last 24 hours. What kit refreshes is not counted here.";
  return <BarChart id="refreshes" title="Refreshes per hour (UTC)" bars={bars} empty={empty} />;
}

const [WIDTH, HEIGHT] = [480, 200];
const [TOP, RIGHT, BOTTOM, LEFT] = [8, 14, 24, 44];

/**
 * A bar chart as inline SVG: its colours come from our stylesheet, in light and dark mode, so it needs neither a script
 * nor a style of its own. The same numbers stand below it as a list.
 */
function BarChart(chart: { id: string; title: string; bars: readonly Bar[]; empty: string }) {
  const { id, title, bars, empty } = chart;
  const sums = bars.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0));
  const most = Math.max(...sums, 0);
  if (most === 0) return <Figure title={title}>{<p class="quiet">{empty}</p>}</Figure>;
  const x = scaleBand<number>()
    .domain(bars.keys())
    .range([LEFT, WIDTH - RIGHT])
    .paddingInner(0.25);
  const y = scaleLinear()
    .domain([0, most])
    .nice(4)
    .range([HEIGHT - BOTTOM, TOP]);
  return (
    <Figure title={title}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-labelledby={`${id}-title`}>
        <title id={`${id}-title`}>{`${title}. The numbers stand below.`}</title>
        {y
          .ticks(4)
          .filter(Number.isInteger)
          .map((tick) => (
            <>
              <line class="rule" x1={LEFT} x2={WIDTH - RIGHT} y1={y(tick)} y2={y(tick)} />
              <text x={LEFT - 6} y={y(tick)} dy="0.32em" text-anchor="end">
                {y.tickFormat(4, "~s")(tick)}
              </text>
            </>
          ))}
        {bars.map((bar, index) => (
          <Column of={bar} left={x(index)!} width={x.bandwidth()} y={y} />
        ))}
      </svg>
      <details>
        <summary>The numbers</summary>
        <ul>{bars.map(({ inWords }, index) => sums[index]! > 0 && <li>{inWords}</li>)}</ul>
      </details>
    </Figure>
  );
}

function Column({ of, left, width, y }: { of: Bar; left: number; width: number; y(value: number): number }) {
  let below = 0;
  const rectangles = of.parts.map(({ value, isBad }) => {
    const from = below;
    below += value;
    const place = { x: left, width, y: y(below), height: y(from) - y(below) };
    return value > 0 && <rect class={isBad ? "bar bad" : "bar"} {...place} />;
  });
  return (
    <>
      {rectangles}
      <text class={of.isMinor ? "minor" : undefined} x={left + width / 2} y={HEIGHT - 8} text-anchor="middle">
        {of.label}
      </text>
    </>
  );
}

function Figure({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      {children}
    </figure>
  );
}
