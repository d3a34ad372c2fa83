import { CommanderError, type Command } from "commander";
import { build } from "../../version.ts";
import { DONE, DONE_NOT_CLOSED, failureOf, type Outcome } from "./outcome.ts";
import { screenOf, type Host } from "./host.ts";
import { createProgram } from "./program.ts";
import { createSession, YOURS, type Act, type Seller, type Session } from "./session.ts";
import { jsonText, safe, wrapped } from "./text.ts";

/**
 * Parses and runs one command, prints its outcome, and closes what it opened. In this order, because an outcome may be a
 * secret that is shown only once, and closing may fail or hang. Answers the exit code.
 */
export async function runKit(typed: readonly string[], host: Host, seller: Seller = YOURS): Promise<number> {
  const sessions: Session[] = [];
  let exitCode = DONE;
  let help = "";
  const end = typed.indexOf("--");
  const json = typed.slice(0, end < 0 ? typed.length : end).includes("--json");
  const act: Act =
    (run) =>
    async (...args) => {
      const session = createSession(host, seller, args.at(-1) as Command);
      sessions.push(session);
      const outcome = await run(session, ...args);
      session.endProgress();
      exitCode = print(outcome);
      await session.end(outcome);
    };
  const program = createProgram(act, {
    writeOut: (text) => (help += text),
    writeErr: (text) => json || host.stderr.write(text),
    outputError: (text) => json || complain(text.trim().replace(/^error: /, "")),
    getOutHelpWidth: () => screenOf(host, "stdout").columns,
    getErrHelpWidth: () => screenOf(host, "stderr").columns,
  });
  // "help tokens refresh" is "tokens refresh --help": commander's own looks one word deep.
  const words = typed[0] === "help" ? [...typed.slice(1), "--help"] : typed;
  try {
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    exitCode = await explain(error);
  }
  const [session] = sessions;
  const unclosed = (await session?.close()) ?? [];
  for (const error of unclosed) {
    const message = `Something could not be closed at the end: ${session!.scrub(failureOf(error).message)}`;
    complain(message, "What the command did stays done.");
  }
  return exitCode === DONE && unclosed.length > 0 ? DONE_NOT_CLOSED : exitCode;

  async function explain(error: unknown): Promise<number> {
    if (error instanceof CommanderError && error.exitCode === 0) {
      const isVersion = error.code === "commander.version";
      return print({ data: isVersion ? build : { help }, show: () => help.trimEnd() });
    }
    const failure = failureOf(error);
    const [session] = sessions;
    session?.endProgress();
    const scrubbed = { ...failure, message: session?.scrub(failure.message) ?? failure.message };
    const { id, message, next } = scrubbed;
    // What commander found, it has explained to people itself.
    if (json) host.stdout.write(`${jsonText({ id, message })}\n`);
    else if (!(error instanceof CommanderError)) complain(message, next);
    await session?.end(scrubbed);
    return failure.exitCode;
  }

  function print(outcome: Outcome): number {
    const stream = outcome.isComplaint && !json ? "stderr" : "stdout";
    const text = json ? jsonText(outcome.data) : outcome.show(screenOf(host, stream));
    host[stream].write(`${text}\n`);
    return outcome.exitCode ?? DONE;
  }

  function complain(message: string, advice: string | null = null): void {
    const { columns, paint } = screenOf(host, "stderr");
    const text = message.split("\n").map(safe).join("\n");
    host.stderr.write(`${paint.red("✗")} ${wrapped(text, columns, "  ")}\n`);
    if (advice) host.stderr.write(`  ${paint.dim(wrapped(advice, columns, "  "))}\n`);
  }
}
