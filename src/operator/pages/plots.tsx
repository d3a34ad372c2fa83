import { scaleBand, scaleLinear } from "d3-scale";
import type { Hour } from "../../metrics/store.ts";
import type { Gauges } from "../overview.ts";
import { duration } from "../wording.ts";

interface Bar {
  /** The text below the bar; empty for none. */
  label: string;
  /** The parts of the bar: the bad one stands on the good one. */
  good: number;
  bad: number;
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
    const isOld = upToSeconds === null || upToSeconds > NEAR_THE_END_SECONDS;
    const label = upToSeconds === null ? "older" : short(upToSeconds);
    return {
      label: index % 2 === 0 ? "" : label,
      ...{ good: isOld ? 0 : count, bad: isOld ? count : 0 },
      inWords: `${upToSeconds === null ? `over ${from}` : `${from} to ${duration(upToSeconds)}`}: ${count}`,
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
      ...{ good: refreshed, bad: failed },
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
  const most = Math.max(...bars.map(({ good, bad }) => good + bad), 0);
  const x = scaleBand<number>()
    .domain(bars.keys())
    .range([LEFT, WIDTH - RIGHT])
    .paddingInner(0.25);
  const y = scaleLinear()
    .domain([0, most])
    .nice(4)
    .range([HEIGHT - BOTTOM, TOP]);
  const part = (index: number, from: number, to: number) => ({
    ...{ x: x(index), width: x.bandwidth(), y: y(to), height: y(from) - y(to) },
  });
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      {most === 0 ? (
        <p class="quiet">{empty}</p>
      ) : (
        <>
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-labelledby={`${id}-title`}>
            <title id={`${id}-title`}>{`${title}. The numbers stand below.`}</title>
            {y
              .ticks(4)
              .filter(Number.isInteger)
              .map((tick) => (
                <>
                  <line x1={LEFT} x2={WIDTH - RIGHT} y1={y(tick)} y2={y(tick)} />
                  <text x={LEFT - 6} y={y(tick)} dy="0.32em" text-anchor="end">
                    {y.tickFormat(4, "~s")(tick)}
                  </text>
                </>
              ))}
            {bars.map(({ label, good, bad }, index) => (
              <>
                <rect {...part(index, 0, good)} />
                <rect class="bad" {...part(index, good, good + bad)} />
                <text x={x(index)! + x.bandwidth() / 2} y={HEIGHT - 8} text-anchor="middle">
                  {label}
                </text>
              </>
            ))}
          </svg>
          <details>
            <summary>The numbers</summary>
            <ul>{bars.map(({ good, bad, inWords }) => good + bad > 0 && <li>{inWords}</li>)}</ul>
          </details>
        </>
      )}
    </figure>
  );
}
