import { expect, it } from "@jest/globals";
import { run } from "./dev-run.ts";

it("the demonstration holds, step by step", async () => {
  const { ended, output } = run("demo");
  expect({ code: await ended, output: output() }).toMatchObject({
    code: 0,
    output: expect.stringMatching(/All \d+ steps held/),
  });
}, 90_000);
