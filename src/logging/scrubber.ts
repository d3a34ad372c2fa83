import { inspect } from "node:util";
import type { Secret } from "../secret.ts";

/** Redacts secrets in a line of text: the last barrier before it leaves the process. */
export interface Scrubber {
  scrub(line: string): string;
  /** Redacts these values from now on, until the function that it returns is called. */
  hide(...secrets: readonly Secret[]): () => void;
}

const HIDDEN = "[secret]";
/**
 * The password in an address, `scheme://user:password@host`. A slash, a quote or an escape ends the search: a password
 * that is written correctly contains none, and the port of an address without a password is not taken for one.
 */
const PASSWORD_IN_ADDRESS = /(:\/\/[^\s/?#@:"\\]*:)[^\s/?#"\\]+(?=@)/g;
/** Values and forms with fewer characters are not looked for: they would be found in ordinary words. */
const SHORTEST = 4;
/** As many as {@link slotOf} can return. */
const SLOTS = 2 ** 14;

/**
 * Makes a scrubber. It redacts whatever begins with the platform's token prefix; every value given to `hide`, plain,
 * escaped, URL-encoded and in base64, also within a longer word; and passwords in addresses. It looks for values, and
 * not for the paths of members, on purpose: paths miss what is in an error's text, a header or a nested object.
 */
export function createScrubber(tokenPrefix: string): Scrubber {
  const hidden = createSearch();
  const token = tokenPattern(tokenPrefix);
  return {
    scrub: (line) => withoutPasswords(hidden.replaceIn(token ? line.replace(token, HIDDEN) : line)),
    hide(...secrets) {
      const values = secrets.map((each) => each.reveal()).filter(({ length }) => length >= SHORTEST);
      const entries = values.flatMap((value) => hidden.add(createHiddenText(value)));
      return () => entries.splice(0).forEach(hidden.remove);
    },
  };
}

/** Few lines contain an @, and looking for it is faster than looking for `://` or for the pattern. */
function withoutPasswords(line: string): string {
  return line.includes("@") && line.includes("://") ? line.replace(PASSWORD_IN_ADDRESS, `$1${HIDDEN}`) : line;
}

/**
 * A value to look for: the first four characters of each of its forms, and the forms, made when one may have been
 * found.
 */
interface HiddenText {
  starts: readonly number[];
  forms(): readonly string[];
}

function createHiddenText(value: string): HiddenText {
  let forms = isPlain(value) ? null : formsOf(value);
  const starts = forms ? [...new Set(forms.map(startOf))] : [startOf(value), ...base64StartsOf(value)];
  return { starts, forms: () => (forms ??= formsOf(value)) };
}

/** A text to look for where a line has the four characters `start`, among others of its slot. */
interface Entry {
  text: HiddenText;
  start: number;
  before: Entry | null;
  after: Entry | null;
}

/**
 * Finds any of many texts in a line, at a cost that grows only with the number of those that begin alike. One pass looks
 * at each sequence of four characters; a table says whether a text may begin with them, and only then are texts compared.
 * Most values are hidden for a moment only and never found, so all their forms are made only when four characters match,
 * and they are linked to each other: a Map that is changed as often keeps much of what it contained from being collected
 * early.
 */
function createSearch() {
  const first: (Entry | null)[] = new Array<null>(SLOTS).fill(null);
  /** How many entries each slot has: half the memory to look into for each character of a line. */
  const mayBegin = new Uint32Array(SLOTS);

  /** The length of the longest text that begins at `at`; 0 if none does. */
  function longestAt(line: string, at: number, start: number): number {
    let longest = 0;
    for (let entry = first[slotOf(start)]!; entry; entry = entry.after!)
      if (entry.start === start)
        for (const form of entry.text.forms())
          if (form.length > longest && line.startsWith(form, at)) longest = form.length;
    return longest;
  }

  return {
    /** Looks for a text from now on, until each entry is removed. */
    add: (text: HiddenText): Entry[] =>
      text.starts.map((start) => {
        const slot = slotOf(start);
        const after = first[slot]!;
        const entry: Entry = { text, start, before: null, after };
        if (after) after.before = entry;
        first[slot] = entry;
        mayBegin[slot]! += 1;
        return entry;
      }),

    remove(entry: Entry): void {
      const slot = slotOf(entry.start);
      const { before, after } = entry;
      if (after) after.before = before;
      if (before) before.after = after;
      else first[slot] = after;
      entry.before = entry.after = null;
      mayBegin[slot]! -= 1;
    },

    replaceIn(line: string): string {
      let shown = "";
      let from = 0;
      let start = 0;
      for (let end = 0; end < line.length; end++) {
        start = shifted(start, line.charCodeAt(end));
        const at = end + 1 - SHORTEST;
        if (mayBegin[slotOf(start)] === 0 || at < from) continue;
        const length = longestAt(line, at, start);
        if (length === 0) continue;
        shown += line.slice(from, at) + HIDDEN;
        from = at + length;
        end = from - 1;
      }
      return from === 0 ? line : shown + line.slice(from);
    },
  };
}

/** The four characters a text begins with, as one number. */
function startOf(text: string): number {
  let start = 0;
  for (let at = 0; at < SHORTEST; at++) start = shifted(start, text.charCodeAt(at));
  return start;
}

/** The number of the next four characters: adds one, and drops the first of the last four. */
function shifted(start: number, code: number): number {
  return (start << 8) ^ code;
}

/** The place in the table for four characters; others may share it. */
function slotOf(start: number): number {
  return Math.imul(start, 0x9e3779b1) >>> 18;
}

/** Every form in which a value may be written. */
function formsOf(value: string): string[] {
  const written = isPlain(value) ? [value] : [value, ...encoded(value), ...escaped(value)];
  const forms = new Set([...written, ...base64Of(value)]);
  return [...forms].filter(({ length }) => length >= SHORTEST);
}

/** Whether a value looks the same in a URL, in JSON and on a screen. */
function isPlain(value: string): boolean {
  return /^[\w.-]*$/.test(value);
}

/** As in a URL, in a form, and in either within a URL; with hexadecimal digits in capitals and in small letters. */
function encoded(value: string): string[] {
  const inUrl = encodeURIComponent(value.toWellFormed());
  const inForm = new URLSearchParams([["", value]]).toString().slice(1);
  const upper = [inUrl, inForm, encodeURIComponent(inUrl), encodeURIComponent(inForm)];
  return [...upper, ...upper.map((each) => each.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))];
}

/**
 * As text and as JavaScript shows a text, escaped as JSON once to three times: the line is JSON, and may quote JSON.
 */
function escaped(value: string): string[] {
  const json = (text: string) => JSON.stringify(text).slice(1, -1);
  return [value, inspect(value).slice(1, -1)].flatMap((text) => [
    json(text),
    json(json(text)),
    json(json(json(text))),
  ]);
}

/**
 * In base64, also as part of a longer text, like the password in Basic credentials. A digit of base64 holds six bits,
 * so a value can begin in three positions; a first or last digit that is shared with a neighbour is left out.
 */
function base64Of(value: string): string[] {
  const bytes = Buffer.from(`\0\0${value}`);
  return [0, 1, 2].flatMap((before) => {
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor(((bytes.length - 2 + before) * 8) / 6);
    const form = bytes.toString("base64", 2 - before).slice(first, last);
    return /[+/]/.test(form) ? [form, form.replaceAll("+", "-").replaceAll("/", "_")] : [form];
  });
}

/** The digits of base64. */
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/**
 * The first four digits of the three forms of {@link base64Of}, for a plain value of at least four characters. Four
 * digits are 24 bits; the forms begin with the first, the fifth and the third bit of the value. Plain characters never
 * give a + or /.
 */
function base64StartsOf(value: string): number[] {
  let bits = 0;
  for (let at = 0; at < SHORTEST; at++) bits = (bits << 8) | value.charCodeAt(at);
  return [8, 4, 6].map((behind) => {
    let start = 0;
    for (const digit of [18, 12, 6, 0])
      start = shifted(start, BASE64.charCodeAt((bits >>> (behind + digit)) & 63));
    return start;
  });
}

/** A pattern for whatever begins with the prefix, plain or in base64; null without a prefix. */
function tokenPattern(prefix: string): RegExp | null {
  if (prefix === "") return null;
  const inBase64 = base64Of(prefix).filter(({ length }) => length >= SHORTEST);
  const begins = [prefix, ...inBase64].map(escapeForRegExp).join("|");
  return new RegExp(`(?:${begins})[\\w~.+/%-]+`, "g");
}

function escapeForRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
