import type { Context } from "../../src/context.ts";
import { forEachResource } from "../../src/operator/work-through.ts";

/** Three resources, two at once. */
const ctx = {
  config: { tokenConcurrency: 2 },
  db: { readWhole: async () => ["a", "b", "c"].map((uuid) => ({ uuid })) },
} as unknown as Context;

it("an end that would be the same for every resource begins no further one", async () => {
  const report = await forEachResource(
    ctx,
    "all",
    async ({ uuid }) => (uuid === "a" ? { id: "closed", message: "of all", isOfAll: true } : null),
    { signal: new AbortController().signal },
  );
  expect(report).toMatchObject({ failed: [{ uuid: "a", id: "closed", message: "of all" }], left: 1 });
});

it("stopped work reports how much is left, and one that throws has failed alone", async () => {
  const stopping = new AbortController();
  const report = await forEachResource(
    ctx,
    "all",
    async ({ uuid }) => {
      if (uuid === "a") throw new Error("of this one");
      stopping.abort();
      return null;
    },
    { signal: stopping.signal },
  );
  expect(report).toEqual({
    ...{ done: ["b"], skipped: [], left: 1 },
    failed: [{ uuid: "a", id: "internal_error", message: "of this one" }],
  });
});
