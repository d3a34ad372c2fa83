import { unescape } from "node:querystring";
import { inspect } from "node:util";
import { base64Of, formsOf, hexOf, patternOf, withoutBytes } from "./secret-forms.ts";

/** The text that is shown in place of a secret. */
export const HIDDEN = "[secret]";

/**
 * A value that must not be seen. Logging, JSON, string templates and inspection show `[secret]`; `structuredClone` copies
 * no value.
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

/** A text without these secrets, in any form. */
export function redact(text: string, secrets: readonly string[]): string {
  return redactorOf(secrets)(text);
}

/** As {@link redact}, for several texts. */
export function redactorOf(secrets: readonly string[]): (text: string) => string {
  const pattern = patternOf(formsOf(secrets));
  return (text) => (pattern ? text.replace(pattern, HIDDEN) : text);
}

/** Redacts secrets in a line of text: the last barrier before it leaves the process. */
export type Scrubber = ReturnType<typeof createScrubber>;

/**
 * The password in an address, `scheme://user:password@host`. A slash, a quote or an escape ends the search, because a valid
 * password contains none. The port of an address without a password is not taken for one.
 */
const PASSWORD_IN_ADDRESS = /(:\/\/[^\s/?#@:"\\]*:)[^\s/?#"\\]+(?=@)/g;

/** Redacts words that begin with the platform's token prefix, every value given to `hide`, and passwords in addresses. */
export function createScrubber(tokenPrefix: string) {
  const forms = new Set<string>();
  const prefixes = tokenPrefix === "" ? [] : [tokenPrefix, ...base64Of(tokenPrefix), hexOf(tokenPrefix)];
  const begins = patternOf(prefixes);
  const token = begins && new RegExp(`(?:${begins.source})[\\w~.+/%-]+`, "gi");
  let hidden: RegExp | null = null;
  let suspicious = suspicionOf(prefixes);
  return {
    scrub(line: string): string {
      // Most lines contain no secret. A case-sensitive pattern is twice as fast, and one pass is faster than two.
      const clean = suspicious?.test(line.toLowerCase()) ? withoutSecrets(line) : line;
      // Few lines contain an @, and a search for it is faster than one for `://` or for the pattern.
      const mayHoldAddress = clean.includes("@") && clean.includes("://");
      return withoutBytes(mayHoldAddress ? clean.replace(PASSWORD_IN_ADDRESS, `$1${HIDDEN}`) : clean);
    },
    /** Redacts these values too from now on. */
    hide(...secrets: readonly Secret[]): void {
      const values = secrets.map((each) => each.reveal());
      if (values.every((value) => forms.has(value))) return;
      for (const form of formsOf(values)) forms.add(form);
      hidden = patternOf(forms);
      suspicious = suspicionOf([...prefixes, ...forms]);
    },
  };

  function withoutSecrets(line: string): string {
    const withoutTokens = token ? line.replace(token, HIDDEN) : line;
    return hidden ? withoutTokens.replace(hidden, HIDDEN) : withoutTokens;
  }
}

/** Finds any of these forms in a line in lower case. */
function suspicionOf(forms: readonly string[]): RegExp | null {
  const pattern = patternOf(new Set(forms.map((form) => form.toLowerCase())), "");
  // Which of the two small letters a capital sigma becomes depends on what follows.
  return pattern && new RegExp(pattern.source.replace(/[σς]/g, "[σς]"));
}

/** A scrubber that hides the secrets in these settings, the vendor's own settings included. */
export function createOwnScrubber(config: { readonly platformTokenPrefix?: string }): Scrubber {
  const scrubber = createScrubber(config.platformTokenPrefix ?? "");
  scrubber.hide(...secretsIn(config));
  return scrubber;
}

/** All secrets in a value. A setting may be a list of secrets; a vendor's setting may be an object with secrets. */
function secretsIn(value: unknown): Secret[] {
  if (value instanceof Secret) return [value, ...passwordIn(value.reveal())];
  const isOpen = Array.isArray(value) || (value && Object.getPrototypeOf(value) === Object.prototype);
  return isOpen ? Object.values(value as object).flatMap(secretsIn) : [];
}

/**
 * The password in an address, as written and decoded, because an error may quote it alone. None if the password is short,
 * such as `postgres`: it may be a common word in the log.
 */
function passwordIn(text: string): Secret[] {
  const { username, password } = URL.canParse(text) ? new URL(text) : { username: "", password: "" };
  if (password.length < 12 || password === username) return [];
  return [new Secret(password), new Secret(unescape(password))];
}
