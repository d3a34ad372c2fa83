import { expect, it } from "@jest/globals";
import { yourEnvironment } from "../../src/config.ts";
import { run } from "../dev/dev-run.ts";

it("the demonstration holds with what src/your-service sells, step by step", async () => {
  const { ended, output } = run("demo", yourEnvironment());
  expect({ code: await ended, output: output() }).toMatchObject({
    code: 0,
    output: expect.stringMatching(/All \d+ steps held/),
  });
}, 90_000);
