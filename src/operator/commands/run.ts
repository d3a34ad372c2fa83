import { CommanderError, type Command } from "commander";
import { build } from "../../version.ts";
import { complaint, DONE, DONE_NOT_CLOSED, failureOf, type Failure, type Outcome } from "./outcome.ts";
import { screenOf, type Host } from "./host.ts";
import { createProgram } from "./program.ts";
import { createSession, YOURS, type Act, type Seller, type Session } from "./session.ts";
import { jsonText } from "./text.ts";

/** Parses and runs one command. Answers the exit code. */
export async function runKit(typed: readonly string[], host: Host, seller: Seller = YOURS): Promise<number> {
  const end = typed.indexOf("--");
  const json = typed.slice(0, end < 0 ? typed.length : end).includes("--json");
  let exitCode = DONE;
  const act: Act =
    (run) =>
    async (...args) => {
      const session = createSession(host, seller, { command: args.at(-1) as Command, json });
      exitCode = await runCommand(session, json, () => run(session, ...args));
    };
  let help = "";
  const program = createProgram(act, {
    writeOut: (text) => (help += text),
    writeErr: (text) => (help += text),
    // A failure is shown like any other.
    outputError: () => undefined,
    getOutHelpWidth: () => screenOf(host, "stdout").columns,
    getErrHelpWidth: () => screenOf(host, "stderr").columns,
  });
  // "help tokens refresh" is "tokens refresh --help": commander's own looks one word deep.
  const words = typed[0] === "help" ? [...typed.slice(1), "--help"] : typed;
  try {
    await program.parseAsync(words, { from: "user" });
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
  return { ...failure, data: { id: failure.id, message: "A command is missing." }, show };
}

/**
 * Runs a command, prints its outcome, and closes what it opened. In this order, because an outcome may be a secret that
 * is shown only once, and closing may fail or hang.
 */
async function runCommand(session: Session, json: boolean, run: () => Promise<Outcome>): Promise<number> {
  const { host, scrub } = session;
  const outcome: Outcome | Failure = await run().catch((error: unknown) => failureOf(error, scrub));
  session.endProgress();
  const exitCode = print(host, json, outcome);
  await session.end(outcome);
  const unclosed = await session.close();
  for (const error of unclosed) {
    const message = `Something could not be closed at the end: ${failureOf(error, scrub).message}`;
    const text = complaint(screenOf(host, "stderr"), message, "What the command did stays done.");
    host.stderr.write(`${text}\n`);
  }
  return exitCode === DONE && unclosed.length > 0 ? DONE_NOT_CLOSED : exitCode;
}

function print(host: Host, json: boolean, { data, show, isComplaint, exitCode = DONE }: Outcome): number {
  const stream = isComplaint && !json ? "stderr" : "stdout";
  host[stream].write(`${json ? jsonText(data) : show(screenOf(host, stream))}\n`);
  return exitCode;
}
