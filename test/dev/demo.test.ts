// `npm run demo` and `npm run sandbox:run` with a product that is as unlike the teapots as the contract lets it be.

import { expect, it } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { programsSelling } from "../support/program.ts";
import { run } from "./dev-run.ts";

const { PATH, HOME } = process.env;

async function withKilns(file: string, ...words: string[]) {
  const program = await programsSelling("test/support/kilns/your-service");
  const { status, stdout, stderr } = spawnSync(process.execPath, [program(file), ...words], {
    ...{ cwd: tmpdir(), env: { PATH, HOME, NO_COLOR: "1" }, encoding: "utf8", timeout: 110_000 },
  });
  return { status, said: (stdout + stderr).replace(/\s+/g, " ") };
}

it("the demonstration holds where all comes later, a plan change is refused and there is no config var", async () => {
  const { status, said } = await withKilns("dev/demo.ts");
  expect(said).toMatch(/answered 202, and nothing came when it was made/);
  expect(said).toMatch(/refused, and the plan stays: A kiln stays what it is\./);
  expect(said).toMatch(/All \d+ steps held, in .*\. Nothing is left of it\./);
  expect(status).toBe(0);
}, 120_000);

it.each([
  ["where npm sends on to it the Ctrl-C that it had itself", "SIGINT"],
  ["when its terminal is closed", "SIGHUP"],
] as const)(
  "the demonstration takes down what it made also %s",
  async (_, signal) => {
    const TMPDIR = await mkdtemp(path.join(tmpdir(), "demo-stopped-"));
    const { until, end } = run("demo", { TMPDIR });
    await until("✓");
    const ended = end(signal);
    await wait(2);
    void end(signal);
    expect(await ended).toBe(130);
    expect((await readdir(TMPDIR)).filter((name) => name.startsWith("addon-demo-"))).toEqual([]);
    await rm(TMPDIR, { recursive: true });
  },
  90_000,
);

// Its clean-up waits for the lease of what is under way.
it("what COMMAND leaves in the middle of a plan change is taken down all the same", async () => {
  const script = `
    const { SANDBOX_URL, RESOURCE_UUID } = process.env;
    const body = JSON.stringify({ plan: "glass" });
    const changed = await fetch(SANDBOX_URL + "/sandbox/addons/" + RESOURCE_UUID, { method: "PATCH", body });
    console.log((await changed.json()).response.status);`;
  const words = [process.execPath, "--input-type=module", "-e", script];
  const { status, said } = await withKilns("dev/sandbox-run.ts", ...words);
  expect({ status, said }).toEqual({ status: 0, said: "202 A kiln was taken down. " });
}, 120_000);
