import { scaleBand, scaleLinear } from "d3-scale";

export interface Bar {
  /** The text below the bar; empty for none. */
  label: string;
  /** Hides the label on small screens, where there is no room for it. */
  isMinor?: boolean;
  /** The parts of the bar, from the bottom upwards. */
  parts: readonly { value: number; isBad?: boolean }[];
  /** The bar in words. */
  inWords: string;
}

const [WIDTH, HEIGHT] = [480, 200];
const [TOP, RIGHT, BOTTOM, LEFT] = [8, 14, 24, 44];

/**
 * A bar chart as inline SVG: its colours come from our stylesheet, in light and dark mode, so it needs neither a script
 * nor a style of its own. The same numbers stand below it as a list.
 */
export function BarChart({
  id,
  title,
  bars,
  empty,
}: {
  id: string;
  title: string;
  bars: readonly Bar[];
  empty: string;
}) {
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
  const ticks = y.ticks(4).filter(Number.isInteger);
  return (
    <Figure title={title}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-labelledby={`${id}-title`}>
        <title id={`${id}-title`}>{`${title}. The numbers stand below.`}</title>
        {ticks.map((tick) => (
          <>
            <line class="rule" x1={LEFT} x2={WIDTH - RIGHT} y1={y(tick)} y2={y(tick)} />
            <text x={LEFT - 6} y={y(tick)} dy="0.32em" text-anchor="end">
              {y.tickFormat(4, "~s")(tick)}
            </text>
          </>
        ))}
        {bars.map(({ label, isMinor, parts }, index) => {
          const left = x(index)!;
          let below = 0;
          return (
            <>
              {parts.map(({ value, isBad }) => {
                const from = below;
                below += value;
                const height = y(from) - y(below);
                return (
                  value > 0 && (
                    <rect
                      class={isBad ? "bar bad" : "bar"}
                      x={left}
                      y={y(below)}
                      width={x.bandwidth()}
                      height={height}
                    />
                  )
                );
              })}
              <text
                class={isMinor ? "minor" : undefined}
                x={left + x.bandwidth() / 2}
                y={HEIGHT - 8}
                text-anchor="middle"
              >
                {label}
              </text>
            </>
          );
        })}
      </svg>
      <details>
        <summary>The numbers</summary>
        <ul>
          {bars
            .filter((_, index) => sums[index]! > 0)
            .map(({ inWords }) => (
              <li>{inWords}</li>
            ))}
        </ul>
      </details>
    </Figure>
  );
}

function Figure({ title, children }: { title: string; children: preact.ComponentChildren }) {
  return (
    <figure class="plot">
      <figcaption>{title}</figcaption>
      {children}
    </figure>
  );
}
