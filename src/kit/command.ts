import type { Command } from "commander";
import type { Outcome } from "./outcome.ts";
import type { Session } from "./session.ts";

/** Turns what a command does into what commander calls. */
export type Act = <Args extends unknown[]>(
  run: (session: Session, ...args: Args) => Promise<Outcome>,
) => (...args: Args) => Promise<void>;

/** One file of `commands/`: declares a command with its arguments and options, and says what it does. */
export type AddCommand = (program: Command, act: Act) => void;

/** What the help of a command says that works through many. */
export const STOPPED = `

Stopped with Ctrl-C, it finishes what was sent, and tells how many are left
("left" with --json). Where none is left it ends as if nobody had stopped it.`;

/** What follows the options in a command's help. A line that 80 columns do not hold goes on below, as a shell reads it. */
export function examples(...lines: string[]): string {
  const shown = lines.map(
    (line) => `  $ ${line.length > 75 ? line.replaceAll(/ (?=--|[A-Z_]+=)/g, " \\\n      ") : line}`,
  );
  return `\n${lines.length === 1 ? "Example" : "Examples"}:\n${shown.join("\n")}`;
}
