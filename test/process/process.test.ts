import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../packages/conformance/free-port.ts";
import { aProcessWorld, before } from "../support/process-world.ts";
import { program } from "../support/program.ts";
import { eventually, opened } from "../support/world.ts";

// Signals, uncaught errors, a busy process, a wrong clock and a log that nobody reads, with real processes.

const life = opened(() => aProcessWorld({ environment: { SWEEP_CRON: "* * * * * *" } }));
afterEach(async () => {
  life.control.clearFaults();
  await life.killAll();
});

it.each(["web", "worker"] as const)("the first line of the log names the build: %s", async (kind) => {
  const { output } = await life.start(kind);
  expect(JSON.parse(output().split("\n")[0]!)).toMatchObject({
    ...{ msg: "Starting", version: "1.2.3", commit: "0123456789ab", node: process.versions.node },
  });
});

describe("a signal to stop", () => {
  it.each([
    ["with SIGINT", ["SIGINT"]],
    ["with SIGHUP, then with everything else", ["SIGHUP", "SIGTERM", "SIGINT", "SIGTERM"]],
  ] as const)("%s exits in order", async (_, signals) => {
    const web = await life.start();
    for (const signal of signals) web.signal(signal);
    expect(await web.ended).toBe(0);
    expect(web.output().match(/"msg":"Stopping: /g)).toHaveLength(1);
  });

  it("of Node's inspector opens none, and changes nothing", async () => {
    const web = await life.start();
    web.signal("SIGUSR1");
    expect((await fetch(`${web.url}/healthz`)).status).toBe(200);
    web.signal("SIGTERM");
    expect(await web.ended).toBe(0);
    expect(web.output()).not.toContain("Debugger listening");
  });

  it("in the middle of a sweep stores the answers of calls that were sent, and leaves the rest to the next process", async () => {
    const web = await life.start("web", { TOKEN_CONCURRENCY: "8" });
    const uuids = await life.install(60);
    await life.become(uuids, 1);
    life.control.fault("POST /oauth/token", { delayMs: 300 }, 1_000);
    const since = life.position();
    await life.makeDue(uuids);
    await eventually(() => life.issuedSince(since) > 0);
    web.signal("SIGTERM");
    expect(await web.ended).toBe(0);
    const [row] = await life.world.rows<{ taken: number; fresh: number }>(
      `SELECT count(*) FILTER (WHERE leased_until > now())::int AS taken, count(*) FILTER (WHERE generation = 2)::int AS fresh
       FROM credentials WHERE uuid = ANY($1::uuid[])`,
      [uuids],
    );
    expect(row!.taken).toBe(0);
    expect(row!.fresh).toBe(life.issuedSince(since));
    expect(row!.fresh).toBeLessThan(60);
    life.control.clearFaults();
    await life.start();
    await life.become(uuids, 2);
    expect(life.issuedSince(since)).toBe(60);
  });
});

it("a stop that takes too long is counted among the alarms before the process ends", async () => {
  const hasten = `const real = setTimeout;
    globalThis.setTimeout = (work, ms, ...given) => real(work, ms === 25_000 ? 300 : ms, ...given);`;
  const web = await life.start("web", { OPERATOR_PASSWORD: "a-password-of-the-operator", ...before(hasten) });
  life.control.fault("POST /oauth/token", { delayMs: 2_000 }, 1);
  const since = life.position();
  await life.install(1);
  // The call has come, and waits for its answer.
  await eventually(() => life.control.faults().length === 0);
  web.signal("SIGTERM");
  expect(await web.ended).toBe(0);
  expect(web.output()).toContain('"alarm":"stop_incomplete"');
  const counted = await life.world.rows(
    `SELECT value FROM metric_totals WHERE sample = 'addon_alarms_total' AND labels LIKE '%stop_incomplete%'`,
  );
  expect(counted).toEqual([{ value: 1 }]);
  // The platform's answer must not be counted for another test.
  await eventually(() => life.issuedSince(since) === 1);
});

it("an uncaught error ends the process and shows no secret; the next process continues", async () => {
  const { addonPassword } = life.world.sandbox.settings;
  const error = `new Error("Cannot use SVCK-0123456789abcdef with ${addonPassword}", { cause: new Error("${addonPassword}") })`;
  const uuids: string[] = [];
  for (const raise of [`Promise.reject(${error})`, `setTimeout(() => { throw ${error}; })`]) {
    const web = await life.start("web", before(`process.on("SIGUSR2", () => { ${raise}; });`));
    uuids.push(...(await life.install(5)));
    web.signal("SIGUSR2");
    expect(await web.ended).toBe(1);
    expect(web.output()).toMatch(/"alarm":"crash".*Cannot use/);
    expect(web.output()).not.toContain(addonPassword);
    expect(web.output()).not.toContain("0123456789abcdef");
  }
  await life.start();
  await life.become(uuids, 1);
});

describe("time and clocks", () => {
  it("a vendor's function that blocks the event loop loses nothing", async () => {
    const block = `process.on("SIGUSR2", () => { for (const end = Date.now() + 2_500; Date.now() < end; ); });`;
    const web = await life.start("web", before(block));
    const known = await life.install(5);
    await life.become(known, 1);
    const since = life.position();
    const uuids = await life.install(5);
    web.signal("SIGUSR2");
    await life.become(uuids, 1);
    await life.makeDue(known).catch(() => life.makeDue(known));
    await life.become(known, 2);
    expect(life.issuedSince(since)).toBe(10);
    expect(web.output()).toMatch(/"alarm":"event_loop_blocked","ms":\d{4}/);
    for (const line of web.output().trim().split("\n")) expect(JSON.parse(line)).toEqual(expect.any(Object));
  });

  it("a wrong clock, set back an hour and ahead two, does not change what is due", async () => {
    const clock = `
      const Real = Date; const jumps = [-3_600_000, 7_200_000]; let off = 600_000;
      globalThis.Date = class extends Real {
        constructor(...given) { given.length ? super(...given) : super(Real.now() + off); }
        static now() { return Real.now() + off; }
      };
      process.on("SIGUSR2", () => { off += jumps.shift(); console.log(JSON.stringify({ msg: "Jumped to " + off })); });`;
    const web = await life.start("web", before(clock));
    const known = await life.install(3);
    await life.become(known, 1);
    for (const [generation, jumped] of [
      [2, "Jumped to -3000000"],
      [3, "Jumped to 4200000"],
    ] as const) {
      web.signal("SIGUSR2");
      await eventually(() => expect(web.output()).toContain(jumped));
      const since = life.position();
      await life.become(await life.install(3), 1);
      // A sweep comes each second.
      await sleep(1_200);
      // Nothing else has become due.
      expect(life.issuedSince(since)).toBe(3);
      await life.makeDue(known);
      await life.become(known, generation);
      expect(life.issuedSince(since)).toBe(6);
    }
  }, 150_000);
});

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

  it("ends no process in which a library writes to standard error that is closed too", async () => {
    const library = `setInterval(() => process.stderr.write("deprecated"), 20)`;
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(library)}`;
    const web = await life.start("web", { NODE_OPTIONS });
    web.leaveOutput("closed");
    await sleep(200);
    expect(await answers(web.url)).toBe(200);
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
