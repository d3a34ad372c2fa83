import { expect, it } from "@jest/globals";
import { rules } from "../../packages/conformance/rules/index.ts";
import { faults } from "../../workshop/planted/faults.ts";
import { plant } from "../../workshop/planted/plant.ts";

// `npm run planted` runs them; that takes minutes.

it("each planted fault still has its place in the example in Python, and names a rule", () => {
  const unknown = faults.filter(({ rule }) => !rules.some(({ id }) => id === rule));
  expect(unknown).toEqual([]);
  const stale = faults.flatMap((fault) => {
    try {
      return plant(fault) === plant({ ...fault, changes: [] }) ? [fault.what] : [];
    } catch (error) {
      return [(error as Error).message];
    }
  });
  expect(stale).toEqual([]);
});

it("each rule but two has a fault planted", () => {
  // A 5xx that no other rule reports, and a body that is not waited for, do not come of one fault in this example.
  const without = rules.filter(({ id }) => !faults.some(({ rule }) => rule === id)).map(({ id }) => id);
  expect(without).toEqual(["ERR-04", "HTTP-02"]);
});
