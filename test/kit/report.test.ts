import { randomUUID } from "node:crypto";
import { expect, it } from "@jest/globals";
import { failures } from "../../src/kit/report.ts";
import { screenOf } from "../../src/kit/screen.ts";

it("failures with the same reason are grouped and printed without delay, however many", () => {
  const uuids = Array.from({ length: 50_000 }, () => randomUUID());
  const failed = uuids.map((uuid) => ({ uuid, id: "x", message: `The platform refuses ${uuid}.` }));
  const since = performance.now();
  const lines = failures(screenOf(process, "stderr"), failed);
  expect(performance.now() - since).toBeLessThan(2_000);
  expect(lines).toHaveLength(22);
  expect(lines.slice(-2)).toEqual([
    "  … and 49980 more (--json tells all)",
    "    The platform refuses UUID.",
  ]);
});
