import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../packages/conformance/free-port.ts";
import { aBrowser } from "../people/browser.ts";
import { SALT, signed } from "../people/customers.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { startDatabaseProxy } from "../support/database-proxy.ts";
import { basic, partnerCalls } from "../support/partner-calls.ts";
import { aProcessWorld, before } from "../support/process-world.ts";
import { program } from "../support/program.ts";
import { eventually, opened } from "../support/world.ts";

// Signals, uncaught errors, a busy process, a wrong clock, a log that nobody reads, an outage and memory, with real
// processes.

const life = opened(() => aProcessWorld({ environment: { SWEEP_CRON: "* * * * * *" } }));
afterEach(async () => {
  life.control.clearFaults();
  await life.killAll();
});

it("the first line of the log names the build", async () => {
  const { output } = await life.start("worker");
  expect(JSON.parse(output().split("\n")[0]!)).toMatchObject({
    ...{ msg: "Starting", version: "1.2.3", commit: "0123456789ab", node: process.versions.node },
  });
});

it("warnings of Node are in the log, one of a kind, and not bare text", async () => {
  const warn = `process.emitWarning("The kettle boils", { type: "KettleWarning", code: "KET001" })`;
  // Once the service has begun to load.
  const again = `setInterval(() => process.listenerCount("SIGUSR1") && ${warn}, 20).unref()`;
  const { output, ended, signal } = await life.start("web", before(again));
  await eventually(() => expect(output()).toContain("Node warns"));
  signal("SIGTERM");
  expect(await ended).toBe(0);
  const lines = output().trimEnd().split("\n");
  const said = lines.map((line) => JSON.parse(line) as { msg: string });
  const shown = { level: "warn", name: "KettleWarning", code: "KET001", reason: "The kettle boils" };
  const stack = expect.stringContaining("KettleWarning: The kettle boils");
  expect(said.filter(({ msg }) => msg === "Node warns")).toMatchObject([{ ...shown, stack }]);
});

it("many steps beside each other raise no warning of Node", async () => {
  const web = await life.start();
  await life.install(40);
  expect(web.output().match(/MaxListeners\w+/)).toBeNull();
});

it("Prisma is loaded by a page of the operator's, but not by the start, a sweep, a customer or the life of a resource", async () => {
  const hooks = `import { writeSync } from "node:fs";
    export function resolve(name, context, next) {
      if (name.includes("@prisma") || name.includes("client/client")) writeSync(2, "loaded: " + name + "\\n");
      return next(name, context);
    }`;
  const watch = `import { register } from "node:module";
    register("data:text/javascript," + ${JSON.stringify(encodeURIComponent(hooks))});`;
  const password = "a-password-of-the-operator";
  const web = await life.start("web", { ...before(watch), OPERATOR_PASSWORD: password, SSO_SALT: SALT });
  const [uuid = ""] = await life.install(1);
  await life.become([uuid], 1);
  await life.makeDue([uuid]);
  await life.become([uuid], 2);
  const browser = aBrowser(() => web.url!);
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const form = { resource_id: uuid, timestamp, user_id: randomUUID(), email: "ann@example.com" };
  const headers = { origin: web.url! };
  await browser.post("/sso/login", headers, new URLSearchParams(signed(form)));
  expect((await browser.get(`/customer/${uuid}`)).status).toBe(200);
  await browser.post(`/customer/${uuid}/sign-out`, headers);
  expect((await browser.get(`/customer/${uuid}`)).status).toBe(401);
  await life.control.deprovision(uuid);
  expect(web.output()).not.toContain("loaded: ");
  const asOperator = { headers: { authorization: basic("operator", password) } };
  expect((await fetch(`${web.url}/operator/actions`, asOperator)).status).toBe(200);
  expect(web.output()).toContain("loaded: @prisma/adapter-pg");
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
    life.control.fault("POST /oauth/token", { delayMs: 300 }, 8);
    // Enough time for the signal.
    life.control.fault("POST /oauth/token", { delayMs: 5_000 }, 1_000);
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
  // The limit of the stop comes soon, that of what is stored after it late.
  const hasten = `let isLate = false; const real = setTimeout;
    globalThis.setTimeout = (work, ms, ...given) => ms === 25_000
      ? real(() => { isLate = true; work(); }, 300)
      : real(work, isLate && ms === 1_000 ? 30_000 : ms, ...given);`;
  const web = await life.start("web", { OPERATOR_PASSWORD: "a-password-of-the-operator", ...before(hasten) });
  life.control.fault("POST /oauth/token", { hang: "after" }, 1);
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

it("an uncaught error while it stops ends the process with 1 all the same", async () => {
  const web = await life.start(
    "web",
    before(`process.on("SIGUSR2", () => { Promise.reject(new Error("late")); });`),
  );
  life.control.fault("POST /oauth/token", { delayMs: 8_000 }, 1);
  const uuids = await life.install(1);
  await eventually(() => life.control.faults().length === 0);
  web.signal("SIGTERM");
  await eventually(() => web.output().includes("Stopping"));
  web.signal("SIGUSR2");
  expect(await web.ended).toBe(1);
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
    for (const [generation, off] of Object.entries({ 2: -3_000_000, 3: 4_200_000 })) {
      web.signal("SIGUSR2");
      await eventually(() => expect(web.output()).toContain(`Jumped to ${off}`));
      const since = life.position();
      await life.become(await life.install(3), 1);
      // A sweep comes each second.
      await sleep(1_200);
      // Nothing else has become due.
      expect(life.issuedSince(since)).toBe(3);
      await life.makeDue(known);
      await life.become(known, Number(generation));
      expect(life.issuedSince(since)).toBe(6);
    }
  });
});

const answers = async (url: string | null) => (await fetch(`${url}/readyz`)).status;

const withFullDisk = existsSync("/dev/full") ? it : it.skip;

describe("the log's output stream", () => {
  it.each(["closed", "full"] as const)("does not block work when it is %s", async (how) => {
    const web = await life.start("web", { LOG_LEVEL: "debug" });
    web.leaveOutput(how);
    for (let call = 0; call < 16; call++)
      await Promise.all(
        Array.from({ length: 50 }, () =>
          fetch(`${web.url}/${"x".repeat(190)}`, { signal: AbortSignal.timeout(60_000) }),
        ),
      );
    expect(await answers(web.url)).toBe(200);
    await life.become(await life.install(3), 1);
    web.signal("SIGTERM");
    expect(await web.ended).toBe(0);
  });

  it("ends no process in which a library writes to standard error that is closed too", async () => {
    const library = `setInterval(() => process.stderr.write("deprecated"), 20)`;
    const web = await life.start("web", before(library));
    web.leaveOutput("closed");
    await sleep(200);
    expect(await answers(web.url)).toBe(200);
    web.signal("SIGTERM");
    expect(await web.ended).toBe(0);
  });

  withFullDisk("lets the process work and exit while the log's disk is full", async () => {
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
  });

  it("drops lines that are not read in time, and logs how many as the process exits", async () => {
    // More than it keeps; nobody reads until all are written. The last lines have two minutes in place of two seconds.
    const flood = `const now = performance.now.bind(performance);
      performance.now = () => now() / 60;
      const { logOutput } = await import(${JSON.stringify(program("src/logging/log-output.ts"))});
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

it("an outage of the database is logged when it begins and ends, and as one alarm; each lost provision by its name", async () => {
  const proxy = await startDatabaseProxy(life.world.environment["DATABASE_URL"]!);
  const web = await life.start("web", { DATABASE_URL: proxy.url });
  const { provision } = partnerCalls({ sandbox: life.world.sandbox, service: web });
  const requests = [1, 2, 3].map((number) =>
    aProvisionRequest({ plan: "basic", name: `customer-${number}` }),
  );
  proxy.mode("refuse");
  const answers = await Promise.all(requests.map((request) => provision(request)));
  expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
  await eventually(() => expect(web.output()).toContain(`"alarm":"database_unreachable"`));
  expect((await fetch(`${web.url}/readyz`)).status).toBe(503);
  proxy.mode("ok");
  await eventually(() => expect(web.output()).toContain("reachable again"));
  // The warnings and errors, without the lines about requests.
  const lines = web
    .output()
    .trim()
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as { level: string; msg: string; [member: string]: unknown })
    .filter((line) => ["warn", "error"].includes(line.level) && !("res" in line));
  const lost = lines.filter(({ msg }) => msg.startsWith("A provision is lost"));
  expect(lost.map(({ uuid }) => uuid).sort()).toEqual(requests.map(({ uuid }) => uuid).sort());
  for (const { name, plan, requestId } of lost)
    expect({ name, plan, requestId }).toEqual({
      ...{ name: expect.stringContaining("customer-"), plan: "basic", requestId: expect.any(String) },
    });
  for (const { oauth_grant: grant } of requests)
    expect(web.output()).not.toContain((grant as { code: string }).code);
  const others = lines.filter(({ alarm, msg }) => alarm !== "provision_lost" && msg !== "A request failed");
  expect(others.filter(({ alarm }) => alarm === "database_unreachable")).toHaveLength(1);
  // Every job failed each second, and has a line for each error.
  const ofJobs = others.filter(({ job }) => job).map(({ job, error }) => JSON.stringify([job, error]));
  expect(ofJobs).toHaveLength(new Set(ofJobs).size);
  expect(others.length - ofJobs.length).toBeLessThan(12);
  const again = { msg: "The database is reachable again", seconds: expect.any(Number) };
  // A job, or a call for one resource, may have begun before that, and fail after it.
  expect(others.filter(({ job, uuid }) => !job && uuid === undefined).at(-1)).toMatchObject(again);
  expect(others.filter(({ msg }) => msg === again.msg)).toHaveLength(1);
  await life.killAll();
  await proxy.close();
});

/** On SIGUSR2 a process prints how many bytes are alive after a garbage collection. */
const TELLS_ITS_HEAP = `
  import { setFlagsFromString } from "node:v8";
  import { runInNewContext } from "node:vm";
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc");
  process.on("SIGUSR2", () => { gc(); console.log("heap " + process.memoryUsage().heapUsed); });`;

const REQUESTS = 120;
/** Less than the smallest object of a request, a refresh or an exchange would add up to if it leaked. */
const MOST_BYTES_A_REQUEST = 2_500;

it("answered and refused requests leak no memory", async () => {
  const { addonId, addonPassword } = life.world.sandbox.settings;
  const web = await life.start("web", { ...before(TELLS_ITS_HEAP), WEB_JOBS: "off" });
  const right = basic(addonId, addonPassword);

  /** The number of live bytes. */
  async function heap(): Promise<number> {
    const said = () => [...web.output().matchAll(/^heap (\d+)$/gm)];
    const count = said().length;
    web.signal("SIGUSR2");
    return Number((await eventually(() => said()[count] ?? null))[1]);
  }

  async function send(method: string, path: string, body?: object, authorization = right): Promise<number> {
    const headers = { authorization, "content-type": "application/json" };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await fetch(`${web.url}${path}`, init);
    await response.arrayBuffer();
    return response.status;
  }

  /** A resource's life in four requests, and four refused requests. */
  async function someRequests(): Promise<void> {
    const request = aProvisionRequest({ oauth_grant: null });
    const path = `/resources/${request.uuid}`;
    const answers = [
      await send("POST", "/resources", request),
      await send("POST", "/resources", request),
      await send("PUT", path, { plan: "premium" }),
      await send("DELETE", path),
      await send("DELETE", path),
      await send("POST", "/resources", { ...request, uuid: randomUUID(), plan: "none" }),
      await send("POST", "/resources", request, basic(addonId, "wrong")),
      await send("GET", `/${randomUUID()}`),
    ];
    expect(answers).toEqual([200, 200, 200, 204, 410, 422, 401, 404]);
  }

  const round = async () => {
    for (let sent = 0; sent < REQUESTS; sent += 40)
      await Promise.all(Array.from({ length: 5 }, someRequests));
  };
  // What is allocated once (statements, caches, compiled code) exists after the first round.
  await round();
  await round();
  const atFirst = await heap();
  await round();
  await round();
  await eventually(async () =>
    expect((await heap()) - atFirst).toBeLessThan(2 * REQUESTS * MOST_BYTES_A_REQUEST),
  );
});
