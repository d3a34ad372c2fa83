import { type Amount, amountInWords, numberIn } from "../amounts.ts";
import { Table } from "./table.tsx";

interface BarsProps {
  /** What the numbers are: "Messages a day". */
  title: string;
  /** What the bars stand for: "Day". */
  of: string;
  /** From left to right; null: there is no number. */
  values: readonly (readonly [label: string, value: Amount | null])[];
  /** What is said where no value is above zero. */
  empty?: string;
}

const [WIDTH, HEIGHT, ABOVE, BELOW] = [600, 150, 26, 26];
/** So many labels find room below the bars on a phone. */
const MOST_LABELS = 5;

/**
 * A chart of bars, without a script, whose numbers stand below as a table for who wants to read them. Values that are no
 * numbers, not finite or below zero have no bar.
 */
export function Bars({ title, of, values, empty = "Nothing yet." }: BarsProps) {
  const bars = values.map(([label, value]) => ({
    label,
    height: heightOf(value),
    inWords: value === null ? "no value" : amountInWords(value),
  }));
  const highest = bars.reduce((most, bar) => (bar.height > most.height ? bar : most), {
    label: "",
    height: 0,
    inWords: "",
  });
  if (highest.height === 0) return <p>{empty}</p>;
  const step = WIDTH / bars.length;
  const each = Math.ceil(bars.length / MOST_LABELS);
  const [first, last] = [bars[0]!.label, bars.at(-1)!.label];
  const summary = `${title}, ${first} to ${last}: at most ${highest.inWords}, ${highest.label}. The numbers stand below.`;
  return (
    <figure class="bars">
      <svg viewBox={`0 0 ${WIDTH} ${ABOVE + HEIGHT + BELOW}`} role="img" aria-label={summary}>
        <line x1={0} x2={WIDTH} y1={ABOVE} y2={ABOVE} />
        <text x={0} y={ABOVE - 7}>
          {highest.inWords}
        </text>
        {bars.map(({ label, height, inWords }, index) => {
          const tall = (HEIGHT * height) / highest.height;
          return (
            <g>
              <title>{`${label}: ${inWords}`}</title>
              {/* The whole height shows what a bar stands for, also that of a small one. */}
              <rect class="back" x={index * step} y={ABOVE} width={step} height={HEIGHT} />
              <rect x={(index + 0.1) * step} y={ABOVE + HEIGHT - tall} width={0.8 * step} height={tall} />
              {(bars.length - 1 - index) % each === 0 && (
                <text {...placeOf(index, bars.length, step)} y={ABOVE + HEIGHT + 19}>
                  {label}
                </text>
              )}
            </g>
          );
        })}
        <line x1={0} x2={WIDTH} y1={ABOVE + HEIGHT} y2={ABOVE + HEIGHT} />
      </svg>
      <details>
        <summary>{title} in numbers</summary>
        <Table title={title} columns={[of, title]} rows={values} />
      </details>
    </figure>
  );
}

/** The labels of the first and the last bar stay within the picture. */
function placeOf(index: number, count: number, step: number) {
  if (index === 0) return { x: 0, "text-anchor": "start" } as const;
  if (index === count - 1) return { x: WIDTH, "text-anchor": "end" } as const;
  return { x: (index + 0.5) * step, "text-anchor": "middle" } as const;
}

function heightOf(value: Amount | null): number {
  const number = value === null ? null : numberIn(value);
  return number !== null && Number.isFinite(number) && number > 0 ? number : 0;
}
