import { CommanderError } from "commander";
import { build } from "../../version.ts";
import { DONE, failureOf, type Outcome } from "./outcome.ts";
import { screenOf, type Host } from "./host.ts";
import { createProgram } from "./program.ts";
import { createSession, YOURS, type Act, type Seller } from "./session.ts";
import { jsonText } from "./text.ts";

/** Parses and runs one command. Answers the exit code. */
export async function runKit(typed: readonly string[], host: Host, seller: Seller = YOURS): Promise<number> {
  const end = typed.indexOf("--");
  const json = typed.slice(0, end < 0 ? typed.length : end).includes("--json");
  let exitCode = DONE;
  const act: Act =
    (run) =>
    async (...args) => {
      const session = createSession(host, seller, { typed, json });
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
  // Commander's own `help` knows one word.
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
  return { ...failure, data: { id: "used_wrongly", message: "A command is missing." }, show };
}

function print(host: Host, json: boolean, { data, show, isComplaint, exitCode = DONE }: Outcome): number {
  const stream = isComplaint && !json ? "stderr" : "stdout";
  host[stream].write(`${json ? jsonText(data) : show(screenOf(host, stream))}\n`);
  return exitCode;
}
