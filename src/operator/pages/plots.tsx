import { samplesOf, type Sample } from "../../metrics/metrics.ts";
import type { Hour } from "../../metrics/totals.ts";
import { duration } from "../wording.ts";
import { LIVE_MS, Section } from "./parts.tsx";

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
      <div class="pair" id="plots" data-live={LIVE_MS}>
        <BarChart title="Age of the tokens in use" bars={tokenAges(samples)} />
        <BarChart title="Refreshes per hour (UTC), but for those of kit" bars={refreshes(hours)} />
      </div>
    </Section>
  );
}

/** How old the access tokens in use are. A token is refreshed at about half of its life. */
function tokenAges(samples: readonly Sample[]): Bar[] {
  const buckets = samplesOf(samples, "addon_token_age_seconds_bucket");
  return buckets.map(({ labels: { le }, value }, index) => {
    // The count of a bucket includes those of all before it.
    const { labels: { le: from } = { le: 0 }, value: before = 0 } = buckets[index - 1] ?? {};
    const isOld = le === "+Inf" || Number(le) > NEAR_THE_END_SECONDS;
    const upTo = le === "+Inf" ? "older" : duration(Number(le));
    return {
      label: index % 2 === 0 ? "" : upTo,
      ...{ good: isOld ? 0 : value - before, bad: isOld ? value - before : 0 },
      inWords: `${duration(Number(from))} to ${upTo}: ${value - before}`,
    };
  });
}

function refreshes(hours: readonly Hour[]): Bar[] {
  return hours.map(({ at, refreshed, failed }, index) => {
    const hour = at.toISOString().slice(11, 13);
    return {
      label: (hours.length - 1 - index) % 4 === 0 ? hour : "",
      ...{ good: refreshed, bad: failed },
      inWords: `${hour}:00: ${refreshed} refreshed, ${failed} failed`,
    };
  });
}

const [WIDTH, HEIGHT, LABELS] = [480, 160, 20];

/** Without a script; its colours come from the stylesheet. Each bar names its numbers, and so does the whole. */
function BarChart({ title, bars }: { title: string; bars: readonly Bar[] }) {
  const filled = bars.filter(({ good, bad }) => good + bad > 0);
  const most = Math.max(...bars.map(({ good, bad }) => good + bad));
  const step = WIDTH / bars.length;
  const part = (index: number, below: number, count: number) => ({
    ...{ x: index * step, width: step * 0.75 },
    ...{ y: HEIGHT * (1 - (below + count) / most), height: (HEIGHT * count) / most },
  });
  const inWords = filled.map((bar) => bar.inWords).join("; ");
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      {filled.length === 0 && <p>There are none yet.</p>}
      {filled.length > 0 && (
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
