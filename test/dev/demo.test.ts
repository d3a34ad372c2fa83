// `npm run demo` and `npm run sandbox:run` with a product that differs from the teapots as much as the contract allows.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { programsSelling } from "../support/program.ts";
import { eventually } from "../support/world.ts";
import { aTemporaryFolder, run } from "./dev-run.ts";

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
  it("says which vendor's setting is missing, and leaves nothing behind", async () => {
    const { ended, said } = await selling(DRAWERS, file, ["true"]);
    expect(await ended).toBe(78);
    expect(said()).toMatch(/\bPRODUCT_DATABASE_URL is required/);
    expect(said()).not.toMatch(/ at \S+:\d+/);
    expect(await temporary.left()).toEqual([]);
  });
});
