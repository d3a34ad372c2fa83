// What only a process of its own can show: its end, its pipes, its terminal.

import type { StdioOptions } from "node:child_process";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { aWorld, eventually, opened } from "../../support/world.ts";
import { runningKit, startKit } from "../../support/kit.ts";
import { onRealTerminal } from "../../support/terminal.ts";

const CTRL_C = "\u0003";
/** A signal that follows the first one later than this is another one. */
const LATER_MS = 1_100;

const world = opened(() => aWorld({ environment: { WEB_JOBS: "off" } }));
afterEach(() => world.sandbox.control.clearFaults());

describe("the process of a command", () => {
  it("ends when the command has ended", async () => {
    const child = startKit(world.environment, ["doctor", "--json"]);
    const said = text(child.stdout!);
    expect(await once(child, "close")).toEqual([0, null]);
    expect(JSON.parse(await said)).toEqual(expect.any(Object));
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

describe("a command on a terminal of the operating system", () => {
  it("shows a progress bar, and says what is left when it is stopped with Ctrl-C", async () => {
    const { length: all } = await world.installed(5);
    world.sandbox.control.fault("POST /oauth/token", { delayMs: 700 }, 20);
    const environment = { ...world.environment, TOKEN_CONCURRENCY: "1" };
    const terminal = onRealTerminal(environment, ["tokens", "refresh", "--all"]);
    await terminal.type(CTRL_C, new RegExp(`░ [12] of ${all} ·`));
    const { code, screen } = await terminal.ended();
    expect(code).toBe(1);
    const [stopping, stopped, end, ...more] = screen;
    expect(stopping).toMatch(/^(\^C)?Stopping: what was sent is finished first\. /);
    const done = Number(/^(\d) refreshed, 0 failed, 0 skipped\.$/.exec(end!)![1]);
    expect(stopped).toMatch(new RegExp(`^Stopped: ${all - done} resources? left\\.$`));
    expect(done).toBeLessThan(all);
    expect(more).toEqual([]);
  });
});

describe("a signal while a token is being refreshed", () => {
  // A terminal sends Ctrl-C to npm and to the command, and npm sends it on to the command.
  it("ends a command once the token is stored; of two in a moment, npm sent one", async () => {
    const { uuid, environment, words, underWay } = await aRefresh(["config", "get"], 1_000);
    const child = startKit(environment, words);
    const ended = once(child, "close");
    await underWay();
    child.kill("SIGINT");
    await sleep(2);
    child.kill("SIGINT");
    expect(await ended).toEqual([null, "SIGINT"]);
    expect(await generation(uuid)).toBe(2);
    expect(await world.service.services.platformFor(uuid).addons.own()).toMatchObject({ id: uuid });
  });

  it("lets a command end in order that can say what is left; of two in a moment, npm sent one", async () => {
    const { uuid, environment, words, underWay } = await aRefresh(["tokens", "refresh"], 500);
    const { signal, ended } = runningKit(environment, words);
    await underWay();
    signal("SIGINT");
    signal("SIGINT");
    // Nothing was left to do, and nothing failed.
    expect(await ended).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("Stopping: what was sent is finished first."),
    });
    expect(await generation(uuid)).toBe(2);
  });

  it.each([
    ["config", "get", [null, "SIGINT"]],
    ["tokens", "refresh", [null, "SIGINT"]],
  ] as const)("stops a command at once when it comes again: kit %s %s", async (noun, verb, how) => {
    const { uuid, environment, words, underWay } = await aRefresh([noun, verb], 6_000);
    const child = startKit(environment, words);
    const ended = once(child, "close");
    await underWay();
    child.kill("SIGINT");
    // On a loaded machine it may take the first signal late, and then the second for the same.
    await once(child.stderr!, "data");
    await sleep(LATER_MS);
    child.kill("SIGINT");
    expect(await ended).toEqual(how);
    expect(await generation(uuid)).toBe(1);
  });

  // The effect of a dropped connection: the shell sends SIGHUP, and nobody reads the output.
  it.each([
    ["config", "get", [null, "SIGHUP"]],
    ["tokens", "refresh", [0, null]],
  ] as const)(
    "lets the token be stored first when the terminal was closed: kit %s %s",
    async (noun, verb, how) => {
      const { uuid, environment, words, underWay } = await aRefresh([noun, verb], 2_000);
      const child = startKit(environment, words);
      const ended = once(child, "close");
      await underWay();
      child.stdout!.destroy();
      child.stderr!.destroy();
      child.kill("SIGHUP");
      await sleep(LATER_MS);
      // The kernel and the shell both send SIGHUP, at different times: that is not a second request to stop.
      child.kill("SIGHUP");
      expect(await ended).toEqual(how);
      expect(await generation(uuid)).toBe(2);
    },
  );
});

async function generation(uuid: string): Promise<number> {
  const found = `SELECT generation FROM credentials WHERE uuid = $1`;
  return (await world.rows<{ generation: number }>(found, [uuid]))[0]!.generation;
}

/** A command that refreshes a token, which takes this long; `underWay` resolves once the token endpoint is called. */
async function aRefresh(words: readonly string[], delayMs: number) {
  const uuid = await world.settled();
  // From now on each refresh brings a refresh token in place of the one before.
  world.sandbox.control.settings({ refreshToken: "new" });
  await world.rows(`UPDATE credentials SET expires_at = now() WHERE uuid = $1`, [uuid]);
  world.sandbox.control.fault("POST /oauth/token", { delayMs }, 1);
  const isSent = `SELECT 1 FROM credentials WHERE sent_at IS NOT NULL AND uuid = $1`;
  return {
    uuid,
    environment: world.environment,
    words: [...words, uuid],
    underWay: () => eventually(async () => (await world.rows(isSent, [uuid])).length === 1),
  };
}
