/** The uuid in the examples of the help. */
export const EXAMPLE_UUID = "01234567-89ab-cdef-0123-456789abcdef";

/** Help text of the commands that work on many resources. */
export const STOPPED = `

Stopped with Ctrl-C, it finishes what was sent, and tells how many are left
("left" with --json). Where none is left it ends as if nobody had stopped it.`;

/**
 * The examples after the options in a command's help. A line that does not fit into 80 columns continues on the next,
 * with a backslash as the shell expects it.
 */
export function examples(...lines: string[]): string {
  const shown = lines.map(
    (line) => `  $ ${line.length > 75 ? line.replaceAll(/ (?=--|[A-Z_]+=)/g, " \\\n      ") : line}`,
  );
  return `\n${lines.length === 1 ? "Example" : "Examples"}:\n${shown.join("\n")}`;
}
