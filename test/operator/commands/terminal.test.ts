// Output on a real terminal, and output in a script, which has no terminal.

import { aWorld, opened } from "../../support/world.ts";
import { kit, kitJson } from "../../support/kit.ts";
import { teapots } from "../../support/teapots/index.ts";
import { onTerminal } from "../../support/terminal.ts";

const UNKNOWN = "01234567-89ab-cdef-0123-456789abcdef";
const COLOURED = "\u001b[";

let uuids: string[];
const world = opened(() => aWorld({ environment: { WEB_JOBS: "off" } }));
beforeAll(async () => {
  uuids = await world.installed(5);
});
afterEach(() => world.sandbox.control.clearFaults());

/** Makes the platform unreachable for this one command. */
const platformAway = () => ({
  ...world.environment,
  PLATFORM_API_URL: "http://127.0.0.1:1",
  PLATFORM_AUTH_URL: "http://127.0.0.1:1",
  PLATFORM_STATUS_URL: "http://127.0.0.1:1",
});

const widest = (text: string) => Math.max(...text.split("\n").map((line) => [...line].length));

describe("the progress bar of a long command", () => {
  it("is an activity message when no total is known, and the terminal stays unchanged", async () => {
    world.sandbox.control.fault("GET /addons/*", { delayMs: 1_300 });
    const { code, sent, screen } = await onTerminal(world.environment, ["apps", uuids[0]!]).ended();
    expect(code).toBe(0);
    expect(sent).toContain("Working · ");
    expect(sent).not.toContain("0 of ");
    // Hidden cursors and lines that are cut would stay after a Ctrl-C.
    expect(sent).not.toMatch(/\[\?/);
    expect(screen[0]).toMatch(/^Installed on /);
  });

  it("is not shown without a terminal", async () => {
    world.sandbox.control.fault("GET /addons/*", { delayMs: 1_200 });
    expect(await kit(world.environment, ["apps", uuids[0]!])).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("failures of a bulk command", () => {
  it("are printed once with the affected resources and advice, in 80 columns; the log repeats few of them", async () => {
    const { code, stdout, stderr } = await kit(platformAway(), ["tokens", "refresh", "--all"]);
    expect(code).toBe(1);
    for (const uuid of uuids) expect(stdout).toContain(`✗ ${uuid}\n`);
    expect(stdout.match(/could not be sent/g)).toHaveLength(1);
    expect(stdout).toContain("Is the platform reachable from here? kit doctor tries.");
    expect(stderr.match(/^warn: A token could not be refreshed yet/gm)).toHaveLength(2);
    expect(stderr.replace(/\s+/g, " ")).toContain("; 4 lines like it left out");
    expect(widest(stdout + stderr)).toBeLessThanOrEqual(80);
  });

  it("are printed in the same way for config vars that could not be compared", async () => {
    const { code, stdout } = await kit(platformAway(), ["config", "diff", "--all"]);
    expect(code).toBe(1);
    expect(stdout).toContain("GET http://127.0.0.1:1/addons/UUID/config could not be sent");
    expect(stdout).toContain("0 compared, 0 different, 5 failed, 0 skipped.\nIs the platform reachable");
    expect(widest(stdout)).toBeLessThanOrEqual(80);
  });
});

describe("kit resources erase", () => {
  it("asks at a terminal, and changes nothing without a yes", async () => {
    const terminal = onTerminal(world.environment, ["resources", "erase", uuids[4]!]);
    await terminal.type("n\r", /\(y\/N\) /);
    const { code, screen } = await terminal.ended();
    expect(code).toBe(1);
    expect(screen[0]).toBe(`${uuids[4]}:`);
    const about = screen.slice(1, -2);
    expect(about.join(" ").replace(/\s+/g, " ")).toMatch(
      /^ plan basic, provisioned, credential active .+, on \S+, us, \d+ \w+ old/,
    );
    expect(Math.max(...about.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(screen.slice(-2)).toEqual(["Erase it for good? (y/N) n", "✗ Nothing was changed."]);
    const { data } = await kitJson(world.environment, ["resources", "show", uuids[4]!]);
    expect(data).toMatchObject({ state: "provisioned", credential: { state: "active" } });
  });

  it.each([
    ["Enter alone", "\r"],
    ["a word that only begins like a yes", "yesterday\r"],
    ["Ctrl-D", "\u0004"],
    ["Ctrl-C", "\u0003"],
  ])("treats %s as a no", async (_, typed) => {
    const terminal = onTerminal(world.environment, ["resources", "erase", uuids[4]!]);
    await terminal.type(typed, /\(y\/N\) /);
    const { code, sent } = await terminal.ended();
    expect(code).toBe(1);
    expect(sent).toContain("Nothing was changed.");
    const { data } = await kitJson(world.environment, ["resources", "show", uuids[4]!]);
    expect(data).toMatchObject({ state: "provisioned" });
  });

  it("requires --yes in a script", async () => {
    const { code, data } = await kitJson(world.environment, ["resources", "erase", uuids[4]!]);
    const message = expect.stringContaining("--yes");
    expect({ code, data }).toEqual({ code: 2, data: { id: "used_wrongly", message } });
    const shown = await kitJson(world.environment, ["resources", "show", uuids[4]!]);
    expect(shown.data).toMatchObject({ state: "provisioned" });
  });

  it("erases after a yes", async () => {
    const terminal = onTerminal(world.environment, ["resources", "erase", uuids[4]!]);
    await terminal.type("y\r", /\(y\/N\) /);
    const { code, screen } = await terminal.ended();
    expect({ code, last: screen.at(-1) }).toEqual({
      code: 0,
      last: `Erased ${uuids[4]}. Its uuid can never live again.`,
    });
    const { data } = await kitJson(world.environment, ["resources", "show", uuids[4]!]);
    expect(data).toMatchObject({ state: "deprovisioned", credential: { state: "erased" } });
  });
});

it.each([
  ["Ctrl-C", "\u0003", ["secret", "set"]],
  ["Ctrl-D", "\u0004", ["secret", "set"]],
  ["Ctrl-C", "\u0003", ["authorizations", "revoke", "some-id"]],
])("the prompt for a secret is cancelled with %s, and nothing changes", async (_, typed, words) => {
  const terminal = onTerminal(world.environment, words);
  await terminal.type(typed, /\(not shown\): /);
  const { code, screen } = await terminal.ended();
  expect({ code, screen }).toEqual({
    code: 1,
    screen: [expect.stringMatching(/\(not shown\): $/), "✗ Nothing was changed."],
  });
});

describe("a config var with control characters", () => {
  const value = "one\u001b]0;title\u0007\u001b[2J\u009b31m\ntwo\tthree\u202e";
  const written = "one\\u001b]0;title\\u0007\\u001b[2J\\u009b31m\\ntwo\\tthree\\u202e";
  const get = () => ["config", "get", uuids[2]!, "--reveal"];
  beforeAll(() =>
    world.service.services.platformFor(uuids[2]!).config.update([{ name: "TEAPOT_TOKEN", value }]),
  );

  it("is escaped on a terminal, and unchanged in a script", async () => {
    const { sent } = await onTerminal(world.environment, get()).ended();
    expect(sent).toContain(`TEAPOT_TOKEN=${written}\r\nTEAPOT_URL=`);
    const piped = await kit(world.environment, get());
    expect(piped.stdout).toContain(`TEAPOT_TOKEN=${value}\nTEAPOT_URL=`);
  });

  it("is escaped in config diff and config push too", async () => {
    for (const command of ["diff", "push"]) {
      const terminal = onTerminal(world.environment, ["config", command, uuids[2]!, "--reveal"]);
      expect((await terminal.ended()).sent).toContain(written);
    }
  });

  it("is escaped as JSON", async () => {
    const { sent } = await onTerminal(world.environment, [...get(), "--json"]).ended();
    const [token] = JSON.parse(sent) as { value: string }[];
    expect(token).toEqual({ name: "TEAPOT_TOKEN", value });
    for (const acting of ["\u001b", "\u009b", "\u202e"]) expect(sent).not.toContain(acting);
    const call = ["api", "GET", `/addons/${uuids[2]}/config`, "--resource", uuids[2]!, "--reveal"];
    expect((await onTerminal(world.environment, call).ended()).sent).toContain("\\u009b31m");
  });
});

it.each([
  { what: "shows what it did", words: () => [uuids[0]!], code: 3, shows: /^1 refreshed/m },
  { what: "prints one JSON document", words: () => [uuids[0]!, "--json"], code: 3, shows: /^\{"done":\["/ },
  {
    what: "that failed keeps its code",
    words: () => [UNKNOWN, "--json"],
    code: 1,
    shows: /^\{"done":\[\],/,
  },
])(
  "a command after which the vendor's service cannot be closed $what, and says so afterwards",
  async ({ words, code, shows }) => {
    const { addonPassword } = world.sandbox.settings;
    const close = () => Promise.reject(new Error(`The door of ${addonPassword} is stuck.`));
    const vendor = { ...teapots, close };
    const said = await kit(world.environment, ["tokens", "refresh", ...words()], "", { vendor });
    expect(said).toEqual({
      code,
      stdout: expect.stringMatching(shows),
      stderr: expect.stringContaining(
        "✗ Something could not be closed at the end: The door of [secret] is stuck.",
      ),
    });
  },
);

describe("colours", () => {
  it("are used on a terminal only, unless NO_COLOR or TERM=dumb", async () => {
    expect((await onTerminal({}, ["teapots"]).ended()).sent).toContain(COLOURED);
    expect((await kit({}, ["teapots"])).stderr).not.toContain(COLOURED);
    for (const plain of [{ NO_COLOR: "1" }, { TERM: "dumb" }])
      expect((await onTerminal(plain, ["teapots"]).ended()).sent).not.toContain(COLOURED);
  });

  it("are used with FORCE_COLOR, but never in JSON", async () => {
    expect((await kit({ FORCE_COLOR: "1" }, ["teapots"])).stderr).toContain(COLOURED);
    const json = await kit({ FORCE_COLOR: "1" }, ["teapots", "--json"]);
    expect(json.stdout + json.stderr).not.toContain(COLOURED);
  });
});
