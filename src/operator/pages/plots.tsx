import { type Sample, samplesOf } from "../../metrics/metrics.ts";
import { SAMPLED } from "../../metrics/store.ts";
import type { Hour } from "../../metrics/totals-store.ts";
import { duration } from "../wording.ts";
import { Section } from "./parts.tsx";

/** `good` and, on top of it, `bad`; `label` stands below. */
interface Bar {
  label: string;
  good: number;
  bad: number;
  inWords: string;
}

/** Tokens live for eight hours: older than six means that refreshes have failed for hours. */
const NEAR_THE_END_SECONDS = 6 * 3_600;

export function Plots({ samples, hours }: { samples: readonly Sample[]; hours: readonly Hour[] }) {
  return (
    <Section title="Tokens">
      <div class="pair">
        <BarChart title="Age of the tokens in use" bars={tokenAges(samples)} empty="None." />
        <BarChart
          title="Refreshes per hour (UTC), but for those of kit"
          bars={refreshes(hours)}
          empty="None in the last 24 hours."
        />
      </div>
    </Section>
  );
}

/** Of very many credentials a sample is counted. */
export const aboutIfSampled = (samples: readonly Sample[]) =>
  samplesOf(samples, SAMPLED)[0]!.value < 100 ? "about " : "";

/** How old the access tokens in use are. A token is refreshed at about half of its life. */
function tokenAges(samples: readonly Sample[]): Bar[] {
  const about = aboutIfSampled(samples);
  const buckets = samplesOf(samples, "addon_token_age_seconds_bucket");
  return buckets.map(({ labels: { le }, value }, index) => {
    // The count of a bucket includes those of all before it.
    const { labels: { le: from } = { le: 0 }, value: before = 0 } = buckets[index - 1] ?? {};
    const isOld = le === "+Inf" || Number(le) > NEAR_THE_END_SECONDS;
    const upTo = le === "+Inf" ? "older" : duration(Number(le));
    return {
      label: index % 2 === 0 ? "" : upTo,
      good: isOld ? 0 : value - before,
      bad: isOld ? value - before : 0,
      inWords: `${duration(Number(from))} to ${upTo}: ${about}${value - before}`,
    };
  });
}

function refreshes(hours: readonly Hour[]): Bar[] {
  return hours.map(({ at, refreshed, failed }, index) => {
    const hour = at.toISOString().slice(11, 13);
    return {
      label: (hours.length - 1 - index) % 4 === 0 ? hour : "",
      good: refreshed,
      bad: failed,
      inWords: `${hour}:00: ${refreshed} refreshed, ${failed} failed`,
    };
  });
}

const [WIDTH, HEIGHT, LABELS] = [480, 160, 20];

/** Without a script; its colours come from the stylesheet. Each bar names its numbers, and so does the whole. */
function BarChart({ title, bars, empty }: { title: string; bars: readonly Bar[]; empty: string }) {
  const filled = bars.filter(({ good, bad }) => good + bad > 0);
  const most = Math.max(...bars.map(({ good, bad }) => good + bad));
  const step = WIDTH / bars.length;
  const part = (index: number, below: number, count: number) => ({
    x: index * step,
    width: step * 0.75,
    y: HEIGHT * (1 - (below + count) / most),
    height: (HEIGHT * count) / most,
  });
  const inWords = filled.map((bar) => bar.inWords).join("; ");
  const highest = filled.find(({ good, bad }) => good + bad === most);
  return (
    <figure class="plot">
      <figcaption>
        {title} {highest && <small>Highest bar, {highest.inWords}.</small>}
      </figcaption>
      {!highest && <p>{empty}</p>}
      {highest && (
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT + LABELS}`} role="img" aria-label={`${title}. ${inWords}`}>
          {bars.map(({ label, good, bad, inWords: words }, index) => (
            <g>
              <title>{words}</title>
              <rect {...part(index, 0, good)} />
              <rect class="bad" {...part(index, good, bad)} />
              <text x={(index + 0.375) * step} y={HEIGHT + 14} text-anchor="middle">
                {label}
              </text>
            </g>
          ))}
          <line x1={0} x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
        </svg>
      )}
    </figure>
  );
}
