import { readFileSync } from "node:fs";
import { type Argument, type Command, CommanderError, type OutputConfiguration } from "commander";
import { build, buildText } from "../../version.ts";
import { type Host, paintOf } from "./host.ts";
import { DONE, failureOf, jsonText, type Outcome } from "./outcome.ts";
import { type Act, createSession, KitCommand, type Seller, YOURS } from "./session.ts";
import { wrapped } from "./wrap.ts";

type Add = (program: KitCommand) => void;

/** The commands in the order of the help, and what adds them: of a command that is called, only its own file is loaded. */
const COMMANDS: readonly (readonly [names: string, load: () => Promise<Add>])[] = [
  ["doctor", async () => (await import("./doctor.ts")).addDoctor],
  ["stats", async () => (await import("./stats.ts")).addStats],
  ["migrate", async () => (await import("./migrate.ts")).addMigrate],
  ["processes", async () => (await import("./processes.ts")).addProcesses],
  ["resources", async () => (await import("./resources.ts")).addResources],
  ["jobs", async () => (await import("./jobs.ts")).addJobs],
  ["events", async () => (await import("./events.ts")).addEvents],
  ["reconcile", async () => (await import("./reconcile.ts")).addReconcile],
  ["after-restore", async () => (await import("./after-restore.ts")).addAfterRestore],
  ["lost", async () => (await import("./lost.ts")).addLost],
  ["notice", async () => (await import("./notice.ts")).addNotice],
  ["steps tokens grants rotate", async () => (await import("./bulk.ts")).addBulk],
  ["suspend resume", async () => (await import("./suspension.ts")).addSuspension],
  ["secret", async () => (await import("./credentials.ts")).addSecret],
  ["keys", async () => (await import("./credentials.ts")).addKeys],
  ["apps", async () => (await import("./platform.ts")).addApps],
  ["config", async () => (await import("./config.ts")).addConfig],
  ["action", async () => (await import("./actions.ts")).addAction],
  ["api", async () => (await import("./platform.ts")).addApi],
  ["authorizations", async () => (await import("./platform.ts")).addAuthorizations],
  ["status", async () => (await import("./platform.ts")).addStatus],
  ["audit", async () => (await import("./actions.ts")).addAudit],
  ["manifest", async () => (await import("./manifest.ts")).addManifest],
];

/**
 * The command line as a commander program, which never exits the process. It has all commands, or only what `typed` calls:
 * for help, and for a word that is no command, it has them all.
 */
export async function createProgram(
  act: Act,
  typed: readonly string[] = [],
  output: OutputConfiguration = {},
): Promise<KitCommand> {
  const program = new KitCommand(act, "kit")
    .description("The operator's command line: what the service keeps, and what you can do about it.")
    .option("--json", "print one JSON document and nothing else")
    .version(buildText, "--version", "print the version, the commit that was built, and Node's version")
    // Its list of commands leaves 37 of 80 columns for what they do.
    .configureHelp({ showGlobalOptions: true, subcommandTerm: termOf, minWidthToWrap: 30 })
    .exitOverride()
    .configureOutput(output)
    .addHelpText("after", ENDING);
  const called = typed.find((word) => !word.startsWith("-"));
  const own = COMMANDS.filter(([names]) => names.split(" ").includes(called ?? ""));
  const isOfAll = own.length === 0 && !isVersion(typed);
  const listed = called === undefined && isOfAll ? readList() : null;
  if (listed) return showing(program, listed);
  for (const [, load] of isOfAll ? COMMANDS : own) (await load())(program);
  // Not in the table, because it describes all commands.
  if (isOfAll) (await import("./completion.ts")).addCompletion(program);
  return program;
}

/** What the list of all commands shows of one. */
type Listed = Readonly<Record<"name" | "term" | "description", string>>;

/** Where `npm run build` stores what {@link listCommands} returns. */
const LIST = new URL("../../kit-commands.json", import.meta.url);

/** For the build: what `kit --help` shows, so that it needs to load no command. Loads them all. */
export async function listCommands(): Promise<Listed[]> {
  const program = await createProgram(() => () => Promise.resolve(), ["help"]);
  const help = program.createHelp();
  return help
    .visibleCommands(program)
    .filter((command) => program.commands.includes(command))
    .map((command) => ({
      name: command.name(),
      term: help.subcommandTerm(command),
      description: help.subcommandDescription(command),
    }));
}

/** `null` if the code was not built: it is run from its sources. */
function readList(): Listed[] | null {
  try {
    return JSON.parse(readFileSync(LIST, "utf8")) as Listed[];
  } catch {
    return null;
  }
}

function showing(program: KitCommand, listed: readonly Listed[]): KitCommand {
  const terms = new Map(listed.map(({ name, term }) => [name, term]));
  for (const { name, description } of listed) program.command(name).description(description);
  return program.configureHelp({
    ...program.configureHelp(),
    subcommandTerm: (command) => terms.get(command.name()) ?? termOf(command),
  });
}

/** It needs no command. */
const isVersion = (typed: readonly string[]) =>
  typed.includes("--version") && typed.every((word) => ["--version", "--json"].includes(word));

/** A command as it is typed, without options; a group lists its subcommands, so that nobody has to open each one's help. */
function termOf(command: Command): string {
  const inner = command.commands.map((each) => each.name()).join("|");
  const args = command.registeredArguments.map((each) => argInTerm(each));
  return [command.name(), inner, ...args].filter(Boolean).join(" ");
}

function argInTerm(argument: Argument): string {
  const name = argument.name() + (argument.variadic ? "..." : "");
  return argument.required ? `<${name}>` : `[${name}]`;
}

const ENDING = `
Often wanted:
  $ kit doctor                               is all well, and what is to do?
  $ kit stats                                who came and went, what failed today?
  $ kit resources list --state needs_reauth  what needs somebody
  $ kit secret set < new-secret.txt          after a reset in the portal

Run it with: npm run --silent kit -- COMMAND
(where the service is deployed: node dist/kit.js COMMAND).
Settings are read from the environment and from .env, as the service reads them.
kit COMMAND --help says more.

Exit codes: 0 done, 1 failed, 2 used wrongly, 78 misconfigured.`;

export async function runKit(typed: readonly string[], host: Host, seller: Seller = YOURS): Promise<number> {
  const json = typed.includes("--json");
  let exitCode = DONE;
  const act: Act =
    (run) =>
    async (...args) => {
      const session = createSession(host, seller, typed, json);
      const outcome = await run(session, ...args).catch((error: unknown) => failureOf(error, session.scrub));
      session.endProgress();
      // First, because it may be a secret that is shown only once, and closing may fail or hang.
      exitCode = print(host, json, outcome);
      await session.end(outcome);
    };
  let help = "";
  try {
    const program = await createProgram(act, typed, {
      writeOut: (text) => (help += text),
      writeErr: (text) => (help += text),
      // A failure is shown like any other.
      outputError: () => undefined,
    });
    await program.parseAsync(typed, { from: "user" });
  } catch (error) {
    exitCode = print(host, json, ofParsing(error, help.trimEnd()));
  }
  return exitCode;
}

/** What commander threw: help or the version, or how the command was used wrongly. */
function ofParsing(error: unknown, help: string): Outcome {
  const show = () => help;
  if (error instanceof CommanderError && error.exitCode === 0)
    return { data: error.code === "commander.version" ? build : { help }, show };
  const failure = failureOf(error, String);
  if (!(error instanceof CommanderError) || error.code !== "commander.help") return failure;
  return { ...failure, data: { id: "used_wrongly", message: "A command is missing." }, show };
}

function print(host: Host, json: boolean, outcome: Outcome): number {
  const { data, show, isComplaint, isProse, isWritten = false, exitCode = DONE } = outcome;
  if (isWritten) return exitCode;
  const name = isComplaint && !json ? "stderr" : "stdout";
  const { [name]: stream } = host;
  const text = json ? jsonText(data) : show(paintOf(host, name));
  const lines = text
    .split("\n")
    .flatMap((line) => (isProse && stream.isTTY ? wrapped(line, stream.columns) : line));
  stream.write(`${lines.join("\n")}\n`);
  return exitCode;
}
