// The progress bar of each bulk command: what it counts, and what is left on the screen afterwards.

import { randomBytes } from "node:crypto";
import { aWorld, eventually, opened } from "../../support/world.ts";
import { kit, kitJson, runningKit } from "../../support/kit.ts";
import { onTerminal } from "../../support/terminal.ts";

const CTRL_C = "\u0003";
const STOPPING = /^(\^C)?Stopping: what was sent is finished first\. Ctrl-C again stops at once\.$/;

let uuids: string[];
const world = opened(() => aWorld({ environment: { WEB_JOBS: "off" } }));
beforeAll(async () => {
  uuids = await world.installed(5);
});
afterEach(() => world.sandbox.control.clearFaults());

/** One after the other, so that the progress is visible. */
const slowly = () => ({ ...world.environment, TOKEN_CONCURRENCY: "1" });
const slow = (calls: string, delayMs = 500) => world.sandbox.control.fault(calls, { delayMs }, 100);

describe("kit secret set with a progress bar", () => {
  /** Resets the secret as the portal does, and types the new one. */
  async function typed() {
    const { secret } = world.sandbox.control.resetClientSecret();
    slow("POST /oauth/token");
    const terminal = onTerminal(slowly(), ["secret", "set"]);
    await terminal.type(`${secret}\r`, /The new client secret \(not shown\): /);
    return { terminal, secret };
  }

  it("counts the refreshed tokens, and leaves neither bar nor secret on the screen", async () => {
    const { terminal, secret } = await typed();
    const { code, sent, screen } = await terminal.ended();
    expect(code).toBe(0);
    expect(sent).toMatch(/█░+ [1-4] of 5 · \d+s/);
    expect(sent).not.toContain(secret);
    expect(screen).toEqual([
      "The new client secret (not shown): ",
      expect.stringMatching(/^The client secret is version \d now\. 5 of 5 tokens refreshed\.$/),
    ]);
  });

  it("when it is stopped says how many are refreshed, and that the service refreshes the rest", async () => {
    const { terminal, secret } = await typed();
    await terminal.type(CTRL_C, /░ [12] of 5 ·/);
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

it("a bulk command that is stopped in a script says in one JSON document how many resources are left", async () => {
  const since = world.sandbox.control.ledger({}).next;
  slow("POST /oauth/token", 200);
  const { signal, ended } = runningKit(slowly(), ["tokens", "refresh", "--all", "--json"]);
  await eventually(() => world.sandbox.control.ledger({ since }).entries.length > 1);
  signal("SIGINT");
  const { code, stdout } = await ended;
  const data = JSON.parse(stdout) as { done: unknown[]; left: number };
  expect({ code, data }).toMatchObject({ code: 1, data: { failed: [], skipped: [] } });
  expect(data.done.length).toBeLessThan(5);
  expect(data.left).toBeGreaterThan(0);
});

describe("kit keys reseal with a progress bar", () => {
  const key = randomBytes(24).toString("hex");
  const rotated = () => ({
    ...world.environment,
    ...{ ENCRYPTION_KEY: key, DECRYPTION_KEYS: world.environment["ENCRYPTION_KEY"]! },
  });
  const reseal = () => onTerminal(rotated(), ["keys", "reseal"]);

  /** A locked row is tried repeatedly. */
  beforeAll(() =>
    world.rows(`CREATE FUNCTION leave_alone() RETURNS trigger AS 'BEGIN RETURN NULL; END' LANGUAGE plpgsql`),
  );
  const holdOne = () =>
    world.rows(
      `CREATE TRIGGER busy BEFORE UPDATE ON credentials FOR EACH ROW WHEN (OLD.uuid = '${uuids[0]}') EXECUTE FUNCTION leave_alone()`,
    );
  const letGo = () => world.rows(`DROP TRIGGER IF EXISTS busy ON credentials`);
  afterEach(letGo);

  it("counts the rows, and when it is stopped says what is left", async () => {
    await holdOne();
    const terminal = reseal();
    await terminal.type(CTRL_C, /█ 10 of 10 · \d+s/);
    const { code, screen } = await terminal.ended();
    expect(code).toBe(1);
    expect(screen[0]).toMatch(STOPPING);
    expect(screen.join(" ")).toContain("older keys still seal some");
  });

  it("exits with 1 when a row stays locked, and says that an older key is still needed", async () => {
    await holdOne();
    const { code, stdout, stderr } = await kit(rotated(), ["keys", "reseal"]);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(stdout.replace(/\s+/g, " ")).toMatch(/ older keys still seal some: .* kit keys reseal $/);
  });
});
