// `npm run demo` and `npm run sandbox:run` with a product that differs from the teapots as much as the contract allows.

import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { programsSelling } from "../support/program.ts";
import { eventually } from "../support/world.ts";
import { run } from "./dev-run.ts";

const { PATH, HOME } = process.env;
const KILNS = "test/support/kilns/your-service";
/** A service whose settings are required. */
const DRAWERS = "examples/postgres-product/your-service";

let TMPDIR: string;
beforeEach(async () => void (TMPDIR = await mkdtemp(path.join(tmpdir(), "demo-test-"))));
afterEach(() => rm(TMPDIR, { recursive: true }));
/** Temporary folders of its databases; tsx keeps others. */
const left = async () => (await readdir(TMPDIR)).filter((name) => name.startsWith("addon-demo-"));

async function selling(service: string, file: string, ...words: string[]) {
  const program = await programsSelling(service);
  const { status, stdout, stderr } = spawnSync(process.execPath, [program(file), ...words], {
    ...{ cwd: tmpdir(), env: { PATH, HOME, TMPDIR, NO_COLOR: "1" }, encoding: "utf8", timeout: 110_000 },
  });
  return { status, said: (stdout + stderr).replace(/\s+/g, " ") };
}

it("npm run demo succeeds for a service that always answers later, refuses a plan change and has no config vars", async () => {
  const { status, said } = await selling(KILNS, "dev/demo.ts");
  expect(said).toMatch(/answered 202, and nothing came when it was made/);
  expect(said).toMatch(/refused, and the plan stays: A kiln stays what it is\./);
  expect(said).toMatch(/All \d+ steps held, in .*\. Nothing is left of it\./);
  expect(status).toBe(0);
}, 120_000);

it.each([
  ["where npm sends on to it the Ctrl-C that it had itself", "SIGINT"],
  ["when its terminal is closed", "SIGHUP"],
] as const)(
  "npm run demo removes what it created also %s",
  async (_, signal) => {
    const { until, end } = run("demo", { TMPDIR });
    await until("✓");
    const ended = end(signal);
    await sleep(2);
    void end(signal);
    expect(await ended).toBe(130);
    expect(await left()).toEqual([]);
  },
  90_000,
);

describe.each(["dev/demo.ts", "dev/sandbox-run.ts"])("%s", (file) => {
  it("exits at once and leaves nothing behind when it is stopped by Ctrl-C during its start", async () => {
    const program = await programsSelling(KILNS);
    const child = spawn(process.execPath, [program(file), "true"], { env: { PATH, HOME, TMPDIR } });
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (data: Buffer) => (said += data.toString()));
    const ended = once(child, "close");
    await eventually(async () => (await left()).length > 0);
    await sleep(200);
    child.kill("SIGINT");
    expect(await ended).toEqual([130, null]);
    expect(said).not.toContain("A kiln was taken down.");
    expect(await left()).toEqual([]);
  }, 60_000);

  it("says which vendor's setting is missing, and leaves nothing behind", async () => {
    const { status, said } = await selling(DRAWERS, file, "true");
    expect(said).toMatch(/\bPRODUCT_DATABASE_URL is required/);
    expect(said).not.toMatch(/ at \S+:\d+/);
    expect(status).toBe(78);
    expect(await left()).toEqual([]);
  });
});

// Its clean-up waits for the lease of the work under way.
it("npm run sandbox:run removes its resource when COMMAND leaves a plan change unfinished", async () => {
  const script = `
    const { SANDBOX_URL, RESOURCE_UUID } = process.env;
    const body = JSON.stringify({ plan: "glass" });
    const changed = await fetch(SANDBOX_URL + "/sandbox/addons/" + RESOURCE_UUID, { method: "PATCH", body });
    console.log((await changed.json()).response.status);`;
  const words = [process.execPath, "--input-type=module", "-e", script];
  const { status, said } = await selling(KILNS, "dev/sandbox-run.ts", ...words);
  expect({ status, said }).toEqual({ status: 0, said: "202 A kiln was taken down. " });
}, 120_000);
