/** A piece of JSON text to be written unchanged, for what no JavaScript value serialises to, such as `1e999`. */
export function raw(text: string): string {
  pieces.push(text);
  return `${MARK}${pieces.length - 1}${MARK}`;
}

/** The JSON text of a value, with its raw pieces in their places. Forgets the pieces. */
export function textOf(value: unknown): string {
  const kept = pieces.splice(0);
  return JSON.stringify(value).replaceAll(MARKED, (_, index: string) => kept[Number(index)]!);
}

/** A character that occurs in no body otherwise (Unicode, private use). */
const MARK = "\u{f8ff}";
const MARKED = new RegExp(`"${MARK}(\\d+)${MARK}"`, "gu");
const pieces: string[] = [];
