import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { aProcessWorld, before } from "../support/process-world.ts";
import { eventually, opened } from "../support/world.ts";

// Signals, uncaught errors and a busy process, with real processes.

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

/** The kernel's limit; null on other systems. */
function somaxconn(): number | null {
  const file = "/proc/sys/net/core/somaxconn";
  return existsSync(file) ? Number(readFileSync(file, "utf8")) : null;
}

it("a burst of a thousand connections is queued by the kernel while the process is busy", async () => {
  // Other kernels have a lower limit of their own.
  if ((somaxconn() ?? 0) < 1_100) return;
  const web = await life.start();
  const { hostname, port } = new URL(web.url!);
  web.signal("SIGSTOP");
  let letIn = 0;
  const sockets = Array.from({ length: 1_000 }, () => connect(Number(port), hostname, () => (letIn += 1)));
  sockets.forEach((socket) => socket.on("error", () => undefined));
  try {
    await eventually(() => expect(letIn).toBe(1_000));
  } finally {
    sockets.forEach((socket) => socket.destroy());
    web.signal("SIGCONT");
  }
});
