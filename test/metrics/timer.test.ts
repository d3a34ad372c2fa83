import { describe, expect, it } from "@jest/globals";
import { createTimer } from "../../src/metrics/timer.ts";
import { samplesOf } from "./samples.ts";

describe("a timer", () => {
  const timer = () => createTimer("waits_seconds", "Waits", ["who", "how"], [0.5, 2]);

  it("counts a time in the first bucket that holds it, its bound included, and in all above", async () => {
    const waits = timer();
    for (const seconds of [0.5, 0.75, 2, 4]) waits.observe({ who: "us", how: "idly" }, seconds);
    expect(await samplesOf(waits)).toEqual([
      'waits_seconds_bucket{le="0.5",who="us",how="idly"} 1',
      'waits_seconds_bucket{le="2",who="us",how="idly"} 3',
      'waits_seconds_bucket{le="+Inf",who="us",how="idly"} 4',
      'waits_seconds_sum{who="us",how="idly"} 7.25',
      'waits_seconds_count{who="us",how="idly"} 4',
    ]);
  });

  it("keeps a series for each combination of label values, and none that was not observed", async () => {
    const waits = timer();
    for (const [who, how] of [
      ["us", "idly"],
      ["them", "idly"],
      ["us", "us"],
    ] as const)
      waits.observe({ how, who }, 1);
    waits.observe({ who: "us", how: "idly" }, 1);
    const counts = (await samplesOf(waits)).filter((line) => line.startsWith("waits_seconds_count"));
    expect(counts.sort()).toEqual([
      'waits_seconds_count{who="them",how="idly"} 1',
      'waits_seconds_count{who="us",how="idly"} 2',
      'waits_seconds_count{who="us",how="us"} 1',
    ]);
    expect(timer().family().values).toEqual([]);
  });

  it("ignores a time that is none", async () => {
    const waits = timer();
    waits.observe({ who: "us", how: "idly" }, 1);
    waits.observe({ who: "us", how: "idly" }, NaN);
    expect((await samplesOf(waits)).slice(-2)).toEqual([
      'waits_seconds_sum{who="us",how="idly"} 1',
      'waits_seconds_count{who="us",how="idly"} 1',
    ]);
  });
});
