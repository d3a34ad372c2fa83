// What takes its time, or only a process of its own can show: progress bars, signals, its end, its pipes, its terminal.

import type { StdioOptions } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import type { TokenEndpoint } from "../../../src/platform/oauth.ts";
import { aGate } from "../../support/a-vendor.ts";
import { kit, kitJson, runningKit, startKit } from "../../support/kit.ts";
import { before } from "../../support/process-world.ts";
import { onRealTerminal, onTerminal } from "../../support/terminal.ts";
import { aWorld, eventually, opened } from "../../support/world.ts";

const CTRL_C = "\u0003";
const STOPPING = /^(\^C)?Stopping: in-flight calls finish first\. Ctrl-C again stops at once\.$/;
/** A signal that follows the first one later than this is another one. */
const LATER_MS = 1_100;

let uuids: string[];
const world = opened(() => aWorld({ environment: { WEB_JOBS: "off" } }));
beforeAll(async () => {
  uuids = await world.installed(5);
});
afterEach(() => world.sandbox.control.clearFaults());

describe("a progress bar", () => {
  /** Refreshes come one after the other, so that the progress is visible. */
  const oneByOne = () => ({ ...world.environment, TOKEN_CONCURRENCY: "1" });

  it("is shown on a terminal of the operating system, where Ctrl-C stops the work and says what is left", async () => {
    const { control } = world.sandbox;
    for (const [delayMs, times] of [
      [700, 1],
      [5_000, 100],
    ] as const)
      control.fault("POST /oauth/token", { delayMs }, times);
    const terminal = onRealTerminal(oneByOne(), ["tokens", "refresh", "--all"]);
    await terminal.type(CTRL_C, /░ [12] of 5 ·/);
    const { code, screen } = await terminal.ended();
    expect(code).toBe(1);
    const [stopping, stopped, end, ...more] = screen;
    expect(stopping).toMatch(STOPPING);
    const done = Number(/^(\d) refreshed, 0 failed, 0 skipped\.$/.exec(end!)![1]);
    expect(stopped).toMatch(new RegExp(`^Stopped: ${5 - done} resources? left\\.$`));
    expect(done).toBeLessThan(5);
    expect(more).toEqual([]);
  });

  /** Resets the secret as the portal does, and types the new one. */
  async function typedSecret() {
    const { secret } = world.sandbox.control.resetClientSecret();
    // One is refreshed; the others wait until the gate is opened.
    const gate = aGate();
    let sent = 0;
    const wrapTokenEndpoint = (endpoint: TokenEndpoint): TokenEndpoint => ({
      ...endpoint,
      async refresh(...given) {
        if ((sent += 1) > 1) await gate.opened;
        return endpoint.refresh(...given);
      },
    });
    const terminal = onTerminal(oneByOne(), ["secret", "set"], { wrapTokenEndpoint });
    await terminal.type(`${secret}\r`, /The new client secret \(not shown\): /);
    return { terminal, secret, gate };
  }

  it("of kit secret set counts the refreshed tokens; neither bar nor secret is left on the screen", async () => {
    const { terminal, secret, gate } = await typedSecret();
    await terminal.type("", /█░+ 1 of 5 · \d+s/);
    gate.open();
    const { code, sent, screen } = await terminal.ended();
    expect(code).toBe(0);
    expect(sent).not.toContain(secret);
    expect(screen).toEqual([
      "The new client secret (not shown): ",
      expect.stringMatching(/^The client secret is version \d now\. 5 of 5 tokens refreshed\.$/),
    ]);
  });

  it("of kit secret set that is stopped gives way to how many are refreshed, and that the service refreshes the rest", async () => {
    const { terminal, secret, gate } = await typedSecret();
    await terminal.type(CTRL_C, /░ [12] of 5 ·/);
    gate.open();
    const { code, screen } = await terminal.ended();
    expect(code).toBe(1);
    const [, stopping, ...said] = screen;
    expect(stopping).toMatch(STOPPING);
    expect(said.join(" ").replace(/\s+/g, " ")).toMatch(/^✗ .* refreshes the other [1-4] tokens\.$/);
    world.sandbox.control.clearFaults();
    const { data } = await kitJson(world.environment, ["secret", "set"], secret);
    expect(data["fresh"]).toBe(data["due"]);
  });
});

describe("a command whose output cannot be written", () => {
  /** What it could write, and its exit code. */
  async function ended(words: string[], stdio: StdioOptions) {
    const child = startKit({}, words, stdio);
    child.stdout?.destroy();
    const said = child.stderr ? text(child.stderr) : "";
    const [code] = (await once(child, "close")) as [number | null];
    return { code, said: await said };
  }

  it("fails with a message", async () => {
    const full = await open("/dev/full", "w");
    try {
      expect(await ended(["tokens", "--help"], ["ignore", full.fd, "pipe"])).toEqual({
        code: 1,
        said: expect.stringMatching(/^✗ Standard output cannot be written: ENOSPC\b[^\n]+\n[^✗]*$/),
      });
      expect(await ended(["teapots"], ["ignore", "ignore", full.fd])).toEqual({ code: 2, said: "" });
    } finally {
      await full.close();
    }
  });

  it("exits normally when the reader has closed the pipe", async () => {
    expect(await ended(["--help"], ["ignore", "pipe", "pipe"])).toEqual({ code: 0, said: "" });
  });
});

describe("a signal while a token is being refreshed", () => {
  /** A command that refreshes a token, which takes this long; `underWay` resolves once the token endpoint is called. */
  async function aRefresh(words: readonly string[], delayMs: number) {
    const uuid = await world.settled();
    // From now on each refresh brings a refresh token in place of the one before.
    world.sandbox.control.settings({ refreshToken: "new" });
    await world.forged.tokensExpired(uuid);
    world.sandbox.control.fault("POST /oauth/token", { delayMs }, 1);
    const isSent = `SELECT 1 FROM credentials WHERE sent_at IS NOT NULL AND uuid = $1`;
    const generation = `SELECT generation FROM credentials WHERE uuid = $1`;
    return {
      uuid,
      command: [world.environment, [...words, uuid]] as const,
      underWay: () => eventually(async () => (await world.rows(isSent, [uuid])).length === 1),
      generation: async () => (await world.rows(generation, [uuid]))[0]!["generation"],
    };
  }

  // A terminal sends Ctrl-C to npm and to the command, and npm sends it on to the command.
  it("ends a command once the token is stored; of two in a moment, npm sent one", async () => {
    const { uuid, command, underWay, generation } = await aRefresh(["config", "get"], 5_000);
    const child = startKit(...command);
    const ended = once(child, "close");
    await underWay();
    child.kill("SIGINT");
    await sleep(2);
    child.kill("SIGINT");
    expect(await ended).toEqual([null, "SIGINT"]);
    expect(await generation()).toBe(2);
    expect(await world.service.services.platformFor(uuid).addons.own()).toMatchObject({ id: uuid });
  });

  it("lets a command end in order that can say what is left; of two in a moment, npm sent one", async () => {
    const { command, underWay, generation } = await aRefresh(["tokens", "refresh"], 4_000);
    const { signal, ended } = runningKit(...command);
    await underWay();
    signal("SIGINT");
    signal("SIGINT");
    // Nothing was left to do, and nothing failed.
    expect(await ended).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("Stopping: in-flight calls finish first."),
    });
    expect(await generation()).toBe(2);
  });

  it("stops a command at once when it comes again, also one that would end in order", async () => {
    const { command, underWay, generation } = await aRefresh(["tokens", "refresh"], 15_000);
    const child = startKit(...command);
    const ended = once(child, "close");
    await underWay();
    child.kill("SIGINT");
    // On a loaded machine it may take the first signal late, and then the second for the same.
    await once(child.stderr!, "data");
    await sleep(LATER_MS);
    child.kill("SIGINT");
    expect(await ended).toEqual([null, "SIGINT"]);
    expect(await generation()).toBe(1);
  });

  // The effect of a dropped connection: the shell sends SIGHUP, and nobody reads the output.
  it.each([
    ["config", "get", [null, "SIGHUP"]],
    ["tokens", "refresh", [0, null]],
  ] as const)(
    "lets the token be stored first when the terminal was closed: kit %s %s",
    async (noun, verb, how) => {
      const { command, underWay, generation } = await aRefresh([noun, verb], 6_000);
      const child = startKit(...command);
      const ended = once(child, "close");
      await underWay();
      child.stdout!.destroy();
      child.stderr!.destroy();
      child.kill("SIGHUP");
      await sleep(LATER_MS);
      // The kernel and the shell both send SIGHUP, at different times: that is not a second request to stop.
      child.kill("SIGHUP");
      expect(await ended).toEqual(how);
      expect(await generation()).toBe(2);
    },
  );
});

describe("what Node would do by itself", () => {
  const begun = () => world.rows(`SELECT 1 FROM operator_actions WHERE action = 'kit resources import'`);

  it("SIGUSR1 opens no inspector", async () => {
    const child = startKit(world.environment, ["resources", "import"]);
    const [out, err] = [text(child.stdout!), text(child.stderr!)];
    await eventually(async () => expect(await begun()).toHaveLength(1));
    child.kill("SIGUSR1");
    child.stdin!.end();
    expect(await once(child, "exit")).toEqual([0, null]);
    expect([await out, await err]).toEqual([expect.stringContaining("0 resources imported"), ""]);
  });

  it.each([
    ["for people a line on standard error", [], /^! Node warns: The kettle boils$/m],
    ["nothing under --json", ["--json"], /^$/],
  ])("a warning is %s", async (_, words, shown) => {
    const warn = `process.listenerCount("SIGUSR1") && process.emitWarning("The kettle boils")`;
    const code = `setInterval(() => ${warn}, 20).unref()`;
    const child = startKit({ ...world.environment, ...before(code) }, ["resources", "list", ...words]);
    const [out, err] = [text(child.stdout!), text(child.stderr!)];
    expect(await once(child, "exit")).toEqual([0, null]);
    expect(await err).toMatch(shown);
    expect(await err).not.toContain("(node:");
    expect(await out).not.toContain("kettle");
  });
});

// The last: afterwards other commands would need the new key.
describe("kit keys reseal, while a row stays locked", () => {
  beforeAll(async () => {
    await world.rows(
      `CREATE FUNCTION leave_alone() RETURNS trigger AS 'BEGIN RETURN NULL; END' LANGUAGE plpgsql`,
    );
    await world.rows(
      `CREATE TRIGGER busy BEFORE UPDATE ON credentials FOR EACH ROW WHEN (OLD.uuid = '${uuids[0]}') EXECUTE FUNCTION leave_alone()`,
    );
  });

  const key = randomBytes(24).toString("hex");
  const rotated = () => ({
    ...world.environment,
    ...{ ENCRYPTION_KEY: key, DECRYPTION_KEYS: world.environment["ENCRYPTION_KEY"]! },
  });

  it("counts the rows, and when it is stopped says what is left", async () => {
    const terminal = onTerminal(rotated(), ["keys", "reseal"]);
    await terminal.type(CTRL_C, /█ (\d+) of \1 · \d+s/);
    const { code, screen } = await terminal.ended();
    expect(code).toBe(1);
    expect(screen[0]).toMatch(STOPPING);
    expect(screen.join(" ")).toContain("older keys still seal some");
  });

  it("exits with 1, and says that an older key is still needed", async () => {
    const { code, stdout, stderr } = await kit(rotated(), ["keys", "reseal"]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout.replace(/\s+/g, " ")).toMatch(/ older keys still seal some: .* kit keys reseal $/);
  });
});
