import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { colours } from "./colours.ts";
import { PROJECT } from "./program.ts";

const LINES_AROUND = 2;

/** What a service that did not start has printed, without the stack: the message, and the place in `src/` with its lines. */
export function explain(printed: string): string {
  const text = printed.replaceAll(pathToFileURL(PROJECT).href, "").replaceAll(PROJECT, "");
  const message = text
    .split("\n")
    .filter((line) => line.trim() !== "" && !/^ {4}at /.test(line))
    .join("\n")
    .replace(/^TransformError: Transform failed with .*\n/, "")
    // Lines of the source with which Node begins some messages: they follow, with those around them.
    .replace(/^src\/\S+:\d+\n.*\n *\^+\n/, "")
    .replace(/^(\S+:\d+:\d+): ERROR: /gm, "$1: ");
  const place =
    /(src\/your-service\/[^\n:]+):(\d+)(?::(\d+))?/.exec(text) ??
    /(src\/[^\n:]+):(\d+)(?::(\d+))?/.exec(text);
  const shown = place
    ? `${message}\n\n${sourceLines(place[1]!, Number(place[2]), Number(place[3] ?? 0))}`
    : message;
  return shown.replace(/^(?=.)/gm, "  ");
}

/** A place, and the lines around it as far as the file can be read. */
export function sourceLines(file: string, line: number, column = 0): string {
  try {
    const all = readFileSync(`${PROJECT}${file}`, "utf8").split("\n");
    const first = Math.max(1, line - LINES_AROUND);
    const shown = all.slice(first - 1, line + LINES_AROUND).flatMap((text, at) => {
      const number = first + at;
      const row = `${number === line ? ">" : " "} ${String(number).padStart(4)} | ${text}`;
      return number === line && column > 0 ? [row, `${" ".repeat(7)}| ${" ".repeat(column - 1)}^`] : [row];
    });
    return `${file}:${line}\n${colours.dim(shown.join("\n"))}`;
  } catch {
    return `${file}:${line}`;
  }
}
