import { describe, expect, it } from "@jest/globals";
import picocolors from "picocolors";
import { table } from "../../src/kit/table.ts";

const screen = (columns: number) => ({
  ...{ columns, isTerminal: true, paint: picocolors.createColors(false) },
});
const rows = [
  { name: "SHORT", state: "same", id: "a".repeat(36) },
  { name: `LONG_${"X".repeat(90)}`, state: "differs\u001b[2J", id: "b".repeat(36) },
];
const told = (columns: number) =>
  table(
    screen(columns),
    [
      { title: "NAME", of: ({ name }) => name, canShrink: true },
      { title: "STATE", of: ({ state }) => state },
      { title: "ID", of: ({ id }) => id },
    ],
    rows,
  ).split("\n");

describe("a table", () => {
  it.each([80, 100])("fits %d columns: only columns that may be shortened are, visibly", (columns) => {
    const lines = told(columns);
    expect(lines).toHaveLength(3);
    expect(lines.map((line) => line.length)).toEqual([expect.any(Number), columns, columns]);
    expect(lines[2]).toMatch(/^LONG_X+… {2}differs \[2J {2}b{36}$/);
    expect(lines[1]).toMatch(/^SHORT +same +a{36}$/);
  });

  it("shortens nothing when there is enough width", () => {
    expect(told(200)[2]).toContain(rows[1]!.name);
  });
});
