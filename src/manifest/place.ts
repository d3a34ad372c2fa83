import type { Spot } from "./json-text.ts";
import type { Path } from "./path.ts";

/** Both count from 1; a column is a UTF-16 unit, as editors count. */
export interface Place {
  line: number;
  column: number;
}

/** Returns a function that gives the place of a character by its index in `text`. */
export function placesIn(text: string): (at: number) => Place {
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  return (at) => {
    const line = starts.findLastIndex((start) => start <= at);
    return { line: line + 1, column: at - starts[line]! + 1 };
  };
}

/** The spot of the value at `path`; if it is missing, that of the innermost value on the path that exists. */
export function spotOf(top: Spot, path: Path): Spot {
  let spot = top;
  for (const step of path) {
    const inner = spot.inside.get(step);
    if (!inner) break;
    spot = inner;
  }
  return spot;
}
