import type { Random } from "../chaos/random.ts";
import { junkKey, sizeUpTo } from "./junk.ts";

/** Mutations of a request's JSON text. */
export const textMutations: Record<string, (text: string, random: Random) => string> = {
  "a member twice": (text, random) => {
    const twice = random.one(['"plan":"premium"', '"plan":null', '"uuid":1', '"options":[]', '"oauth_grant":null']);
    return random.chance(0.5) ? text.replace("{", `{${twice},`) : text.replace(/\}$/, `,${twice}}`);
  },
  "a key twice, one of them odd": (text, random) =>
    text.replace("{", `{${JSON.stringify(junkKey(random))}:{"plan":"premium"},`),
  "the text ends early": (text, random) => text.slice(0, Math.floor(random.next() * text.length)),
  "the text goes on": (text, random) => text + random.one(["}", "]", ",", "{}", text, "\u0000", "//", "\n\n"]),
  "white space": (text, random) => text.replaceAll(/[{,:]/g, (sign) => sign + random.one(["", " ", "\n", "\r\n\t"])),
  "white space up to the limit": (text, random) => {
    const wanted = 65_536 + random.one([-1, 0, 1, 1_000, 200_000]) - Buffer.byteLength(text);
    return text + " ".repeat(Math.max(wanted, 0));
  },
  "not quite JSON": (text, random) =>
    random.one([
      text.replaceAll('"', "'"),
      text.replace(/\}$/, ",}"),
      text.replace("{", "{/* */"),
      text.replaceAll(/"(\w+)":/g, "$1:"),
      text.replace(/"basic"/, random.one(["NaN", "undefined", "Infinity", "0x1", "01", "+1", ".5", "basic"])),
    ]),
  "everything escaped": (text) => text.replaceAll(/[a-z]/g, (letter) => (isInString(letter) ? escaped(letter) : letter)),
  "an order mark": (text) => `\ufeff${text}`,
  "a foreign letter": (text, random) => spliced(text, random, 0, random.one(["\u0000", "\ud800", "🫖", "\u0085", "\u00a0"])),
  "letters are missing": (text, random) => spliced(text, random, sizeUpTo(random, 40), ""),
}; // prettier-ignore

/** Whether a letter can only stand in a string: not one of true, false, null, or a number's e. */
function isInString(letter: string): boolean {
  return !"truefalsn".includes(letter);
}

function escaped(letter: string): string {
  return `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function spliced(text: string, random: Random, removed: number, put: string): string {
  const at = Math.floor(random.next() * text.length);
  return text.slice(0, at) + put + text.slice(at + removed);
}
