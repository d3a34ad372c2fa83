import { expect, it } from "@jest/globals";
import { createGrantsFirst } from "../../src/work/grants-first.ts";

/** Events at these times (ms), and whether steps must wait then. */
it.each([
  ["no claim was full", [[0, "some"], [10, "look", false]]],
  ["a claim was full, until a second after that", [[0, "full"], [5_000, "look", true], [5_000, "some"], [5_999, "look", true], [6_000, "look", false]]],
  ["one claim of several is full", [[0, "full"], [10, "some"], [900, "full"], [910, "some"], [1_800, "look", true], [1_910, "look", false]]],
  ["grants queue for long, for a minute at most", [[0, "full"], [0, "look", true], [59_999, "look", true], [60_000, "look", false], [200_000, "look", false]]],
  ["grants queue for a second time", [[0, "full"], [0, "look", true], [60_000, "look", false], [60_000, "some"], [61_000, "look", false], [62_000, "full"], [62_000, "look", true]]],
] as [string, [number, string, boolean?][]][])("steps wait as long as grants queue: %s", (_, events) => {
  let now = 0;
  const grants = createGrantsFirst(() => now);
  const seen = events.map(([at, what]) => {
    now = at;
    if (what === "look") return grants.mustWait();
    grants.observe(what === "full");
    return undefined;
  });
  expect(seen).toEqual(events.map(([, , must]) => must));
}); // prettier-ignore
