import { spawn } from "node:child_process";
import { once } from "node:events";
import { aProcessWorld } from "../support/process-world.ts";
import { program } from "../support/program.ts";
import { opened } from "../support/world.ts";

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
