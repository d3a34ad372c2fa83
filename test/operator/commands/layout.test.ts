import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import picocolors from "picocolors";
import { reportInWords } from "../../../src/operator/work-through.ts";
import { table } from "../../../src/operator/commands/table.ts";
import { wrapped } from "../../../src/operator/commands/text.ts";

const screen = (columns: number) => ({
  ...{ columns, isTerminal: true, paint: picocolors.createColors(false) },
});
const rows = [
  { name: "SHORT", state: "same", id: "a".repeat(36) },
  { name: `LONG_${"X".repeat(90)}`, state: "differs\u001b[2J", id: "b".repeat(36) },
];

describe("a table", () => {
  it.each([80, 100])("fits %d columns: the widest column is shortened, ids are not", (columns) => {
    const lines = table(screen(columns), rows).split("\n");
    expect(lines.map((line) => line.length)).toEqual([expect.any(Number), columns, columns]);
    expect(lines[2]).toMatch(/^LONG_X+… {2}differs \[2J {2}b{36}$/);
    expect(lines[1]).toMatch(/^SHORT +same +a{36}$/);
  });

  it("shortens nothing when there is enough width", () => {
    expect(table(screen(200), rows)).toContain(rows[1]!.name);
  });
});

it("text is broken between words, and a command about a resource stays on one line", () => {
  expect(wrapped("one two three", 7, "  ")).toBe("one\n  two\n  three");
  const command = "kit resources show 01234567-89ab-cdef-0123-456789abcdef";
  expect(wrapped(`Read what came of the last try, and fix it: ${command} · ${command}`, 60)).toBe(
    `Read what came of the last try, and fix it:\n${command} ·\n${command}`,
  );
});

it("failures with the same reason are grouped and printed without delay, however many", () => {
  const uuids = Array.from({ length: 50_000 }, () => randomUUID());
  const failed = uuids.map((uuid) => ({ uuid, id: "x", message: `The platform refuses ${uuid}.` }));
  const lines = reportInWords({ done: [], failed, skipped: [] }, "refreshed").split("\n");
  expect(lines).toHaveLength(23);
  expect(lines.slice(-3)).toEqual([
    "  … and 49980 more",
    "    The platform refuses UUID.",
    "0 refreshed, 50000 failed, 0 skipped.",
  ]);
});
