import type { Command } from "commander";
import { createProgram } from "../../../src/operator/commands/program.ts";
import { build, buildText } from "../../../src/version.ts";
import { kit, kitJson } from "../../support/kit.ts";

const UUID = "01234567-89ab-cdef-0123-456789abcdef";

/** The words of every command that does something. */
function commandsIn(command: Command, words: string[] = []): string[] {
  const inner = command.commands.flatMap((each) => commandsIn(each, [...words, each.name()]));
  return command.commands.length > 0 ? inner : [words.join(" ")];
}

it("kit --help lists all commands", async () => {
  const { stdout } = await kit({}, ["--help"]);
  for (const words of commandsIn(createProgram(() => () => Promise.resolve()))) {
    const [group, inner] = words.split(" ");
    expect(stdout).toMatch(inner ? new RegExp(`^ {2}${group} (\\S+\\|)?${inner}\\b`, "m") : `\n  ${group}`);
  }
});

describe("kit without any settings", () => {
  it("prints its version", async () => {
    expect(await kit({}, ["--version"])).toMatchObject({ code: 0, stdout: `${buildText}\n`, stderr: "" });
    expect(await kitJson({}, ["--version"])).toEqual({ code: 0, data: { ...build } });
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
    ["an empty secret", ["secret", "set"]],
    ["a day that is none", ["status", "--since", "yesterday"]],
    ["no page at all", ["status", "--per-page", "0"]],
    ["an incident and a day", ["status", "--incident", "7", "--since", "2026-01-31"]],
    ["an environment that is none", ["manifest", "resolve", "app.json", "--environment", "production"]],
    ["a token as an argument", ["authorizations", "create", "SVCK-x", "--description", "x", "--scope", "x"]],
    ["no scope", ["authorizations", "create", "--description", "x"]],
    ["an empty scope", ["authorizations", "create", "--description", "x", "--scope", ""]],
    ["a place in the audit trail that is none", ["audit", "--after", "x"]],
  ])("reports a usage error for %s", async (_, words) => {
    const { code, data } = await kitJson({}, words, "\n");
    expect({ code, data }).toEqual({ code: 2, data: { id: "used_wrongly", message: expect.any(String) } });
  });

  it("does not accept a file as a client secret", async () => {
    const message = expect.stringContaining("more than 4096 bytes");
    expect(await kitJson({}, ["secret", "set"], "x".repeat(5_000))).toMatchObject({
      code: 2,
      data: { message },
    });
  });

  it("names every missing setting, without values", async () => {
    const { code, stderr, stdout } = await kit({ ADDON_PASSWORD: "pass\u0007word" }, ["apps", UUID]);
    expect({ code, stdout }).toEqual({ code: 78, stdout: "" });
    expect(stderr).toContain("ADDON_ID is required");
    expect(stderr).toContain("ADDON_PASSWORD must be one line");
    expect(stderr).not.toContain("word\n");
  });
});
