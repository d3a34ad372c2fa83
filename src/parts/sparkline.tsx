import { type Amount, amountInWords, numberIn } from "../amounts.ts";

interface SparklineProps {
  /** What the numbers are: "Messages a day". */
  title: string;
  /** From left to right; null: there is no number, and the line has a gap. */
  values: readonly (readonly [label: string, value: Amount | null])[];
  /** What is said where there are not two numbers; nothing if it is empty. */
  empty?: string;
}

const [WIDTH, HEIGHT, EDGE] = [240, 40, 4];

/**
 * A line of the size of a word, without a script, for how something went: its numbers are in its name, which a screen reader
 * reads and a mouse shows. It begins at zero, or at the lowest value below. Values that are not finite are gaps, as null is.
 */
export function Sparkline({ title, values, empty = "Nothing yet." }: SparklineProps) {
  const points = values.map(([label, value], index) => ({ index, label, value, number: finite(value) }));
  const known = points.filter(isKnown);
  if (known.length < 2) return empty === "" ? null : <p>{empty}</p>;
  const numbers = known.map(({ number }) => number);
  const [lowest, highest] = [Math.min(0, ...numbers), Math.max(0, ...numbers)];
  const x = (index: number) => EDGE + ((WIDTH - 2 * EDGE) * index) / (points.length - 1);
  const y = (number: number) =>
    HEIGHT - EDGE - ((HEIGHT - 2 * EDGE) * (number - lowest)) / (highest - lowest || 1);
  const last = known.at(-1)!;
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={summaryOf(title, known)}>
      <title>{summaryOf(title, known)}</title>
      {runsOf(points).map((run) => (
        <polyline
          points={run.map(({ index, number }) => `${round(x(index))},${round(y(number))}`).join(" ")}
        />
      ))}
      <circle cx={round(x(last.index))} cy={round(y(last.number))} r={EDGE - 1} />
    </svg>
  );
}

interface Point {
  index: number;
  label: string;
  value: Amount | null;
  number: number | null;
}
type Known = Point & { value: Amount; number: number };

const isKnown = (point: Point): point is Known => point.number !== null;
const round = (number: number) => Math.round(number * 10) / 10;

function finite(value: Amount | null): number | null {
  const number = value === null ? null : numberIn(value);
  return number !== null && Number.isFinite(number) ? number : null;
}

/** The points that follow each other without a gap. */
function runsOf(points: readonly Point[]): Known[][] {
  const runs: Known[][] = [[]];
  for (const point of points) {
    if (isKnown(point)) runs.at(-1)!.push(point);
    else runs.push([]);
  }
  return runs.filter(({ length }) => length > 0);
}

/** "Messages a day, 1 Nov to 30 Nov: at least 3, at most 40 (12 Nov), 12 at last." */
function summaryOf(title: string, known: readonly Known[]): string {
  const [first, last] = [known[0]!, known.at(-1)!];
  const most = known.reduce((one, other) => (other.number > one.number ? other : one));
  const least = known.reduce((one, other) => (other.number < one.number ? other : one));
  const words = ({ value }: Known) => amountInWords(value);
  return `${title}, ${first.label} to ${last.label}: at least ${words(least)}, at most ${words(most)} (${most.label}), ${words(last)} at last.`;
}
