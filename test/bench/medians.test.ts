import { mediansOf, type Run } from "../../workshop/bench/medians.ts";
import type { Line } from "../../workshop/bench/works/work.ts";

const aLine = (work: string, subject: number, p50Ms: number): Line => ({
  ...{ work, unit: "req/s", floor: { name: "bare-http", value: 1_000 }, subject },
  ...{ ratio: subject / 1_000, target: { atLeast: 1 }, sample: { p50Ms } },
});
const aRun = (of: Partial<Run>): Run => ({
  on: "2026-11-30",
  says: ["a machine"],
  lines: [],
  faults: [],
  ...of,
});

describe("the medians of several runs of the bench", () => {
  it("are, line by line, the run in the middle, with the figure of each run", () => {
    const runs = [700, 900, 800].map((subject, at) =>
      aRun({ on: `2026-11-0${at + 1}`, lines: [aLine("provision", subject, at)] }),
    );
    const only = aRun({ on: "2026-11-02", lines: [aLine("npm test", 150, 0)] });
    expect(mediansOf([runs[0]!, runs[1]!, runs[2]!, only])).toEqual({
      ...{ on: "2026-11-01 to 2026-11-03", says: ["a machine"], faults: [] },
      lines: [
        { ...aLine("provision", 800, 2), runs: [0.7, 0.9, 0.8] },
        { ...aLine("npm test", 150, 0), runs: [0.15] },
      ],
    });
  });

  it("are refused of two machines, and of a run with a fault", () => {
    expect(() => mediansOf([aRun({}), aRun({ says: ["another"] })])).toThrow(
      "The runs differ: a machine, and another",
    );
    expect(() => mediansOf([aRun({}), aRun({ faults: ["a row is missing"] })])).toThrow(
      "A run had faults: a row is missing",
    );
  });
});
