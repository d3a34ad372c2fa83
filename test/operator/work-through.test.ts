import type { Context } from "../../src/context.ts";
import { forEachResource } from "../../src/operator/work-through.ts";

/** Three resources, two at once. */
const ctx = {
  config: { tokenConcurrency: 2 },
  db: { readWhole: async () => ["a", "b", "c"].map((uuid) => ({ uuid })) },
} as unknown as Context;
const signal = new AbortController().signal;

it("work on many resources that is halted for a cause first completes what it has begun", async () => {
  const ended: string[] = [];
  const worked = forEachResource(
    ctx,
    "all",
    async ({ uuid }, { halt }) => {
      if (uuid === "b") halt(new Error("all of them would fail"));
      await new Promise((resolve) => setTimeout(resolve, 20));
      ended.push(uuid);
      return null;
    },
    { signal },
  );
  await expect(worked).rejects.toThrow("all of them would fail");
  expect(ended.sort()).toEqual(["a", "b"]);
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
