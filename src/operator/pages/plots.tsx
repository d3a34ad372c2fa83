import { SAMPLED, samplesOf, type Hour, type Sample } from "../../metrics/store.ts";
import { duration } from "../wording.ts";
import { number } from "./parts.tsx";

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

/** Whether there are so many credentials that counts by state, and ages, are estimated from a sample. */
export const isEstimated = (samples: readonly Sample[]) => samplesOf(samples, SAMPLED)[0]!.value < 100;

/** How old the access tokens in use are. A token is refreshed at about half of its life. */
export function TokenAges({ samples }: { samples: readonly Sample[] }) {
  // The counts of a histogram include those of all buckets before.
  const upTo = samplesOf(samples, "addon_token_age_seconds_bucket").map(({ labels: { le }, value }) => ({
    ...{ bound: le === "+Inf" ? Infinity : Number(le), value },
  }));
  const short = (seconds: number) => (seconds < 3_600 ? `${seconds / 60} m` : `${seconds / 3_600} h`);
  const bars = upTo.map(({ bound, value }, index) => {
    const before = upTo[index - 1] ?? { bound: 0, value: 0 };
    const [count, from] = [value - before.value, duration(before.bound)];
    const isOld = bound > NEAR_THE_END_SECONDS;
    const label = bound === Infinity ? "older" : short(bound);
    return {
      label: index % 2 === 0 ? "" : label,
      ...{ good: isOld ? 0 : count, bad: isOld ? count : 0 },
      inWords: `${bound === Infinity ? `over ${from}` : `${from} to ${duration(bound)}`}: ${count}`,
    };
  });
  const title = `Age of the tokens in use${isEstimated(samples) ? ", estimated" : ""}`;
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

/** Of the bars; their labels stand below them. */
const [WIDTH, HEIGHT, LABELS] = [480, 160, 20];

/**
 * A bar chart as inline SVG: its colours come from our stylesheet, in light and dark mode, so it needs neither a script
 * nor a style of its own. The same numbers stand below it as a list.
 */
function BarChart(chart: { id: string; title: string; bars: readonly Bar[]; empty: string }) {
  const { id, title, bars, empty } = chart;
  const most = Math.max(...bars.map(({ good, bad }) => good + bad), 0);
  const step = WIDTH / bars.length;
  const part = (index: number, below: number, count: number) => ({
    ...{ x: index * step, width: step * 0.75 },
    ...{ y: HEIGHT * (1 - (below + count) / most), height: (HEIGHT * count) / most },
  });
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      {most === 0 ? (
        <p class="quiet">{empty}</p>
      ) : (
        <>
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT + LABELS}`} role="img" aria-labelledby={`${id}-title`}>
            <title id={`${id}-title`}>{`${title}. The numbers stand below.`}</title>
            {bars.map(({ label, good, bad }, index) => (
              <>
                <rect {...part(index, 0, good)} />
                <rect class="bad" {...part(index, good, bad)} />
                <text x={(index + 0.375) * step} y={HEIGHT + 14} text-anchor="middle">
                  {label}
                </text>
              </>
            ))}
            <line x1={0} x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
          </svg>
          <details>
            <summary>The numbers; the highest bar: {number(most)}</summary>
            <ul>{bars.map(({ good, bad, inWords }) => good + bad > 0 && <li>{inWords}</li>)}</ul>
          </details>
        </>
      )}
    </figure>
  );
}
