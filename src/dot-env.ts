import { parseEnv } from "node:util";
import { Misconfigured } from "./errors.ts";

// A file of lines `NAME=value`. Node reads it and says nothing of a line that it misreads, so the lines are looked at here.
// What is found is described by names and numbers of lines, never by a value, and a line that has no name by its number.

interface SettingsFile {
  values: Record<string, string>;
  /** One sentence for each line that was perhaps meant otherwise. */
  remarks: string[];
}

/** Throws {@link Misconfigured} if the file is not a text in UTF-8. */
export function readSettingsFile(file: string, bytes: Buffer): SettingsFile {
  // A text in UTF-16 begins with its byte order mark, or has a zero in each letter of English.
  if (bytes.includes(0) || /^(fffe|feff)/.test(bytes.toString("hex", 0, 2)))
    throw new Misconfigured(`${file} is not in UTF-8, but in UTF-16 or no text at all: save it as UTF-8.`);
  // Of `NAME= `, some versions of Node take the next line for the value.
  const text = bytes.toString("utf8").replace(/^\uFEFF|[ \t\r]+$/gm, "");
  // Of a last line that does not end, Node 20.19 reads a comment as part of the value, and later ones drop an open quote.
  const values = parseEnv(`${text}\n`) as Record<string, string>;
  const garbled = Object.keys(values).filter((name) => values[name]!.includes("\uFFFD"));
  if (garbled.length > 0)
    throw new Misconfigured(
      `${file} is not in UTF-8: ${garbled.join(", ")} cannot be read. Save it as UTF-8.`,
    );
  return { values, remarks: remarksOn(text, values).map((remark) => `${file}, ${remark}`) };
}

const ASSIGNMENT = /^[ \t]*(?:export +)?([A-Za-z_]\w*)[ \t]*=[ \t]*(.*)$/;
const QUOTES = /^["'`]/;
/** As word processors and messengers write them. */
const TYPOGRAPHIC_QUOTES = /^[\u2018-\u201f\u00ab\u00bb\u2039\u203a]/;

function remarksOn(text: string, values: Record<string, string>): string[] {
  const lines = text.split("\n");
  const remarks: string[] = [];
  const firstLines = new Map<string, number>();
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at]!;
    const here = `line ${at + 1}`;
    if (/^\s*(#|$)/.test(line)) continue;
    const [, name, value = ""] = ASSIGNMENT.exec(line) ?? [];
    if (name === undefined) {
      remarks.push(`${here} is not of the form NAME=value, and may spoil the next one.`);
      continue;
    }
    if (firstLines.has(name))
      remarks.push(`${here} sets ${name} again: the value of line ${firstLines.get(name)} does not count.`);
    firstLines.set(name, at + 1);
    if (QUOTES.test(value)) {
      const { remark, lines: more } = readQuoted(value, lines.slice(at + 1));
      if (remark) remarks.push(`${here}: ${name} ${remark}`);
      at += more;
    } else if (TYPOGRAPHIC_QUOTES.test(value))
      remarks.push(`${here}: the quotes around ${name} are typographic ones, and count as part of it.`);
    else if (/^[^#]*[^\s#]#/.test(line))
      remarks.push(`${here}: ${name} ends before its first #. Put quotes around it if that belongs to it.`);
    else if (!(name in values)) remarks.push(`${here}: ${name} was not read.`);
  }
  return remarks;
}

/** `lines`: over how many more of those that follow the value goes on. */
function readQuoted(value: string, following: string[]): { remark?: string; lines: number } {
  const quote = value[0]!;
  const end = value.indexOf(quote, 1);
  if (end > 0) {
    const isEnd = /^\s*(#|$)/.test(value.slice(end + 1));
    return {
      lines: 0,
      ...(!isEnd && { remark: "has something behind its closing quote, which is ignored." }),
    };
  }
  const lines = following.findIndex((line) => line.includes(quote)) + 1;
  if (lines === 0) return { lines, remark: "has a quote that is never closed, and counts as part of it." };
  const isSwallowing = following.slice(0, lines).some((line) => /^[A-Z][A-Z_\d]*=[^=]/.test(line));
  return { lines, ...(isSwallowing && { remark: "has a quote that only a later setting closes." }) };
}
