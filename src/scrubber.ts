import type { Secret } from "./secret.ts";

/** Takes secrets out of a line of text: the last barrier before it leaves the process. */
export interface Scrubber {
  scrub(line: string): string;
  /** From now on these values are taken out; the function it returns ends that. */
  hide(...secrets: readonly Secret[]): () => void;
}

const HIDDEN = "[secret]";
// What a secret usually looks like. One pass cuts the line into such words and looks each up, so the cost does not
// grow with the number of secrets in flight.
const WORD = /[A-Za-z0-9_~.+/%-]{8,}/g;
const IS_WORD = /^[A-Za-z0-9_~.+/%-]{8,}$/;

/**
 * Makes a scrubber. Hidden are: whatever begins with the platform's token prefix, and every value given to `hide`, as it
 * is, URL-encoded, JSON-escaped and in base64. Choosing by value and not by the path of a member is deliberate: paths
 * miss what stands in an error's text, a header or a nested object.
 */
export function createScrubber(tokenPrefix: string): Scrubber {
  const words = new Map<string, number>();
  const phrases = new Map<string, number>();
  const prefixed = tokenPrefix === "" ? null : new RegExp(`${escapeForRegExp(tokenPrefix)}[\\w~.+/%-]+`, "g");

  return {
    scrub(line) {
      let scrubbed = prefixed ? line.replace(prefixed, HIDDEN) : line;
      for (const phrase of phrases.keys()) scrubbed = scrubbed.replaceAll(phrase, HIDDEN);
      if (words.size === 0) return scrubbed;
      return scrubbed.replace(WORD, (word) => (words.has(word) ? HIDDEN : hideParts(word, words)));
    },

    hide(...secrets) {
      const forms = secrets.flatMap((each) => formsOf(each.reveal()));
      for (const form of forms) count(IS_WORD.test(form) ? words : phrases, form, 1);
      return () => {
        for (const form of forms.splice(0)) count(IS_WORD.test(form) ? words : phrases, form, -1);
      };
    },
  };
}

/** A secret may touch its neighbours, as in a path or after a percent sign: look at the parts as well. */
function hideParts(word: string, words: ReadonlyMap<string, number>): string {
  if (!/[/.%+~]/.test(word)) return word;
  return word.replace(/[A-Za-z0-9_-]{8,}/g, (part) => (words.has(part) ? HIDDEN : part));
}

function formsOf(value: string): string[] {
  if (value.length < 4) return [];
  const base64 = Buffer.from(value).toString("base64");
  const forms = [
    value,
    encodeURIComponent(value),
    new URLSearchParams([["", value]]).toString().slice(1),
    JSON.stringify(value).slice(1, -1),
    base64,
    base64.replace(/=+$/, ""),
    Buffer.from(value).toString("base64url"),
  ];
  return [...new Set(forms)];
}

function count(forms: Map<string, number>, form: string, change: number): void {
  const uses = (forms.get(form) ?? 0) + change;
  if (uses > 0) forms.set(form, uses);
  else forms.delete(form);
}

function escapeForRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
