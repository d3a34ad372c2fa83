import type { Spot } from "./json-text.ts";
import type { Path } from "./path.ts";

/** Both count from 1; a column is a UTF-16 unit, as editors count. */
export interface Place {
  line: number;
  column: number;
}

/** The place of each character of a text. */
export function placesIn(text: string): (at: number) => Place {
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  return (at) => {
    const line = starts.findLastIndex((start) => start <= at);
    return { line: line + 1, column: at - starts[line]! + 1 };
  };
}

/** Where the value of a path begins, or what it is missing from. */
export function spotOf(top: Spot, path: Path): Spot {
  let spot = top;
  for (const step of path) {
    const inner = spot.inside.get(step);
    if (!inner) break;
    spot = inner;
  }
  return spot;
}
