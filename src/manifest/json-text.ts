import { parseTree, printParseErrorCode, type Node, type ParseError } from "jsonc-parser";
import type { Path } from "./finding.ts";

/** Both count from 1; a column is a UTF-16 unit, as editors count. */
export interface Place {
  line: number;
  column: number;
}

export interface JsonText {
  value: unknown;
  /** Members whose name occurred before in their object. The last one counts, as in JSON.parse. */
  repeated: Path[];
  /**
   * The index of the value at `path` (for a member, of its key); if it is missing, that of the innermost value on the
   * path that exists.
   */
  indexOf(path: Path): number;
  placeAt(index: number): Place;
}

/** The text is not JSON. The message says what is wrong, and repeats nothing of the text. */
export class NotJson extends Error {
  readonly place: Place;

  constructor(message: string, place: Place) {
    super(`Not JSON, at line ${place.line}, column ${place.column}: ${message}`);
    this.place = place;
  }
}

const NO_COMMENTS = "JSON has no comments.";
const NO_NUMBER = "This is no number as JSON writes them.";
const NO_ESCAPE = 'There is no such escape: a backslash itself is written as "\\\\".';
const SENTENCES: Readonly<Record<string, string>> = {
  InvalidSymbol:
    "Keys and strings are written in double quotes; without them there are only true, false, null and numbers.",
  InvalidNumberFormat: NO_NUMBER,
  UnexpectedEndOfNumber: NO_NUMBER,
  PropertyNameExpected: "A key in double quotes is missing here, or there is a comma too many before it.",
  ValueExpected: "A value is missing here, or there is a comma too many before it.",
  ColonExpected: "A colon is missing after the key.",
  CommaExpected: "A comma is missing before this, or a closing bracket.",
  CloseBraceExpected: "The text ends here, before a { is closed.",
  CloseBracketExpected: "The text ends here, before a [ is closed.",
  EndOfFileExpected: "The text goes on after the end of the first value: one object is all there may be.",
  InvalidCommentToken: NO_COMMENTS,
  UnexpectedEndOfComment: NO_COMMENTS,
  UnexpectedEndOfString: "This string is not closed on its line.",
  InvalidUnicode: NO_ESCAPE,
  InvalidEscapeCharacter: NO_ESCAPE,
  InvalidCharacter:
    "This string holds a tab or another control character: write it with an escape, like \\t.",
};

/** Reads JSON as JSON.parse does, and tells where each value stands. Throws {@link NotJson}. */
export function readJson(text: string): JsonText {
  const placeAt = placesIn(text);
  if (text.trim() === "") throw new NotJson("There is nothing in it.", placeAt(0));
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { disallowComments: true });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    const [first] = errors;
    const sentence = first && SENTENCES[printParseErrorCode(first.error)];
    throw new NotJson(sentence ?? "This is not JSON.", placeAt(first?.offset ?? 0));
  }
  return {
    value,
    placeAt,
    indexOf: (path) => indexIn(tree, path),
    repeated: tree ? repeatedIn(tree, []) : [],
  };
}

function indexIn(tree: Node | undefined, path: Path): number {
  let [at, found] = [tree?.offset ?? 0, tree];
  for (const step of path) {
    const inner: Node | undefined =
      typeof step === "number"
        ? found?.children?.[step]
        : found?.children?.findLast(({ children }) => children?.[0]?.value === step);
    if (!inner) break;
    at = inner.offset;
    found = inner.type === "property" ? inner.children?.[1] : inner;
  }
  return at;
}

function repeatedIn({ type, children = [] }: Node, above: Path): Path[] {
  const names = new Set<string>();
  return children.flatMap((child, index) => {
    if (type === "array") return repeatedIn(child, [...above, index]);
    const [key, value] = child.children ?? [];
    const name = String(key?.value);
    const path = [...above, name];
    const isRepeated = names.has(name);
    names.add(name);
    return [...(isRepeated ? [path] : []), ...(value ? repeatedIn(value, path) : [])];
  });
}

function placesIn(text: string): (index: number) => Place {
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  return (index) => {
    const line = starts.findLastIndex((start) => start <= index);
    return { line: line + 1, column: index - starts[line]! + 1 };
  };
}
