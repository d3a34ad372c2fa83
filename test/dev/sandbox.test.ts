import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { devSettings } from "../../dev/settings.ts";
import { freePorts, run, stateOf } from "./dev-run.ts";

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(path.join(tmpdir(), "addon-test-"))));
afterEach(() => rm(folder, { recursive: true }));

it("npm run sandbox uses the plans and credentials that npm run dev created", async () => {
  const ports = await freePorts();
  // Relative to the folder in which both run.
  const DATA_DIR = path.basename(folder);
  devSettings({ DATA_DIR }, tmpdir());
  const { until, end } = run("sandbox", { ...ports, DATA_DIR });
  const output = await until(`it calls http://localhost:${ports.PORT}/resources`);
  expect(output).not.toMatch(/ADDON_PASSWORD|CLIENT_SECRET/);
  const { settings } = await stateOf(ports);
  expect(settings.addonManifest?.plans.map(({ name }) => name)).toEqual(["basic", "premium", "dedicated"]);
  expect(await end("SIGINT")).toBe(0);
});

it.each([
  ["where npm sends on to it the Ctrl-C that it had itself", "SIGINT"],
  ["when its terminal is closed", "SIGHUP"],
] as const)("npm run sandbox saves its state also %s", async (_, signal) => {
  const { SANDBOX_PORT } = await freePorts();
  const SANDBOX_STATE = path.join(folder, "state.json");
  const settings = { SANDBOX_PORT, SANDBOX_STATE, PARTNER_URL: "http://localhost:9" };
  const { until, end } = run("sandbox", settings, [], folder);
  await until("it calls ");
  const json = { "content-type": "application/json" };
  const made = await fetch(`http://127.0.0.1:${SANDBOX_PORT}/sandbox/apps`, {
    ...{ method: "POST", headers: json, body: JSON.stringify({ name: "kept-to-the-end" }) },
  });
  expect(made.status).toBeLessThan(300);
  const ended = end(signal);
  await sleep(2);
  void end(signal);
  // When the state is saved it may have removed its signal handlers already.
  expect([0, signal]).toContain(await ended);
  expect(await readFile(SANDBOX_STATE, "utf8")).toContain("kept-to-the-end");
});
