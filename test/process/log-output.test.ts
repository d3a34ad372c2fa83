import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { tmpdir } from "node:os";
import { freePort } from "../../packages/conformance/free-port.ts";
import { aProcessWorld } from "../support/process-world.ts";
import { program } from "../support/program.ts";
import { eventually, opened } from "../support/world.ts";

// A log that nobody reads, or that cannot be written, with real processes.

const life = opened(() => aProcessWorld({ environment: { SWEEP_CRON: "* * * * * *" } }));
afterEach(() => life.killAll());

const answers = async (url: string | null) => (await fetch(`${url}/readyz`)).status;

describe("the log's output stream", () => {
  it.each(["closed", "full"] as const)("does not block work when it is %s", async (how) => {
    const web = await life.start("web", { LOG_LEVEL: "debug" });
    web.leaveOutput(how);
    for (let call = 0; call < 16; call++)
      await Promise.all(
        Array.from({ length: 50 }, () =>
          fetch(`${web.url}/${"x".repeat(190)}`, { signal: AbortSignal.timeout(5_000) }),
        ),
      );
    expect(await answers(web.url)).toBe(200);
    await life.become(await life.install(3), 1);
    web.signal("SIGTERM");
    expect(await web.ended).toBe(0);
  });

  (existsSync("/dev/full") ? it : it.skip)(
    "lets the process work and exit while the log's disk is full",
    async () => {
      const disk = openSync("/dev/full", "w");
      const port = await freePort();
      const web = spawn(process.execPath, [program("src/web.ts")], {
        cwd: tmpdir(),
        env: { ...life.world.environment, PORT: String(port), WEB_JOBS: "off" },
        stdio: ["ignore", disk, "pipe"],
      });
      closeSync(disk);
      let errors = "";
      web.stderr!.on("data", (data: Buffer) => (errors += data.toString()));
      await eventually(async () => expect(await answers(`http://localhost:${port}`)).toBe(200));
      web.kill("SIGTERM");
      expect([await once(web, "close"), errors]).toEqual([[0, null], ""]);
    },
    60_000,
  );

  it("drops lines that are not read in time, and logs how many as the process exits", async () => {
    // More than it keeps; nobody reads until all are written.
    const flood = `const { logOutput } = await import(${JSON.stringify(program("src/logging/log-output.ts"))});
      const log = logOutput();
      for (let line = 0; line < 12_000; line++) log.write("x".repeat(999) + "\\n");
      process.stderr.write("written");
      process.exit(0);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", flood]);
    let taken = "";
    await once(child.stderr, "data");
    child.stdout.on("data", (data: Buffer) => (taken += data.toString()));
    expect(await once(child, "close")).toEqual([0, null]);
    const [, dropped] = /"Nobody took the log: (\d+) lines were dropped"/.exec(taken) ?? [];
    expect(taken.match(/^x{999}$/gm)!.length + Number(dropped)).toBe(12_000);
  });
});
