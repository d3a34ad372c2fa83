import { unescape } from "node:querystring";
import { base64Of, formsOf, HIDDEN, patternOf, Secret } from "../secret.ts";

/** Redacts secrets in a line of text: the last barrier before it leaves the process. */
export interface Scrubber {
  scrub(line: string): string;
  /** Redacts these values too from now on: the secrets of this process itself. */
  hide(...secrets: readonly Secret[]): void;
}

/**
 * The password in an address, `scheme://user:password@host`. A slash, a quote or an escape ends the search: a password
 * that is written correctly contains none, and the port of an address without a password is not taken for one.
 */
const PASSWORD_IN_ADDRESS = /(:\/\/[^\s/?#@:"\\]*:)[^\s/?#"\\]+(?=@)/g;
/**
 * Makes a scrubber. It redacts whatever begins with the platform's token prefix; every value given to `hide`, plain,
 * escaped, URL-encoded and in base64, also within a longer word; and passwords in addresses. It looks for values, and
 * not for the paths of members, on purpose: paths miss what is in an error's text, a header or a nested object.
 */
export function createScrubber(tokenPrefix: string): Scrubber {
  const forms = new Set<string>();
  const token = tokenPattern(tokenPrefix);
  let hidden: RegExp | null = null;
  return {
    scrub(line) {
      const withoutTokens = token ? line.replace(token, HIDDEN) : line;
      return withoutPasswords(hidden ? withoutTokens.replace(hidden, HIDDEN) : withoutTokens);
    },
    hide(...secrets) {
      for (const form of formsOf(secrets.map((each) => each.reveal()))) forms.add(form);
      hidden = patternOf(forms);
    },
  };
}

/** Few lines contain an @, and looking for it is faster than looking for `://` or for the pattern. */
function withoutPasswords(line: string): string {
  return line.includes("@") && line.includes("://") ? line.replace(PASSWORD_IN_ADDRESS, `$1${HIDDEN}`) : line;
}

/** A pattern for whatever begins with the prefix, plain or in base64; null without a prefix. */
function tokenPattern(prefix: string): RegExp | null {
  const begins = patternOf(prefix === "" ? [] : [prefix, ...base64Of(prefix)]);
  return begins && new RegExp(`(?:${begins.source})[\\w~.+/%-]+`, "g");
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
