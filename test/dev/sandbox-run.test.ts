import { aDatabaseServer, aTemporaryFolder, run } from "./dev-run.ts";

/** `npm run sandbox:run -- …`, with a database on the server of all tests. */
function sandboxRun(...words: string[]) {
  const { DATABASE_URL, made, isLeft } = aDatabaseServer();
  return { ...run("sandboxRun", { DATABASE_URL }, words), made, isLeft };
}
const script = (text: string) => [process.execPath, "--input-type=module", "-e", text];

/** The service refuses to deprovision, which shows that it was asked to. */
const WATCH = `
  await fetch(process.env.SANDBOX_URL + "/sandbox/faults", { method: "POST",
    body: JSON.stringify({ match: ">DELETE /resources/*", action: { status: 507 }, times: 9 }) });`;

describe("npm run sandbox:run -- COMMAND", () => {
  it("gives COMMAND the add-on's config vars and all addresses, exits with its exit code, and leaves nothing behind", async () => {
    const { folder, left, remove } = await aTemporaryFolder();
    const words = script(`
      const { SANDBOX_URL, RESOURCE_UUID, SERVICE_URL, TEAPOT_URL } = process.env;
      const addon = await (await fetch(SANDBOX_URL + "/sandbox/addons/" + RESOURCE_UUID)).json();
      const health = await fetch(SERVICE_URL + "/healthz");
      console.log(addon.state, addon.grant.state, health.status, TEAPOT_URL.endsWith(RESOURCE_UUID));
      process.exitCode = 7;`);
    const { ended, output } = run("sandboxRun", { TMPDIR: folder }, words);
    expect({ code: await ended, output: output() }).toEqual({
      code: 7,
      output: "provisioned exchanged 200 true\n",
    });
    expect(await left()).toEqual([]);
    await remove();
  });

  it("stops COMMAND and still deprovisions when it is stopped by Ctrl-C, when a terminal is closed, and after COMMAND was killed", async () => {
    const endedBy = async (signal: NodeJS.Signals, code: number) => {
      const words = script(`${WATCH} console.log("ready"); setInterval(() => {}, 1000);`);
      const { until, end, output, made, isLeft } = sandboxRun(...words);
      await made();
      await until("ready");
      expect(await end(signal)).toBe(code);
      expect(output()).toContain("The deprovision was answered with 507.");
      expect(await isLeft()).toBe(false);
    };
    const killed = async () => {
      const kill = script(`${WATCH} process.kill(process.pid, "SIGKILL"); setInterval(() => {}, 1000);`);
      const { ended, output } = sandboxRun(...kill);
      expect(await ended).toBe(137);
      expect(output()).toContain("The deprovision was answered with 507.");
    };
    await Promise.all([endedBy("SIGINT", 130), endedBy("SIGHUP", 129), killed()]);
  });
});
