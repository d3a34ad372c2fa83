import { CommanderError, type Command } from "commander";
import type { Act } from "./command.ts";
import { DONE, DONE_NOT_CLOSED, USED_WRONGLY } from "./exit-codes.ts";
import { failureOf, type Failure } from "./failure.ts";
import { NOT_CONFIRMED, type Outcome } from "./outcome.ts";
import { createProgram } from "./program.ts";
import type { Host } from "./host.ts";
import { createProgress } from "./progress.ts";
import { screenOf } from "./screen.ts";
import { createSession, YOURS, type Seller, type Session } from "./session.ts";
import { NotGiven } from "./standard-input.ts";
import { jsonText, safe, wrapped } from "./text.ts";
import { createTrail, type Trail } from "./trail.ts";
import { build, buildText } from "../../version.ts";

/**
 * Parses and runs one command, prints its outcome, and closes what it opened. In this order, because an outcome may be a
 * secret that is shown only once, and closing may fail or hang. Answers the exit code.
 */
export async function runKit(typed: readonly string[], host: Host, seller: Seller = YOURS): Promise<number> {
  const json = asksForJson(typed);
  const words = helpLast(typed);
  const progress = createProgress(host.stderr, { isWanted: !json });
  let trail: Trail | null = null;
  const session = createSession(host, seller, {
    json,
    progress: {
      ...progress,
      update(done, total) {
        progress.update(done, total);
        trail?.onProgress(done, total);
      },
    },
    onOpen: async (db) => trail?.begin(db),
  });
  let outcome: Outcome | null = null;
  // The one place where commands get their entry in the audit trail.
  const act: Act =
    (run) =>
    async (...args) => {
      trail = createTrail(args.at(-1) as Command, session.scrub, warn);
      outcome = await run(session, ...args);
    };
  let help = "";
  const program = createProgram(act, (text) => (help += text));
  const exitCode = await carryOut();
  const failures = await close(session);
  for (const error of failures) printUnclosed(host, session.scrub(failureOf(error).message));
  return exitCode === DONE && failures.length > 0 ? DONE_NOT_CLOSED : exitCode;

  async function carryOut(): Promise<number> {
    try {
      await program.parseAsync(words, { from: "user" });
      progress.end();
      if (!outcome) return DONE;
      const exitCode = print(host, outcome, json);
      await trail?.end(outcome, session.openDatabaseIfSet);
      return exitCode;
    } catch (error) {
      progress.end();
      return explain(error);
    }
  }

  function warn(reason: string): void {
    const { columns, paint } = screenOf(host, "stderr");
    const message = session.scrub(safe(`This is not in the audit trail: ${reason}`));
    progress.say(`${paint.yellow("!")} ${wrapped(message, columns, "  ")}`);
  }

  async function explain(error: unknown): Promise<number> {
    if (error instanceof CommanderError && error.code === "commander.version")
      return print(host, { data: build, show: () => buildText }, json);
    if (error instanceof CommanderError && error.exitCode === 0)
      return print(host, { data: { help }, show: () => help.trimEnd() }, json);
    if (error instanceof CommanderError && error.code === "commander.help" && !json) {
      host.stderr.write(`${commandNamed(program, words).helpInformation()}\n`);
      return USED_WRONGLY;
    }
    if (error instanceof NotGiven) {
      await trail?.end(NOT_CONFIRMED, session.openDatabaseIfSet);
      return print(host, NOT_CONFIRMED, json);
    }
    const failure = failureOf(error);
    const scrubbed = { ...failure, message: session.scrub(failure.message) };
    printFailure(host, scrubbed, json, helpFor(program, words));
    await trail?.end(scrubbed, session.openDatabaseIfSet);
    return failure.exitCode;
  }
}

/** Closes the session, and answers what failed. */
async function close(session: Session): Promise<unknown[]> {
  const failures: unknown[] = [];
  await session.close((later) => failures.push(later)).catch((first: unknown) => failures.unshift(first));
  return failures;
}

/** Moves `help` before the last name, as commander expects it: `help tokens refresh` becomes `tokens help refresh`. */
function helpLast(words: readonly string[]): readonly string[] {
  const at = words.findIndex((word) => !word.startsWith("-"));
  const names = words.slice(at + 1).filter((word) => !word.startsWith("-"));
  if (words[at] !== "help" || names.length < 2) return words;
  return [...names.slice(0, -1), "help", names.at(-1)!];
}

/** Whether --json is given, in any position; words after `--` are arguments. */
function asksForJson(words: readonly string[]): boolean {
  const end = words.indexOf("--");
  return words.slice(0, end < 0 ? words.length : end).includes("--json");
}

function print(host: Host, outcome: Outcome, json: boolean): number {
  const stream = outcome.isComplaint && !json ? "stderr" : "stdout";
  const text = json ? jsonText(outcome.data) : outcome.show(screenOf(host, stream));
  host[stream].write(`${text}\n`);
  return outcome.exitCode ?? DONE;
}

function printFailure(
  host: Host,
  { id, message, next, exitCode }: Failure,
  json: boolean,
  help: string,
): void {
  if (json) return void host.stdout.write(`${jsonText({ id, message })}\n`);
  complain(host, message, exitCode === USED_WRONGLY ? help : next);
}

function printUnclosed(host: Host, message: string): void {
  complain(host, `Something could not be closed at the end: ${message}`, "What the command did stays done.");
}

function complain(host: Host, message: string, advice: string | null): void {
  const { columns, paint } = screenOf(host, "stderr");
  const text = message.split("\n").map(safe).join("\n");
  host.stderr.write(`${paint.red("✗")} ${wrapped(text, columns, "  ")}\n`);
  if (advice) host.stderr.write(`  ${paint.dim(wrapped(advice, columns, "  "))}\n`);
}

function helpFor(program: Command, words: readonly string[]): string {
  const names: string[] = [];
  for (let at: Command | null = commandNamed(program, words); at; at = at.parent) names.unshift(at.name());
  return `How it is used: ${names.join(" ")} --help`;
}

/** The innermost command that the words name. */
function commandNamed(program: Command, words: readonly string[]): Command {
  return words
    .filter((word) => !word.startsWith("-"))
    .reduce((at, word) => at.commands.find((command) => command.name() === word) ?? at, program);
}
