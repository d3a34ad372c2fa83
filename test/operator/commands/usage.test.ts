import type { Command } from "commander";
import { createProgram } from "../../../src/operator/commands/program.ts";
import { build, buildText } from "../../../src/version.ts";
import { kit, kitJson, runningKit } from "../../support/kit.ts";

const UUID = "01234567-89ab-cdef-0123-456789abcdef";

/** Every command that does something, with the words that name it. */
function commandsIn(command: Command, words: string[] = []): [string, Command][] {
  const inner = command.commands.flatMap((each) => commandsIn(each, [...words, each.name()]));
  return command.commands.length > 0 ? inner : [[words.join(" "), command]];
}

/** The help in 80 columns. */
function helpOf(command: Command): string {
  let shown = "";
  command.configureOutput({ writeOut: (text) => (shown += text), getOutHelpWidth: () => 80 });
  command.outputHelp();
  return shown;
}

describe("kit --help", () => {
  const program = createProgram(() => () => Promise.resolve());
  const commands = commandsIn(program);

  it("lists all commands on one screen", () => {
    const help = helpOf(program);
    for (const [words] of commands) {
      const [group, inner] = words.split(" ");
      expect(help).toMatch(inner ? new RegExp(`^ {2}${group} (\\S+\\|)?${inner}\\b`, "m") : `\n  ${group}`);
    }
  });

  it.each([["kit", program] as [string, Command], ...commands])("of %s fits 80 columns", (_, command) => {
    expect(
      helpOf(command)
        .split("\n")
        .filter((line) => line.length > 80),
    ).toEqual([]);
  });
});

describe("kit without any settings", () => {
  it("prints the help of a command, and of a group", async () => {
    for (const words of [["tokens"], ["tokens", "refresh"]]) {
      const asked = await kit({}, ["help", ...words]);
      expect(asked).toEqual(await kit({}, [...words, "--help"]));
      expect(asked.stdout.startsWith(`Usage: kit ${words.join(" ")} `)).toBe(true);
    }
  });

  it("prints its version", async () => {
    expect(await kit({}, ["--version"])).toMatchObject({ code: 0, stdout: `${buildText}\n`, stderr: "" });
    expect(await kitJson({}, ["--version"])).toEqual({ code: 0, data: { ...build } });
  });

  it("takes words after -- as arguments, even --json", async () => {
    const { code, stdout, stderr } = await kit({}, ["teapots", "--", "--json"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^✗ unknown command 'teapots'/);
  });

  it("prints help as one JSON document with --json", async () => {
    const { code, data } = await kitJson({}, ["resources", "list", "--help"]);
    expect({ code, data }).toEqual({ code: 0, data: { help: expect.stringMatching(/^Usage: /) } });
  });

  it("says when a database cannot be migrated", async () => {
    const away = { DATABASE_URL: "postgresql://nobody@127.0.0.1:1/none" };
    expect(await kitJson(away, ["migrate"])).toMatchObject({ code: 1, data: { id: "database_unavailable" } });
  });

  it.each([[[]], [["tokens"]]])("prints usage when the command is missing: %j", async (words) => {
    const { code, stdout, stderr } = await kit({}, words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^Usage: kit/);
  });

  it.each([
    ["no command", []],
    ["an unknown command", ["teapots"]],
    ["an unknown option", ["resources", "list", "--colour"]],
    ["a uuid that is none", ["resources", "show", "teapot"]],
    ["a missing argument", ["apps"]],
    ["neither uuids nor --all", ["tokens", "refresh"]],
    ["both uuids and --all", ["grants", "recover", UUID, "--all"]],
    ["a config var without a value", ["config", "set", UUID, "TEAPOT_URL"]],
    ["nothing to set", ["config", "set", UUID]],
    ["no resource to ask for", ["api", "GET", "/apps"]],
    ["a method that is none", ["api", "BREW", "/addons", "--resource", UUID]],
    ["a GET with a body", ["api", "GET", "/apps", "--resource", UUID, "--data", "{}"]],
    ["data that is no JSON", ["api", "POST", "/apps", "--resource", UUID, "--data", "{"]],
    ["an empty secret", ["secret", "set"]],
    ["a day that is none", ["status", "--since", "yesterday"]],
    ["no page at all", ["status", "--per-page", "0"]],
    ["an incident and a day", ["status", "--incident", "7", "--since", "2026-01-31"]],
    ["an environment that is none", ["manifest", "resolve", "app.json", "--environment", "production"]],
    ["a token as an argument", ["authorizations", "create", "SVCK-x", "--description", "x", "--scope", "x"]],
    ["no scope", ["authorizations", "create", "--description", "x"]],
    ["an empty scope", ["authorizations", "create", "--description", "x", "--scope", " , "]],
    ["an empty description", ["authorizations", "create", "--description", " ", "--scope", "read"]],
    ["a place in the audit trail that is none", ["audit", "--after", "x"]],
  ])("reports a usage error for %s", async (_, words) => {
    const { code, data } = await kitJson({}, words, "\n");
    expect({ code, data }).toEqual({ code: 2, data: { id: "used_wrongly", message: expect.any(String) } });
  });

  it("does not accept a file as a client secret", async () => {
    const { stdin, ended } = runningKit({}, ["secret", "set", "--json"]);
    // The input never ends: input that is too long is refused before its end.
    stdin.write(Buffer.alloc(5_000_000));
    const { code, stdout } = await ended;
    expect({ code, data: JSON.parse(stdout) }).toEqual({
      code: 2,
      data: { id: "used_wrongly", message: expect.stringContaining("more than 4096 bytes") },
    });
  });

  it("names every missing setting, without values", async () => {
    const { code, stderr, stdout } = await kit({ ADDON_PASSWORD: "pass\u0007word" }, ["apps", UUID]);
    expect({ code, stdout }).toEqual({ code: 78, stdout: "" });
    expect(stderr).toContain("ADDON_ID is required");
    expect(stderr).toContain("ADDON_PASSWORD must not contain control characters");
    expect(stderr).not.toContain("word\n");
  });
});
