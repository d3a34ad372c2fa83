import { createHash, randomInt } from "node:crypto";

/** The same uuid for the same text, for objects that nobody creates here: plans, regions, stacks. */
export function uuidOf(text: string): string {
  const hex = createHash("sha1").update(text).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const adjectives = ["calm", "bright", "swift", "quiet", "deep", "round", "warm", "clear", "fresh", "gentle"];

/** A name like `word-calm-48213`, free according to `isTaken`. */
export function newName(word: string, isTaken: (name: string) => boolean): string {
  for (;;) {
    const name = `${word}-${adjectives[randomInt(adjectives.length)]}-${randomInt(10_000, 1_000_000)}`;
    if (!isTaken(name)) return name;
  }
}
