import { Help } from "commander";
export { counted } from "../wording.ts";

/** Characters that move the cursor, change colours or reverse the direction of text. */
const ACTING = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const RUNS_OF_IT = new RegExp(`${ACTING.source}+`, "gu");

/** Makes text from elsewhere safe for a terminal: control characters become spaces. */
export function safe(text: string): string {
  return text.replace(RUNS_OF_IT, " ");
}

/** Shows text from elsewhere completely, with control characters escaped as in JSON: \u001b, \n. */
export function writtenOut(text: string): string {
  return text.replace(ACTING, (letter) =>
    letter < " " ? JSON.stringify(letter).slice(1, -1) : code(letter),
  );
}

/** A JSON document without control characters that act on a terminal; JSON itself escapes only some of them. */
export function jsonText(data: unknown, indent?: number): string {
  return JSON.stringify(data, null, indent).replace(ACTING, (letter) =>
    letter === "\n" ? letter : code(letter),
  );
}

function code(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

const layout = Object.assign(new Help(), { minWidthToWrap: 1 });
/** A command about one resource, which the reader may copy: it stays on one line. */
const COMMAND = /\bkit(?: [a-z-]+)+ [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

/** Breaks a text into lines of at most `columns`, the second and later ones indented by `indent`. */
export function wrapped(text: string, columns: number, indent = ""): string {
  const glued = text.replace(COMMAND, (command) => command.replaceAll(" ", "\0"));
  const lines = layout.boxWrap(glued, columns - indent.length).replaceAll("\0", " ");
  return lines.replaceAll("\n", `\n${indent}`);
}

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
