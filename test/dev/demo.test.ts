// `npm run demo` and `npm run sandbox:run` with a product that differs from the teapots as much as the contract allows.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { administer } from "../support/database.ts";
import { programsSelling } from "../support/program.ts";
import { eventually } from "../support/world.ts";
import { aDatabaseServer, aTemporaryFolder, run } from "./dev-run.ts";

const { PATH, HOME } = process.env;
const KILNS = "test/support/kilns/your-service";
/** A service whose settings are required. */
const DRAWERS = "examples/postgres-product/your-service";

let temporary: Awaited<ReturnType<typeof aTemporaryFolder>>;
let TMPDIR: string;
beforeEach(async () => {
  temporary = await aTemporaryFolder();
  TMPDIR = temporary.folder;
});
afterEach(() => temporary.remove());
const expectNothingLeft = () => eventually(async () => expect(await temporary.left()).toEqual([]));

async function selling(service: string, file: string, words: string[], environment = {}) {
  const program = await programsSelling(service);
  const child = spawn(process.execPath, [program(file), ...words], {
    ...{ cwd: tmpdir(), env: { PATH, HOME, TMPDIR, NO_COLOR: "1", ...environment } },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data: Buffer) => (said += data.toString().replace(/\s+/g, " ")));
  const ended = once(child, "close").then(([status]) => status as number | null);
  return { child, ended, said: () => said };
}

it("npm run demo succeeds for a service that always answers later, refuses a plan change and has no config vars", async () => {
  const { ended, said } = await selling(KILNS, "dev/demo.ts", []);
  expect({ status: await ended, said: said() }).toEqual({
    status: 0,
    said: expect.stringMatching(/All \d+ steps held, in .*\. Nothing is left of it\./),
  });
  expect(said()).toMatch(/answered 202, and nothing came when it was made/);
  expect(said()).toMatch(/refused, and the plan stays: A kiln stays what it is\./);
  await expectNothingLeft();
});

it("npm run demo removes what it created also when npm sends on the Ctrl-C that it had itself, or its terminal is closed", async () => {
  const endedBy = async (signal: NodeJS.Signals) => {
    const { until, end } = run("demo", { TMPDIR });
    await until("✓");
    const ended = end(signal);
    await sleep(2);
    void end(signal);
    expect(await ended).toBe(130);
  };
  await Promise.all([endedBy("SIGINT"), endedBy("SIGHUP")]);
  await expectNothingLeft();
});

describe.each(["dev/demo.ts", "dev/sandbox-run.ts"])("%s", (file) => {
  it("exits at once and leaves nothing behind when it is stopped by Ctrl-C during its start", async () => {
    const { child, ended, said } = await selling(KILNS, file, ["true"]);
    await eventually(async () => (await temporary.left()).length > 1);
    await sleep(200);
    child.kill("SIGINT");
    expect(await ended).toBe(130);
    expect(said()).not.toContain("A kiln was taken down.");
    await expectNothingLeft();
  });

  it("says which vendor's setting is missing, and leaves nothing behind", async () => {
    const { ended, said } = await selling(DRAWERS, file, ["true"]);
    expect(await ended).toBe(78);
    expect(said()).toMatch(/\bPRODUCT_DATABASE_URL is required/);
    expect(said()).not.toMatch(/ at \S+:\d+/);
    expect(await temporary.left()).toEqual([]);
  });
});

it("npm run sandbox:run removes its resource when COMMAND leaves a plan change unfinished", async () => {
  const script = `
    const { SANDBOX_URL, RESOURCE_UUID } = process.env;
    const body = JSON.stringify({ plan: "glass" });
    const changed = await fetch(SANDBOX_URL + "/sandbox/addons/" + RESOURCE_UUID, { method: "PATCH", body });
    console.log((await changed.json()).response.status);`;
  const words = [process.execPath, "--input-type=module", "-e", script];
  const { DATABASE_URL, made, isLeft } = aDatabaseServer();
  const { ended, said } = await selling(KILNS, "dev/sandbox-run.ts", words, { DATABASE_URL });
  const url = await made();
  // The clean-up waits for the lease of the work under way, which would end in half a minute.
  await eventually(async () => {
    const text = `UPDATE steps SET leased_until = now(), due_at = now() WHERE kind = 'clean_up' RETURNING uuid`;
    return (await administer(url, (ask) => ask(text))).length > 0;
  });
  expect({ status: await ended, said: said() }).toEqual({ status: 0, said: "202 A kiln was taken down. " });
  expect(await isLeft()).toBe(false);
});
