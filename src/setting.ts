import { isIP } from "node:net";
import { validate } from "node-cron";
import { isOwnPath } from "./http/own-paths.ts";
import { Secret } from "./secret.ts";

/** One setting: its name in the environment, what it means, and how its text becomes a value. */
export interface Setting<Value> {
  name: string;
  about: string;
  /** The text that counts when the variable is absent or empty; without one the setting is required. */
  standard?: string;
  /** Throws with the end of the sentence "NAME …": what is wrong and how to mend it, never the value. */
  read(text: string, insecure: boolean): Value;
}

export type Settings = Readonly<Record<string, Setting<unknown>>>;

/** What a table of settings becomes once it is read. */
export type ValuesOf<Table extends Settings> = {
  readonly [Key in keyof Table]: ReturnType<Table[Key]["read"]>;
};

/**
 * Makes a row of a table of settings. The functions below are a `read` for most kinds. Required without `standard`.
 */
export function setting<Value>(
  name: string,
  about: string,
  read: Setting<Value>["read"],
  standard?: string,
): Setting<Value> {
  return standard === undefined ? { name, about, read } : { name, about, read, standard };
}

// The kinds of settings: each function turns the text of a variable into its value, or throws the end of a sentence
// that begins with the variable's name. Never the value itself: it may be a secret.

/** Makes a setting optional: an empty text gives undefined. */
export const optional =
  <Value>(read: (text: string, insecure: boolean) => Value) =>
  (text: string, insecure: boolean) =>
    text === "" ? undefined : read(text, insecure);

export function text(value: string): string {
  return value;
}

/** Sent as a header of each call, so it may hold only one line of ASCII. */
export function mediaType(value: string): string {
  if (/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+( *; *[\w!#$&^.+-]+=("[\x20-\x7e]+"|[\w!#$&^.+-]+))*$/.test(value))
    return value;
  throw new Error("must be a media type, like application/json or application/vnd.svc+json; version=3");
}

/** A timetable as node-cron takes it: five fields, or six with seconds first. */
export function cron(value: string): string {
  // node-cron wants one space between two fields.
  const expression = value.trim().split(/\s+/).join(" ");
  if (validate(expression)) return expression;
  throw new Error('must be a cron expression, like "*/15 * * * * *" (the first of six fields is seconds)');
}

export function wholeNumber(least: number, most: number) {
  return (value: string): number => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= least && number <= most) return number;
    throw new Error(`must be a whole number from ${least} to ${most}`);
  };
}

export function oneOf<Word extends string>(...words: Word[]) {
  return (value: string): Word => {
    if ((words as string[]).includes(value)) return value as Word;
    throw new Error(`must be one of ${words.join(", ")}`);
  };
}

export function onOrOff(value: string): boolean {
  return oneOf("on", "off")(value) === "on";
}

/** The user name of Basic credentials: a colon would end it. */
export function userName(value: string): string {
  if (/[:\p{Cc}]/u.test(value)) throw new Error("must not contain a colon or control characters");
  return value;
}

/** A password or other secret text. */
export function secret(value: string): Secret {
  if (/\p{Cc}/u.test(value)) throw new Error("must not contain control characters");
  refusePlaceholder(value);
  return new Secret(value);
}

/** Refuses a placeholder, as a sample file has: no process may start with one. */
function refusePlaceholder(value: string): void {
  if (/^(change[-_ ]?me.*|your[-_ ].*|placeholder|secret|password|todo|x{3,}|\.{3,}|<.*>)$/i.test(value)) {
    throw new Error("still holds a placeholder; put the real value there");
  }
}

/** One line of any text, as the portal shows it; only line ends that were copied with it are dropped. */
export function clientSecret(value: string): Secret {
  const trimmed = value.replace(/[\r\n]+$/, "");
  if (trimmed.trim() === "") throw new Error("is empty");
  if (/\p{Cc}/u.test(trimmed)) throw new Error("must not contain control characters, nor more than one line");
  refusePlaceholder(trimmed);
  return new Secret(trimmed);
}

export function encryptionKey(value: string): Secret {
  if (/[,\s]/.test(value)) throw new Error("must not contain a comma or white space");
  if (value.length < 32)
    throw new Error("must have at least 32 characters (make one with: openssl rand -hex 32)");
  refusePlaceholder(value);
  return new Secret(value);
}

export function keyList(value: string): Secret[] {
  if (value === "") return [];
  return value.split(",").map((key, index) => {
    try {
      return encryptionKey(key);
    } catch (error) {
      throw new Error(`(key ${index + 1} of the list) ${(error as Error).message}`, { cause: error });
    }
  });
}

const ACCOUNT_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const EMAIL = /^[^\s\p{C}@,;<>"*]+@[^\s\p{C}@,;<>"*]+$/u;

/**
 * Accounts by id or e-mail. Each entry is one account: a pattern or a domain would admit anybody with a matching
 * e-mail.
 */
export function accountList(value: string): string[] {
  if (value === "") return [];
  return value.split(",").map((each, index) => {
    const account = each.trim();
    if (ACCOUNT_ID.test(account) || EMAIL.test(account)) return account;
    throw new Error(`(account ${index + 1} of the list) must be an account's id or its whole e-mail`);
  });
}

export function routePath(value: string): string {
  if (isOwnPath(value))
    throw new Error(
      "must not begin with a path that the service answers itself, for its health, metrics or pages: begin it with a word of your own",
    );
  if (/^(\/[A-Za-z0-9._~-]+)+$/.test(value)) return value;
  throw new Error("must be a path such as /resources, without a slash at its end");
}

/**
 * A secret, for it holds a password. As with libpq, its host may be missing, or be a socket's folder in the query. What
 * else is wrong with it the driver says.
 */
export function postgresUrl(value: string): Secret {
  const address = value.trim();
  if (!/^postgres(ql)?:\/\//.test(address) || !databaseAddress(address) || /[\r\n\t]/.test(address))
    throw new Error(
      "must be an address like postgresql://user:password@host/database, with whatever is special in the password percent-encoded",
    );
  if (/^\w+:\/\/[^/?]*,/.test(address.replace(/\/\/.*@/, "//")))
    throw new Error("must name one host, not several");
  return new Secret(address);
}

/** The parts of such an address; null if it cannot be read. Where it names no host, that is `localhost`. */
export function databaseAddress(text: string): URL | null {
  const whole = text.replace("@/", "@localhost/");
  return URL.canParse(whole) ? new URL(whole) : null;
}

/**
 * An address without white space around it and slashes at its end, as copied ones may have; null if it is not an
 * address.
 */
function addressIn(value: string): { url: URL; text: string } | null {
  const text = value.trim().replace(/\/+$/, "");
  // `URL` would drop or escape white space inside, but paths are appended to the text as it is: so it is refused.
  return /[\s\p{C}]/u.test(text) || !URL.canParse(text) ? null : { url: new URL(text), text };
}

/** Our own public address, without slashes at its end. */
export function ownUrl(value: string): string {
  const address = addressIn(value);
  if (!address || !/^https?:$/.test(address.url.protocol))
    throw new Error("must be an address like https://addon.example.com");
  const { url, text } = address;
  if (url.username || url.password || url.search || url.hash)
    throw new Error("must not contain a user name, a password, a query or a fragment");
  return text;
}

/** An address that secrets are sent to: https and a public name, unless development allows otherwise. */
export function platformUrl(value: string, insecure: boolean): string {
  const address = addressIn(value);
  if (!address) throw new Error("must be an address like https://api.example.com");
  const { url, text } = address;
  if (url.username || url.password) throw new Error("must not contain a user name or password");
  if (url.search || url.hash) throw new Error("must not contain a query or a fragment");
  if (url.protocol !== "https:" && !(insecure && url.protocol === "http:")) {
    throw new Error("must begin with https:// (ALLOW_INSECURE_PLATFORM=on allows http in development)");
  }
  // A host name with a dot at its end is the same host.
  const host = url.hostname.replace(/^\[|\]$|\.$/g, "");
  if (
    !insecure &&
    (isIP(host) || url.port || !host.includes(".") || /(^|\.)(localhost|local|internal)$/i.test(host))
  ) {
    throw new Error(
      "must name a public host without a port (ALLOW_INSECURE_PLATFORM=on allows others in development)",
    );
  }
  return text;
}
