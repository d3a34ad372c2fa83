// Output on a real terminal, and output in a script, which has no terminal.

import { kit, kitJson } from "../../support/kit.ts";
import { teapots } from "../../support/teapots/index.ts";
import { onTerminal } from "../../support/terminal.ts";
import { aWorld, opened } from "../../support/world.ts";

const COLOURED = "\u001b[";

let uuids: string[];
const world = opened(() => aWorld({ environment: { WEB_JOBS: "off" } }));
beforeAll(async () => {
  uuids = await world.installed(5);
});
afterEach(() => world.sandbox.control.clearFaults());

it("a long command of which no total is known says that it works, on a terminal only, which stays unchanged", async () => {
  // Two calls of either command.
  world.sandbox.control.fault("GET /addons/*", { delayMs: 1_300 }, 4);
  const words = ["apps", uuids[0]!];
  const terminal = onTerminal(world.environment, words);
  expect(await kit(world.environment, words)).toMatchObject({ code: 0, stderr: "" });
  const { code, sent, screen } = await terminal.ended();
  expect(code).toBe(0);
  expect(sent).toContain("Working · ");
  expect(sent).not.toContain("0 of ");
  // Hidden cursors and lines that are cut would stay after a Ctrl-C.
  expect(sent).not.toMatch(/\[\?/);
  expect(screen[0]).toMatch(/^Installed on /);
});

it("failures of a bulk command are printed with their resources", async () => {
  world.sandbox.control.fault("POST /oauth/token", { status: 503 }, 5);
  const { code, stdout } = await kit(world.environment, ["tokens", "refresh", "--all"]);
  expect(code).toBe(1);
  for (const uuid of uuids) expect(stdout).toMatch(new RegExp(`^✗ ${uuid} {2}.*503`, "m"));
});

describe("kit resources erase", () => {
  async function asked(typed: string) {
    const terminal = onTerminal(world.environment, ["resources", "erase", uuids[4]!]);
    await terminal.type(typed, /\(y\/N\) /);
    const { code, screen } = await terminal.ended();
    const { data } = await kitJson(world.environment, ["resources", "show", uuids[4]!]);
    return { code, screen: screen.join(" "), state: data["state"] };
  }

  it.each([
    ["Enter alone", "\r"],
    ["a word that only begins like a yes", "yesterday\r"],
    ["Ctrl-D", "\u0004"],
    ["Ctrl-C", "\u0003"],
  ])("shows the resource at a terminal and asks; %s is a no", async (_, typed) => {
    const shown = new RegExp(`${uuids[4]} +basic +provisioned +active.*Nothing was changed\\.$`);
    const screen = expect.stringMatching(shown);
    expect(await asked(typed)).toEqual({ code: 1, screen, state: "provisioned" });
  });

  it("erases after a yes", async () => {
    expect(await asked("y\r")).toMatchObject({ code: 0, state: "deprovisioned" });
  });
});

it.each([
  ["Ctrl-C", "\u0003"],
  ["Ctrl-D", "\u0004"],
])("the prompt for a secret is cancelled with %s, and nothing changes", async (_, typed) => {
  const terminal = onTerminal(world.environment, ["secret", "set"]);
  await terminal.type(typed, /\(not shown\): /);
  const { code, screen } = await terminal.ended();
  expect({ code, screen }).toEqual({
    code: 1,
    screen: [expect.stringMatching(/\(not shown\): $/), "✗ Nothing was changed."],
  });
});

describe("a config var with control characters", () => {
  const value = "one\u001b]0;title\u0007\u001b[2J\u009b31m\ntwo\tthree\u202e";
  const written = "one\\u001b]0;title\\u0007\\u001b[2J\\u009b31m\\u000atwo\\u0009three\\u202e";
  const get = () => ["config", "get", uuids[2]!, "--reveal"];
  beforeAll(() =>
    world.service.services.platformFor(uuids[2]!).config.update([{ name: "TEAPOT_TOKEN", value }]),
  );

  it("is escaped", async () => {
    const { sent } = await onTerminal(world.environment, get()).ended();
    expect(sent).toContain(`TEAPOT_TOKEN=${written}\r\nTEAPOT_URL=`);
  });

  it("is escaped in config diff and config push too", async () => {
    const diff = onTerminal(world.environment, ["config", "diff", uuids[2]!, "--reveal"]);
    expect((await diff.ended()).sent).toContain(written);
    const push = onTerminal(world.environment, ["config", "push", uuids[2]!, "--reveal"]);
    await push.type("n\r", /\(y\/N\) /);
    expect((await push.ended()).sent).toContain(written);
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

it("a command after which the vendor's service cannot be closed keeps its outcome, and says so afterwards", async () => {
  const { addonPassword } = world.sandbox.settings;
  const close = () => Promise.reject(new Error(`The door of ${addonPassword} is stuck.`));
  const vendor = { ...teapots, close };
  expect(await kit(world.environment, ["tokens", "refresh", uuids[0]!, "--json"], "", { vendor })).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^\{"done":\["/),
    stderr: expect.stringContaining(
      "! Something could not be closed at the end: The door of [secret] is stuck.",
    ),
  });
});

describe("colours", () => {
  it("are used on a terminal only, unless NO_COLOR or TERM=dumb", async () => {
    expect((await onTerminal({}, ["teapots"]).ended()).sent).toContain(COLOURED);
    for (const plain of [{ NO_COLOR: "1" }, { TERM: "dumb" }])
      expect((await onTerminal(plain, ["teapots"]).ended()).sent).not.toContain(COLOURED);
  });

  it("are used with FORCE_COLOR, but never in JSON", async () => {
    expect((await kit({ FORCE_COLOR: "1" }, ["teapots"])).stderr).toContain(COLOURED);
    const json = await kit({ FORCE_COLOR: "1" }, ["teapots", "--json"]);
    expect(json.stdout + json.stderr).not.toContain(COLOURED);
  });
});
