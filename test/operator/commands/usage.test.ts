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
    expect(help).toContain("Often wanted:\n  $ kit doctor");
    expect(help).toContain("\nExit codes: 0 done, 1 failed, 2 used wrongly, 78 misconfigured.\n");
  });

  it.each([["kit itself", program] as [string, Command], ...commands])(
    "fits 80 columns, with an example and an explanation of the arguments: %s",
    (words, command) => {
      const help = helpOf(command);
      expect(help.split("\n").filter((line) => line.length > 80)).toEqual([]);
      if (command === program) return;
      expect(help).toMatch(new RegExp(`\nExamples?:\n {2}\\$ kit ${words}`));
      for (const { description } of [...command.registeredArguments, ...command.options])
        expect(description).toMatch(/\w/);
    },
  );
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
    const { version, commit, node } = build;
    expect(await kit({}, ["--version"])).toMatchObject({ code: 0, stdout: `${buildText}\n`, stderr: "" });
    expect(await kitJson({}, ["--version"])).toMatchObject({ code: 0, data: { version, commit, node } });
  });

  it("takes words after -- as arguments, even --json", async () => {
    const { code, stdout, stderr } = await kit({}, ["teapots", "--", "--json"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^✗ unknown command 'teapots'/);
  });

  it("prints help as one JSON document with --json", async () => {
    const { code, data } = await kitJson({}, ["resources", "list", "--help"]);
    expect({ code, data }).toEqual({ code: 0, data: { help: expect.stringMatching(/^Usage: /) } });
    expect(data["help"]).toContain("grant_lost");
  });

  it("suggests a similar command in a sentence", async () => {
    const { data } = await kitJson({}, ["tokens", "refesh"]);
    expect(data["message"]).toBe("unknown command 'refesh'\n(Did you mean refresh?)");
    const { stderr } = await kit({}, ["resources", "list", "--sate", "failed"]);
    expect(stderr).toBe("✗ unknown option '--sate'\n  (Did you mean --state?)\n");
  });

  it("says when a database cannot be migrated", async () => {
    const away = { DATABASE_URL: "postgresql://nobody@127.0.0.1:1/none" };
    const { code, stderr } = await kit(away, ["migrate"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^✗ The database does not answer: /);
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
    ["data that is no JSON", ["api", "POST", "/apps", "--resource", UUID, "--data", "{"]],
    ["an empty secret", ["secret", "set"]],
  ])("reports a usage error for %s", async (_, words) => {
    const { code, data } = await kitJson({}, words, "\n");
    expect(code).toBe(2);
    expect(data).toEqual({ id: "used_wrongly", message: expect.any(String) });
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

  it("reports faulty settings in kit doctor too", async () => {
    const { code, data } = await kitJson<{ ok: boolean; checks: object[] }>({}, ["doctor"]);
    expect(code).toBe(78);
    expect(data).toMatchObject({
      ok: false,
      checks: expect.arrayContaining([
        expect.objectContaining({ id: "settings", ok: false, fix: expect.any(String) }),
      ]),
      failed: 1,
    });
  });
});
