import { type Command, CommanderError, Help, type OutputConfiguration } from "commander";
import { build, buildText } from "../../version.ts";
import { addAction, addAudit, addBulk } from "./actions.ts";
import { addAfterRestore } from "./after-restore.ts";
import { addConfig } from "./config.ts";
import { addKeys, addSecret } from "./credentials.ts";
import { addDoctor, addMigrate } from "./doctor.ts";
import { addEvents } from "./events.ts";
import { type Host, paintOf } from "./host.ts";
import { addLost } from "./lost.ts";
import { addManifest } from "./manifest.ts";
import { DONE, failureOf, jsonText, type Outcome } from "./outcome.ts";
import { addApi, addApps, addAuthorizations, addStatus } from "./platform.ts";
import { addProcesses } from "./processes.ts";
import { addReconcile } from "./reconcile.ts";
import { addResources } from "./resources.ts";
import { type Act, createSession, KitCommand, type Seller, YOURS } from "./session.ts";

const COMMANDS = [
  addDoctor,
  addMigrate,
  addProcesses,
  addResources,
  addEvents,
  addReconcile,
  addAfterRestore,
  addLost,
  addBulk,
  addSecret,
  addKeys,
  addApps,
  addConfig,
  addAction,
  addApi,
  addAuthorizations,
  addStatus,
  addAudit,
  addManifest,
];

/** The command line as a commander program, which never exits the process. */
export function createProgram(act: Act, output: OutputConfiguration = {}): KitCommand {
  const program = new KitCommand(act, "kit")
    .description("The operator's command line: what the service keeps, and what you can do about it.")
    .option("--json", "print one JSON document and nothing else")
    .version(buildText, "--version", "print the version, the commit that was built, and Node's version")
    .configureHelp({ showGlobalOptions: true, subcommandTerm: termOf })
    .exitOverride()
    .configureOutput(output)
    .addHelpText("after", ENDING);
  for (const add of COMMANDS) add(program);
  return program;
}

/** A command as it is typed; a group lists its subcommands, so that nobody has to open each one's help. */
function termOf(command: Command): string {
  const inner = command.commands.map((each) => each.name()).join("|");
  return inner ? `${command.name()} ${inner}` : new Help().subcommandTerm(command);
}

const ENDING = `
Often wanted:
  $ kit doctor                               is all well, and what is to do?
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
  const program = createProgram(act, {
    writeOut: (text) => (help += text),
    writeErr: (text) => (help += text),
    // A failure is shown like any other.
    outputError: () => undefined,
  });
  try {
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
  const { data, show, isComplaint, isWritten = false, exitCode = DONE } = outcome;
  if (isWritten) return exitCode;
  const stream = isComplaint && !json ? "stderr" : "stdout";
  host[stream].write(`${json ? jsonText(data) : show(paintOf(host, stream))}\n`);
  return exitCode;
}
