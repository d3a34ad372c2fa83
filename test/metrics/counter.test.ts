import { describe, expect, it } from "@jest/globals";
import { createCounter, createLabelledCounter } from "../../src/metrics/counter.ts";
import { samplesOf } from "./samples.ts";

describe("a counter", () => {
  it("has each known word of its label from the beginning, at 0, and takes others", async () => {
    const ends = createLabelledCounter("ends_total", "Ends", "end", ["good", "bad"]);
    ends.count("bad");
    ends.count("odd");
    ends.count("odd");
    expect(await samplesOf(ends)).toEqual([
      'ends_total{end="good"} 0',
      'ends_total{end="bad"} 1',
      'ends_total{end="odd"} 2',
    ]);
  });

  it("without a label is one series from the beginning, at 0", async () => {
    const rows = createCounter("rows_total", "Rows");
    expect(await samplesOf(rows)).toEqual(["rows_total 0"]);
    rows.count();
    rows.count(3);
    expect(await samplesOf(rows)).toEqual(["rows_total 4"]);
  });
});
