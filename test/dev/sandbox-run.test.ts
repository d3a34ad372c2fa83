import { afterEach, describe, expect, it } from "@jest/globals";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { run } from "./dev-run.ts";

const folders: string[] = [];
afterEach(() => Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true }))));

/** `npm run sandbox:run -- node -e SCRIPT`, with a folder for temporary files of its own. */
async function sandboxRun(...words: string[]) {
  const folder = await mkdtemp(path.join(tmpdir(), "sandbox-run-"));
  folders.push(folder);
  return { ...run("sandboxRun", { TMPDIR: folder }, words), left: () => readdir(folder) };
}
const script = (text: string) => [process.execPath, "--input-type=module", "-e", text];

/** The service refuses to deprovision, which shows that it was asked to. */
const WATCH = `
  await fetch(process.env.SANDBOX_URL + "/sandbox/faults", { method: "POST",
    body: JSON.stringify({ match: ">DELETE /resources/*", action: { status: 507 }, times: 9 }) });`;

describe("npm run sandbox:run -- COMMAND", () => {
  it("gives COMMAND the add-on's config vars and all addresses, and exits with its exit code", async () => {
    const { ended, output, left } = await sandboxRun(
      ...script(`
        const { SANDBOX_URL, RESOURCE_UUID, SERVICE_URL, TEAPOT_URL } = process.env;
        const addon = await (await fetch(SANDBOX_URL + "/sandbox/addons/" + RESOURCE_UUID)).json();
        const health = await fetch(SERVICE_URL + "/healthz");
        console.log(addon.state, addon.grant.state, health.status, TEAPOT_URL.endsWith(RESOURCE_UUID));
        process.exitCode = 7;`),
    );
    expect({ code: await ended, output: output() }).toEqual({
      code: 7,
      output: "provisioned exchanged 200 true\n",
    });
    expect(await left()).toEqual([]);
  });

  it.each([
    ["by Ctrl-C", "SIGINT", 130],
    ["by a terminal that is closed", "SIGHUP", 129],
  ] as const)("when it is stopped %s, stops COMMAND and still deprovisions", async (_, signal, code) => {
    const words = script(`${WATCH} console.log("ready"); setInterval(() => {}, 1000);`);
    const { until, end, output, left } = await sandboxRun(...words);
    await until("ready");
    expect(await end(signal)).toBe(code);
    expect(output()).toContain("The deprovision was answered with 507.");
    expect(await left()).toEqual([]);
  });

  it("deprovisions after COMMAND was killed", async () => {
    const { ended, output } = await sandboxRun(
      ...script(`${WATCH} process.kill(process.pid, "SIGKILL"); setInterval(() => {}, 1000);`),
    );
    expect(await ended).toBe(137);
    expect(output()).toContain("The deprovision was answered with 507.");
  });

  it("reports a COMMAND that cannot be run, and leaves nothing behind", async () => {
    const { ended, output, left } = await sandboxRun("/no/such/command");
    expect(await ended).toBe(1);
    expect(output()).toMatch(/^✗ \/no\/such\/command cannot be run: /);
    expect(await left()).toEqual([]);
  });

  it("lists the plans when SANDBOX_RUN_PLAN is unknown", async () => {
    const { ended, output } = run("sandboxRun", { SANDBOX_RUN_PLAN: "nope" }, ["true"]);
    expect(await ended).toBe(78);
    expect(output()).toBe(
      "SANDBOX_RUN_PLAN must be one of your plans, which are basic, premium, dedicated, and not nope.\n",
    );
  });

  it("requires a COMMAND, and prints its usage", async () => {
    const { ended, output } = await sandboxRun();
    expect(await ended).toBe(2);
    expect(output()).toContain("npm run sandbox:run -- COMMAND");
  });
});
