import type { ComponentChildren } from "preact";
import { type Amount, amountInWords, type Measure } from "../amounts.ts";
import { Wide } from "./wide.tsx";

/** A number or a measure, such as `{ bytes: 10e9 }`, is written as elsewhere on the page. Null: there is no value. */
type Cell = ComponentChildren | Measure;

interface TableProps {
  /** What the table shows, for who does not see it. */
  title: string;
  columns: readonly string[];
  /** The first cell of each is what the row is about. */
  rows: readonly (readonly Cell[])[];
  /** What is said in the place of a table without rows. */
  empty?: string;
}

/** Rows in columns; those of numbers stand at the right. What is wider than a phone scrolls by itself. */
export function Table({ title, columns, rows, empty = "Nothing yet." }: TableProps) {
  if (rows.length === 0) return <p>{empty}</p>;
  const look = columns.map((_, at) => (isOfNumbers(rows.map((row) => row[at])) ? "number" : undefined));
  return (
    <Wide label={title}>
      <table>
        <thead>
          <tr>
            {columns.map((name, at) => (
              <th scope="col" class={look[at]}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([first, ...others]) => (
            <tr>
              <th scope="row" class={look[0]}>
                {inWords(first)}
              </th>
              {others.map((cell, at) => (
                <td class={look[at + 1]}>{inWords(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}

const isAmount = (cell: Cell): cell is Exclude<Amount, string> =>
  typeof cell === "number" ||
  (typeof cell === "object" && cell !== null && ("bytes" in cell || "count" in cell || "seconds" in cell));

const isMissing = (cell: Cell) => cell === null || cell === undefined || cell === "";

function isOfNumbers(cells: readonly Cell[]): boolean {
  return cells.some(isAmount) && cells.every((cell) => isAmount(cell) || isMissing(cell));
}

function inWords(cell: Cell): ComponentChildren {
  if (isMissing(cell)) return "–";
  return isAmount(cell) ? amountInWords(cell) : (cell as ComponentChildren);
}
