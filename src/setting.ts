import { isIP } from "node:net";
import { validate } from "node-cron";
import { Refusal } from "./errors.ts";
import { isEasyKey, isEasyPassword } from "./guessable.ts";
import { Secret } from "./secret.ts";

export interface Setting<Value> {
  name: string;
  about: string;
  /** The text that counts when the variable is absent or empty; without one the setting is required. */
  standard?: string;
  /** Throws with the end of the sentence "NAME …": what is wrong and how to fix it, never the value. */
  read(text: string, insecure: boolean): Value;
}

/** A table of settings. A row may be a table itself, of one setting for each region ({@link perRegion}). */
export type Settings = Readonly<Record<string, Setting<unknown> | PerRegion<string, unknown>>>;
export type PerRegion<Region extends string, Value> = Readonly<Record<Region, Setting<Value>>>;

export type ValuesOf<Table extends Settings> = {
  readonly [Key in keyof Table]: Table[Key] extends Setting<infer Value>
    ? Value
    : Table[Key] extends PerRegion<infer Region, infer Value>
      ? Readonly<Record<Region, Value>>
      : never;
};

/** All settings of a table, also those of each region. */
export function settingsIn(table: Settings): Setting<unknown>[] {
  return Object.values(table).flatMap((row) => (isSetting(row) ? [row] : Object.values(row)));
}

export const isSetting = (row: Settings[string]): row is Setting<unknown> => typeof row.read === "function";

/** Makes a row of a table of settings. The functions below are a `read` for most kinds. */
export function setting<Value>(
  name: string,
  about: string,
  read: Setting<Value>["read"],
  standard?: string,
): Setting<Value> {
  return standard === undefined ? { name, about, read } : { name, about, read, standard };
}

/**
 * One setting for each region of the offer: `perRegion(offer.regions, "QUEUE_API_URL", "where the broker is", text)` reads
 * `QUEUE_API_URL_US` and `QUEUE_API_URL_EU`. Their values are a table by region: see {@link inRegion}.
 */
export function perRegion<Region extends string, Value>(
  regions: readonly Region[],
  name: string,
  about: string,
  read: Setting<Value>["read"],
  standard?: string,
): PerRegion<Region, Value> {
  const row = (region: Region) => {
    const suffix = region.toUpperCase().replace(/[^A-Z0-9]+/g, "_");
    return [region, setting(`${name}_${suffix}`, `${about}, of the region ${region}`, read, standard)];
  };
  return Object.fromEntries(regions.map(row)) as PerRegion<Region, Value>;
}

/**
 * What a table by region has for the region of a resource; the first where the platform named none. Throws a `Refusal` for
 * a region that it lacks, so that a `provision` there is refused with a sentence.
 */
export function inRegion<Region extends string, Value>(
  table: Readonly<Record<Region, Value>>,
  region: NoInfer<Region> | null,
): Value {
  const [first] = Object.keys(table) as Region[];
  const chosen = region ?? first!;
  if (Object.hasOwn(table, chosen)) return table[chosen];
  const words = `This add-on is not available in the region "${chosen.slice(0, 60).toWellFormed()}". Regions: ${Object.keys(table).join(", ")}.`;
  throw new Refusal(words, { id: "unknown_region" });
}

// The kinds of settings: each function turns the text of a variable into its value, or throws the end of a sentence
// that begins with the variable's name. Never the value itself: it may be a secret.

export const optional =
  <Value>(read: (text: string, insecure: boolean) => Value) =>
  (text: string, insecure: boolean) =>
    text === "" ? undefined : read(text, insecure);

export const text = (value: string): string => value;

const matching = (pattern: RegExp, wrong: string) => (value: string) => {
  if (pattern.test(value)) return value;
  throw new Error(wrong);
};

/** Sent as a header of each call, so it may hold only one line of ASCII. */
export const mediaType = matching(
  /^[\x21-\x7e]+\/[\x20-\x7e]+$/,
  "must be a media type, like application/json or application/vnd.svc+json; version=3",
);

/** The user name of Basic credentials: a colon would end it. */
export const userName = matching(/^[^:\p{Cc}]*$/u, "must not contain a colon or control characters");

/** A timetable as node-cron takes it: five fields, or six with seconds first. */
export function cron(value: string): string {
  if (validate(value)) return value;
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

export const onOrOff = (value: string): boolean => oneOf("on", "off")(value) === "on";

/** As a sample file has it: no process may start with one. */
const PLACEHOLDER = /^(change[-_ ]?me.*|your[-_ ].*|placeholder|secret|password|todo|x{3,}|\.{3,}|<.*>)$/i;

/** One line of any text, as a portal shows it; only line ends that were copied with it are dropped. */
export function secret(value: string): Secret {
  const line = value.replace(/[\r\n]+$/, "");
  if (/[\p{Cc}\p{Zl}\p{Zp}\ufffd]|^\s*$/u.test(line))
    throw new Error("must be one line of text in UTF-8, without control characters");
  if (PLACEHOLDER.test(line)) throw new Error("still holds a placeholder; put the real value there");
  return new Secret(line);
}

const EASY = "is too easy to guess: make a long random one";

/** A secret that lets others in: outside development, one that takes many guesses. */
export function password(value: string, insecure: boolean): Secret {
  const given = secret(value);
  const text = given.reveal();
  if (insecure || (text.length >= 12 && !isEasyPassword(text))) return given;
  throw new Error(`${EASY} (openssl rand -hex 24)`);
}

/** The password that the platform still uses while it gets a better one: it may be any that was accepted once. */
export const passwordBefore = (value: string): Secret => secret(value);

/** What was sealed with an easy one is read with it in `DECRYPTION_KEYS`, so that it can be replaced. */
export function encryptionKey(value: string, insecure: boolean): Secret {
  const given = anyKey(value);
  if (insecure || !isEasyKey(value)) return given;
  throw new Error(
    `${EASY} (openssl rand -hex 32). If this one has sealed something, put it into DECRYPTION_KEYS, and run kit keys reseal`,
  );
}

function anyKey(value: string): Secret {
  if (value.length >= 32 && !/[,\s]/.test(value)) return secret(value);
  throw new Error("must have at least 32 characters, no comma and no white space (openssl rand -hex 32)");
}

const listOf =
  <Value>(read: (text: string) => Value) =>
  (value: string): Value[] =>
    value === "" ? [] : value.split(",").map((each) => read(each));

export const keyList = listOf(anyKey);

/** Each entry is one account: a pattern or a domain would admit anybody with a matching e-mail. */
export const accountList = listOf((account) =>
  matching(
    /^([0-9a-f-]{36}|[^\s\p{C}@,;<>"*]+@[^\s\p{C}@,;<>"*]+)$/iu,
    "must be the ids or the whole e-mails of accounts, comma separated",
  )(account.trim()),
);

export const routePath = matching(
  /^(\/[A-Za-z0-9._~-]+)+$/,
  "must be a path such as /resources, without a slash at its end",
);

/**
 * A secret, for it holds a password. As with libpq, its host may be missing, or be a socket's folder in the query. What
 * else is wrong with it the driver says.
 */
export function postgresUrl(value: string): Secret {
  const address = value.trim();
  const isAddress = /^postgres(ql)?:\/\/[^\r\n\t]*$/.test(address) && !isCutByPassword(address);
  const url = isAddress ? databaseAddress(address) : null;
  if (url && !(url.searchParams.get("host") ?? url.hostname).includes(",")) return new Secret(address);
  throw new Error(
    "must be an address like postgresql://user:password@host/database, of one host, with what is special in user and password percent-encoded: # as %23, / as %2F, ? as %3F, @ as %40, % as %25",
  );
}

/** Parameters of an address that may contain an `@`. */
const WITH_AT = /([?&](?:user|password|host|options|application_name|ssl\w+)=)[^&]*/g;

/**
 * A `#`, `/` or `?` in the password ends what names the host: of `postgresql://app:1/2@host/db` a client would look for the
 * host `app`. The `@` that should have ended the password then stands behind.
 */
function isCutByPassword(address: string): boolean {
  const [, behind = ""] = /^\w+:\/\/[^/?#]*(.*)$/.exec(address) ?? [];
  return behind.includes("#") || behind.replace(WITH_AT, "$1").includes("@");
}

/** Null if it cannot be read. Where it names no host, that is `localhost`. */
export function databaseAddress(text: string): URL | null {
  const whole = text.replace("@/", "@localhost/");
  return URL.canParse(whole) ? new URL(whole) : null;
}

/**
 * An address without white space around it and slashes at its end, as copied ones may have; null if it is none, has a
 * user name, a password, a query or a fragment, or is written so that a reader and a client may see two hosts in it.
 */
function addressIn(value: string): { url: URL; text: string } | null {
  const text = value.trim().replace(/\/+$/, "");
  // Paths are appended to the text as it is; `URL` drops or escapes white space, and shows no empty query or user.
  if (/[\s\p{C}?#@\\]/u.test(text) || !URL.canParse(text)) return null;
  const url = new URL(text);
  // `URL` also takes a host that is escaped, an IPv4 address in octal, letters of other scripts, and a missing slash.
  const [, written = ""] = /^https?:\/\/([^/]*)/i.exec(text) ?? [];
  const standard = url.protocol === "https:" ? /:443$/ : /:80$/;
  return written.toLowerCase().replace(standard, "") === url.host ? { url, text } : null;
}

const address = (isFine: (url: URL, insecure: boolean) => boolean, wrong: string) =>
  function read(value: string, insecure: boolean): string {
    const given = addressIn(value);
    if (given && isFine(given.url, insecure)) return given.text;
    throw new Error(wrong);
  };

const isWeb = ({ protocol }: URL) => /^https?:$/.test(protocol);

export const ownUrl = address(
  isWeb,
  "must be an address like https://addon.example.com, without a user name, a query or a fragment, and its host in plain letters (xn--… for others)",
);

/** An address that secrets are sent to: https and a public name, unless development allows otherwise. */
export const platformUrl = address(
  (url, insecure) => isPublic(url) || (insecure && isWeb(url)),
  "must be an address like https://api.example.com: https:// and a public host in plain letters, without a user name, a port, a query or a fragment (ALLOW_INSECURE_PLATFORM=on allows http, ports and other hosts in development)",
);

/** Names that no public server has: of this machine, of a network at home or at work, of a cluster, of a test. */
const NOT_PUBLIC =
  /(^|\.)(localhost|localdomain|local|internal|intranet|private|corp|home|lan|svc|test|arpa|onion)\d?$/i;

function isPublic({ protocol, hostname, port }: URL): boolean {
  // A host name with a dot at its end is the same host.
  const host = hostname.replace(/^\[|\]$|\.$/g, "");
  const isName = /^[\w-]+(\.[\w-]+)+$/.test(host) && !isIP(host);
  return protocol === "https:" && !port && isName && !NOT_PUBLIC.test(host);
}
