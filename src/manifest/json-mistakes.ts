// Sentences for the usual mistakes in a JSON text. `at` is the index of the unexpected character, `opened` that of the
// bracket that opened the innermost object or array.

export function whyNoValue(text: string, at: number, opened: number | undefined): string {
  const next = text[at];
  if (next === undefined) return opened === undefined ? "A value is missing." : notClosed(text, opened);
  if (next === "'") return "Strings are written in double quotes, not in single ones.";
  if (isComment(text, at)) return "JSON has no comments.";
  if (/[,\]}]/.test(next)) return `A value is missing before this ${next}`;
  if (/[-+.\d]/.test(next)) return "This is no number as JSON writes them.";
  if (/\w/.test(next))
    return "Strings are written in double quotes; without them there are only true, false, null and numbers.";
  return "A value is missing here: a string, a number, true, false, null, an object or an array.";
}

export function whyNoKey(text: string, at: number, opened: number): string {
  const next = text[at];
  if (next === undefined) return notClosed(text, opened);
  if (isComment(text, at)) return "JSON has no comments.";
  if (next === ",") return "There is a comma too many.";
  return "A key is missing here: it is written in double quotes.";
}

export function whyNotSeparated(text: string, at: number, opened: number, end: string): string {
  const next = text[at];
  if (next === undefined) return notClosed(text, opened);
  if (isComment(text, at)) return "JSON has no comments.";
  if (/[\]}]/.test(next))
    return `This ${next} closes what was opened with ${text[opened]}: a ${end} is missing.`;
  return `A comma is missing before this, or a ${end}.`;
}

/** The sentence and its index: an unclosed string is reported where it begins, any other fault where it is. */
export function whyNoString(text: string, at: number, begin: number): [string, number] {
  const next = text[at];
  if (next === undefined || /[\r\n]/.test(next)) return ["This string is not closed on its line.", begin];
  if (next === "\\") return ['There is no such escape: a backslash itself is written as "\\\\".', at];
  return ["This string holds a tab or another control character: write it with an escape, like \\t.", at];
}

function isComment(text: string, at: number): boolean {
  return text[at] === "#" || /^\/[/*]/.test(text.slice(at, at + 2));
}

function notClosed(text: string, opened: number): string {
  return `The text ends here, before the ${text[opened]} of line ${text.slice(0, opened).split("\n").length} is closed.`;
}
