// `npm run sandbox`, `sandbox:run`, `conformance` and `demo`: how they end, and that they leave nothing behind.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { devSettings } from "../../dev/settings.ts";
import { administer, testServerUrl } from "../support/database.ts";
import { programsSelling } from "../support/program.ts";
import { eventually } from "../support/world.ts";
import { aTemporaryFolder, freePorts, run, stateOf } from "./dev-run.ts";

let temporary: Awaited<ReturnType<typeof aTemporaryFolder>>;
let TMPDIR: string;
beforeEach(async () => {
  temporary = await aTemporaryFolder();
  TMPDIR = temporary.folder;
});
afterEach(() => temporary.remove());
const expectNothingLeft = () => eventually(async () => expect(await temporary.left()).toEqual([]));

/** Sends a signal twice, as npm sends on what the terminal has already sent to all. */
async function endTwice({ end }: ReturnType<typeof run>, signal: NodeJS.Signals) {
  const ended = end(signal);
  await sleep(2);
  void end(signal);
  return ended;
}

describe("npm run sandbox", () => {
  it("uses the plans and credentials that npm run dev created", async () => {
    const ports = await freePorts();
    // Relative to the folder in which both run.
    const DATA_DIR = path.basename(TMPDIR);
    devSettings({ DATA_DIR }, tmpdir());
    const { until, end } = run("sandbox", { ...ports, DATA_DIR });
    const output = await until(`it calls http://localhost:${ports.PORT}/resources`);
    expect(output).not.toMatch(/ADDON_PASSWORD|CLIENT_SECRET/);
    const { settings } = await stateOf(ports);
    expect(settings.addonManifest?.plans.map(({ name }) => name)).toEqual(["basic", "premium", "dedicated"]);
    expect(await end("SIGINT")).toBe(0);
  });

  it.each(["SIGINT", "SIGHUP"] as const)("saves its state also when %s comes twice", async (signal) => {
    const { SANDBOX_PORT } = await freePorts();
    const SANDBOX_STATE = path.join(TMPDIR, "state.json");
    const settings = { SANDBOX_PORT, SANDBOX_STATE, PARTNER_URL: "http://localhost:9" };
    const sandbox = run("sandbox", settings, [], TMPDIR);
    await sandbox.until("it calls ");
    const made = await fetch(`http://127.0.0.1:${SANDBOX_PORT}/sandbox/apps`, {
      ...{ method: "POST", body: JSON.stringify({ name: "kept-to-the-end" }) },
    });
    expect(made.status).toBeLessThan(300);
    // When the state is saved it may have removed its signal handlers already.
    expect([0, signal]).toContain(await endTwice(sandbox, signal));
    expect(await readFile(SANDBOX_STATE, "utf8")).toContain("kept-to-the-end");
  });
});

describe("npm run sandbox:run -- COMMAND", () => {
  const script = (text: string) => [process.execPath, "--input-type=module", "-e", text];
  /** The service refuses to deprovision, which shows that it was asked to. */
  const WATCH = `
    await fetch(process.env.SANDBOX_URL + "/sandbox/faults", { method: "POST",
      body: JSON.stringify({ match: ">DELETE /resources/*", action: { status: 507 }, times: 9 }) });`;

  it("gives COMMAND the add-on's config vars and all addresses, exits with its exit code, and leaves nothing behind", async () => {
    const words = script(`
      const { SANDBOX_URL, RESOURCE_UUID, SERVICE_URL, TEAPOT_URL } = process.env;
      const addon = await (await fetch(SANDBOX_URL + "/sandbox/addons/" + RESOURCE_UUID)).json();
      const health = await fetch(SERVICE_URL + "/healthz");
      console.log(addon.state, addon.grant.state, health.status, TEAPOT_URL.endsWith(RESOURCE_UUID));
      process.exitCode = 7;`);
    const { ended, output } = run("sandboxRun", { TMPDIR }, words);
    expect({ code: await ended, output: output() }).toEqual({
      code: 7,
      output: "provisioned exchanged 200 true\n",
    });
    expect(await temporary.left()).toEqual([]);
  });

  it("stops COMMAND, deprovisions and removes its database also after Ctrl-C, when a terminal is closed, and when COMMAND was killed", async () => {
    const endedBy = async (signal: "SIGINT" | "SIGHUP" | "SIGKILL") => {
      const url = new URL(testServerUrl());
      url.searchParams.set("application_name", `dev_run_${signal}`);
      const now = path.join(TMPDIR, "now");
      const words = script(`${WATCH} console.log("ready");
        const { existsSync } = await import("node:fs");
        setInterval(() => existsSync(process.env.KILLED) && process.kill(process.pid, "SIGKILL"), 100);`);
      const environment = { DATABASE_URL: url.href, KILLED: signal === "SIGKILL" ? now : "/no/such/file" };
      const { until, end, ended, output } = run("sandboxRun", environment, words);
      await until("ready");
      const [made] = await administer(testServerUrl(), (ask) =>
        ask(`SELECT datname AS name FROM pg_stat_activity
             WHERE application_name = 'dev_run_${signal}' AND datname LIKE 'addon\\_%'`),
      );
      if (signal === "SIGKILL") await writeFile(now, "");
      const code = await (signal === "SIGKILL" ? ended : end(signal));
      const left = await administer(testServerUrl(), (ask) =>
        ask(`SELECT FROM pg_database WHERE datname = '${String(made!["name"])}'`),
      );
      expect(output()).toContain("The deprovision was answered with 507.");
      expect(left).toEqual([]);
      return code;
    };
    const codes = await Promise.all((["SIGINT", "SIGHUP", "SIGKILL"] as const).map(endedBy));
    expect(codes).toEqual([130, 129, 137]);
  });
});

it("npm run conformance waits until the service has removed its last product, and leaves nothing behind", async () => {
  const { ended, output } = run("conformance", { TMPDIR }, ["--only", "PROV-01", "DEPR-01"]);
  expect(await ended).toBe(0);
  expect(output()).not.toContain("Not all that follows a deprovision was done");
  expect(output()).toContain(": 2 passed, 0 broken, ");
  expect(await temporary.left()).toEqual([]);
});

/** Runs a command with another service than the teapots. */
async function selling(service: string, file: string, words: string[] = []) {
  const program = await programsSelling(service);
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [program(file), ...words], {
    ...{ cwd: tmpdir(), env: { PATH, HOME, TMPDIR, NO_COLOR: "1" } },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (data: Buffer) => (said += data.toString().replace(/\s+/g, " ")));
  const [status] = (await once(child, "close")) as [number | null];
  return { status, said };
}

it("npm run demo succeeds for a service that always answers later, refuses a plan change and has no config vars", async () => {
  const { status, said } = await selling("test/support/kilns/your-service", "dev/demo.ts");
  expect({ status, said }).toEqual({
    status: 0,
    said: expect.stringMatching(/All \d+ steps held, in .*\. Nothing is left of it\./),
  });
  expect(said).toMatch(/answered 202, and nothing came when it was made/);
  expect(said).toMatch(/refused, and the plan stays: A kiln stays what it is\./);
  await expectNothingLeft();
});

it("npm run demo removes what it created also when npm sends on the Ctrl-C that it had itself, or its terminal is closed", async () => {
  const endedBy = async (signal: NodeJS.Signals) => {
    const demo = run("demo", { TMPDIR });
    await demo.until("✓");
    expect(await endTwice(demo, signal)).toBe(130);
  };
  await Promise.all([endedBy("SIGINT"), endedBy("SIGHUP")]);
  await expectNothingLeft();
});

it.each(["dev/demo.ts", "dev/sandbox-run.ts"])(
  "%s says which vendor's setting is missing, and leaves nothing behind",
  async (file) => {
    const { status, said } = await selling("examples/postgres-product/your-service", file, ["true"]);
    expect(status).toBe(78);
    expect(said).toMatch(/\bPRODUCT_DATABASE_URL is required/);
    expect(said).not.toMatch(/ at \S+:\d+/);
    expect(await temporary.left()).toEqual([]);
  },
);
