import { inspect } from "node:util";

// Secrets in texts are found by their values, in every form in which one may be written. Not by the paths of members:
// these miss what is in an error's text, a header or a nested object. Not found: a value as a list of numbers, which
// nobody could tell from other numbers, or cut in pieces, compressed or encrypted.

/** Values and forms with fewer characters are not searched for: they would be found in ordinary words. */
const SHORTEST = 4;

/**
 * The forms in which these values may be written. They are to be compared without regard to case: so a form stands here
 * once, whether its hexadecimal digits are capitals or small letters.
 */
export function formsOf(values: readonly string[]): string[] {
  const long = values.filter(({ length }) => length >= SHORTEST);
  const forms = long.flatMap((value) => {
    // Of most values, most of these are the same.
    const written = new Set([
      ...[value, value.toUpperCase(), value.toLowerCase()],
      ...inUrls(value),
      ...inHtml(value),
    ]);
    return [...[...written].flatMap(inJson), ...base64Of(value), hexOf(value)];
  });
  return [...new Set(forms)].filter(({ length }) => length >= SHORTEST);
}

/** Finds any of these texts, whatever its case; where several begin, the longest. Null: there are none. */
export function patternOf(texts: Iterable<string>, flags = "gi"): RegExp | null {
  const longestFirst = [...texts].sort((one, other) => other.length - one.length);
  const escaped = longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return escaped.length > 0 ? new RegExp(escaped.join("|"), flags) : null;
}

/** Which characters stay as they are where the others are encoded with `%`: the set of JavaScript, RFC 3986, and so on. */
const LEFT_BY = {
  encodeURIComponent: /[\w.~!*'()-]/,
  rfc3986: /[\w.~-]/,
  rfc3986InPaths: /[\w.~/-]/,
  encodeURI: /[\w.~!*'();/?:@&=+$,#-]/,
  pathsOfBrowsers: /[^ "#<>?`{}^]/,
  queriesOfBrowsers: /[^ "#<>']/,
  usersOfBrowsers: /[^ "#<>?`{}/:;=@[\\\]^|]/,
};

/** As in a URL, in a form, and in either within a URL. */
function inUrls(value: string): string[] {
  const text = value.toWellFormed();
  const byte = (each: number) => `%${each.toString(16).padStart(2, "0").toUpperCase()}`;
  const encodedBut = (left: RegExp) =>
    Array.from(text, (letter) =>
      letter < "\x7f" && letter > "\x1f" && left.test(letter)
        ? letter
        : [...Buffer.from(letter)].map(byte).join(""),
    ).join("");
  const inForm = new URLSearchParams([["", text]]).toString().slice(1);
  const once = [...Object.values(LEFT_BY).map(encodedBut), inForm];
  return [...once, ...once.map(encodeURIComponent)];
}

type Names = Readonly<Record<string, string>>;

/** How those who escape HTML write what they escape; the same for `&`, `<` and `>`. */
const MARKUP: readonly Names[] = [
  {},
  { '"': "&quot;" },
  { '"': "&quot;", "'": "&#39;" },
  { '"': "&quot;", "'": "&#x27;" },
  { '"': "&quot;", "'": "&#039;" },
  { '"': "&quot;", "'": "&apos;" },
  { '"': "&#34;", "'": "&#39;" },
  { '"': "&quot;", "'": "&#x27;", "/": "&#x2F;" },
  { '"': "&quot;", "'": "&#39;", "/": "&#x2F;", "`": "&#x60;", "=": "&#x3D;" },
];

function inHtml(value: string): string[] {
  return MARKUP.map((names) => {
    const all: Names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", ...names };
    return value.replace(/[&<>"'/`=]/g, (letter) => all[letter] ?? letter);
  });
}

/**
 * As it is, and as JSON, once to three times: a log line is JSON, and may quote JSON. Others than JavaScript also escape
 * slashes, what HTML knows, or what is not ASCII. Also as JavaScript shows a text.
 */
function inJson(value: string): string[] {
  const json = (text: string) => JSON.stringify(text).slice(1, -1);
  const once = json(value);
  const code = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const slashed = once.replaceAll("/", "\\/");
  const ascii = (text: string) => text.replace(/[^\0-\x7f]/g, code);
  const marked = (text: string) => text.replace(/[&<>]/g, code);
  const others = [slashed, ascii(once), ascii(slashed), marked(once), marked(once).replace(/'/g, code)];
  const shown = inspect(value).slice(1, -1);
  return [
    value,
    once,
    json(once),
    json(json(once)),
    ...[shown, ...others].flatMap((each) => [each, json(each), json(json(each))]),
  ];
}

/** As two digits for each byte. */
export const hexOf = (value: string) => Buffer.from(value).toString("hex");

/**
 * In base64, also as part of a longer text, like the password in Basic credentials. A digit of base64 holds six bits,
 * so a value can begin in three positions; a first or last digit that is shared with a neighbour is left out.
 */
export function base64Of(value: string): string[] {
  const bytes = Buffer.from(`\0\0${value}`);
  const forms = [0, 1, 2].flatMap((before) => {
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor(((bytes.length - 2 + before) * 8) / 6);
    const form = bytes.toString("base64", 2 - before).slice(first, last);
    return /[+/]/.test(form) ? [form, form.replaceAll("+", "-").replaceAll("/", "_")] : [form];
  });
  return forms.filter(({ length }) => length >= SHORTEST);
}

/** Bytes as Node shows them in a text, whose numbers could be those of a secret. */
const BYTES =
  /<Buffer[ 0-9a-f]+|(?<=\b(?:Uint8|Int8|Uint8Clamped)Array\(\d+\) \[)[^\]]+|(?<=\\"Buffer\\+",\\+"data\\+":\[)[\d,]+/g;

export function withoutBytes(text: string): string {
  return text.includes("Buffer") || text.includes("8Array(") || text.includes("8ClampedArray(")
    ? text.replace(BYTES, (bytes) => (bytes.startsWith("<") ? "<Buffer …" : "…"))
    : text;
}
