import { duration } from "../wording.ts";

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
  return text.replace(ACTING, (letter) => SHORT[letter] ?? escaped(letter));
}

/** A JSON document without control characters that act on a terminal; JSON itself escapes only some of them. */
export function jsonText(data: unknown, indent?: number): string {
  const text = JSON.stringify(data, null, indent);
  return text.replace(ACTING, (letter) => (letter === "\n" ? letter : escaped(letter)));
}

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function escaped(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Breaks a text into lines of at most `columns`, the second and later ones indented by `indent`. */
export function wrapped(text: string, columns: number, indent = ""): string {
  return text
    .split("\n")
    .map((paragraph) => wrapParagraph(paragraph, columns - indent.length))
    .join("\n")
    .replaceAll("\n", `\n${indent}`);
}

function wrapParagraph(text: string, columns: number): string {
  const lead = /^ */.exec(text)![0];
  const lines: string[] = [];
  for (const word of text.trim().replace(COMMAND, glued).split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= columns)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(lead + word);
  }
  return lines.join("\n").replaceAll(GLUE, " ");
}

/** A command about one resource, which the reader may copy: it stays on one line. */
const COMMAND = /\bkit(?: [a-z-]+)+ [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;
const GLUE = "\u00a0";

function glued(command: string): string {
  return command.replaceAll(" ", GLUE);
}

/** A time in readable form, UTC: 2026-01-31 12:00:00. */
export function moment(iso: string): string {
  return iso.slice(0, 19).replace("T", " ");
}

/** The same with its distance from now: 2026-01-31 12:00:00 (in 3 h). */
export function momentAway(iso: string, nowMs = Date.now()): string {
  const seconds = Math.round((Date.parse(iso) - nowMs) / 1000);
  const away = duration(Math.abs(seconds));
  return `${moment(iso)} (${seconds === 0 ? "now" : seconds < 0 ? `${away} ago` : `in ${away}`})`;
}
