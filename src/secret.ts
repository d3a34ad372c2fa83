import { unescape } from "node:querystring";
import { inspect } from "node:util";

/** What is shown in place of a secret. */
export const HIDDEN = "[secret]";

/**
 * A value that must not be seen: logging, JSON, string templates and inspection all show `[secret]`, and
 * `structuredClone` finds nothing to copy.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself. Call it as late as possible, and never into a log line, a URL or an error. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return HIDDEN;
  }

  toJSON(): string {
    return HIDDEN;
  }

  [inspect.custom](): string {
    return HIDDEN;
  }
}

// Secrets in texts are found by their values, in every form in which one may be written. Not by the paths of members:
// these miss what is in an error's text, a header or a nested object.

/** Values and forms with fewer characters are not searched for: they would be found in ordinary words. */
const SHORTEST = 4;

/** A text without these secrets, in any form. */
export function redact(text: string, secrets: readonly string[]): string {
  const pattern = patternOf(formsOf(secrets));
  return pattern ? text.replace(pattern, HIDDEN) : text;
}

/** Finds any of these texts; where several begin, the longest. Null: there are none. */
function patternOf(texts: Iterable<string>): RegExp | null {
  const longestFirst = [...texts].sort((one, other) => other.length - one.length);
  const escaped = longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return escaped.length > 0 ? new RegExp(escaped.join("|"), "g") : null;
}

/** Every form in which these secrets may be written: plain, escaped, URL-encoded and in base64. */
export function formsOf(secrets: readonly string[]): string[] {
  const values = secrets.filter(({ length }) => length >= SHORTEST);
  const forms = values.flatMap((value) => [value, ...encoded(value), ...escaped(value), ...base64Of(value)]);
  return [...new Set(forms)].filter(({ length }) => length >= SHORTEST);
}

/** As in a URL, in a form, and in either within a URL; with hexadecimal digits in capitals and in small letters. */
function encoded(value: string): string[] {
  const inUrl = encodeURIComponent(value.toWellFormed());
  const inForm = new URLSearchParams([["", value]]).toString().slice(1);
  const upper = [inUrl, inForm, encodeURIComponent(inUrl), encodeURIComponent(inForm)];
  return [...upper, ...upper.map((each) => each.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))];
}

/** As JSON, once to three times: a log line is JSON, and may quote JSON. Also as JavaScript shows a text. */
function escaped(value: string): string[] {
  const json = (text: string) => JSON.stringify(text).slice(1, -1);
  const shown = inspect(value).slice(1, -1);
  return [json(value), json(json(value)), json(json(json(value))), json(shown), json(json(shown))];
}

/**
 * In base64, also as part of a longer text, like the password in Basic credentials. A digit of base64 holds six bits,
 * so a value can begin in three positions; a first or last digit that is shared with a neighbour is left out.
 */
function base64Of(value: string): string[] {
  const bytes = Buffer.from(`\0\0${value}`);
  const forms = [0, 1, 2].flatMap((before) => {
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor(((bytes.length - 2 + before) * 8) / 6);
    const form = bytes.toString("base64", 2 - before).slice(first, last);
    return /[+/]/.test(form) ? [form, form.replaceAll("+", "-").replaceAll("/", "_")] : [form];
  });
  return forms.filter(({ length }) => length >= SHORTEST);
}

/** Redacts secrets in a line of text: the last barrier before it leaves the process. */
export type Scrubber = ReturnType<typeof createScrubber>;

/**
 * The password in an address, `scheme://user:password@host`. A slash, a quote or an escape ends the search: a password
 * that is written correctly contains none, and the port of an address without a password is not taken for one.
 */
const PASSWORD_IN_ADDRESS = /(:\/\/[^\s/?#@:"\\]*:)[^\s/?#"\\]+(?=@)/g;

/** Redacts whatever begins with the platform's token prefix, every value given to `hide`, and passwords in addresses. */
export function createScrubber(tokenPrefix: string) {
  const forms = new Set<string>();
  const begins = patternOf(tokenPrefix === "" ? [] : [tokenPrefix, ...base64Of(tokenPrefix)]);
  const token = begins && new RegExp(`(?:${begins.source})[\\w~.+/%-]+`, "g");
  let hidden: RegExp | null = null;
  return {
    scrub(line: string): string {
      const withoutTokens = token ? line.replace(token, HIDDEN) : line;
      const clean = hidden ? withoutTokens.replace(hidden, HIDDEN) : withoutTokens;
      // Few lines contain an @, and looking for it is faster than looking for `://` or for the pattern.
      const mayHoldAddress = clean.includes("@") && clean.includes("://");
      return mayHoldAddress ? clean.replace(PASSWORD_IN_ADDRESS, `$1${HIDDEN}`) : clean;
    },
    /** Redacts these values too from now on. */
    hide(...secrets: readonly Secret[]): void {
      for (const form of formsOf(secrets.map((each) => each.reveal()))) forms.add(form);
      hidden = patternOf(forms);
    },
  };
}

/** A scrubber that hides the secrets in these settings, the vendor's own settings included. */
export function createOwnScrubber(config: { readonly platformTokenPrefix?: string }): Scrubber {
  const scrubber = createScrubber(config.platformTokenPrefix ?? "");
  scrubber.hide(...secretsIn(config));
  return scrubber;
}

/** All secrets in a value. A setting may be a list of secrets, and one of the vendor's an object that holds some. */
function secretsIn(value: unknown): Secret[] {
  if (value instanceof Secret) return [value, ...passwordIn(value.reveal())];
  const isOpen = Array.isArray(value) || (value && Object.getPrototypeOf(value) === Object.prototype);
  return isOpen ? Object.values(value as object).flatMap(secretsIn) : [];
}

/**
 * The password in an address, as written there and decoded: an error may quote it by itself. Empty if it is short, such
 * as `postgres`: that may be a common word in the log.
 */
function passwordIn(text: string): Secret[] {
  const { username, password } = URL.canParse(text) ? new URL(text) : { username: "", password: "" };
  if (password.length < 12 || password === username) return [];
  return [new Secret(password), new Secret(unescape(password))];
}
