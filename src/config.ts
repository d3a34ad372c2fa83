import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";
import { Misconfigured } from "./errors.ts";
import { Secret } from "./secret.ts";
import { setting, type Setting, type Settings, type ValuesOf } from "./setting.ts";
import {
  accountList,
  clientSecret,
  cron,
  encryptionKey,
  headerText,
  keyList,
  onOrOff,
  oneOf,
  optional,
  ownUrl,
  platformUrl,
  postgresUrl,
  routePath,
  secret,
  text,
  userName,
  wholeNumber,
} from "./setting-kinds.ts";
import { yourSettings, type YourSettings } from "./your-service/settings.ts";

/**
 * Every setting of the kit. A test checks `.env.example` and `app.json` against these settings and the vendor's own.
 */
export const settings = {
  port: setting("PORT", "where the web process listens", wholeNumber(0, 65535), "3000"),
  publicUrl: setting(
    "PUBLIC_URL",
    "our address as others see it; unset: as the request says",
    optional(ownUrl),
    "",
  ),
  trustProxy: setting("TRUST_PROXY", "how many proxies stand in front", wholeNumber(0, 10), "0"),
  databaseUrl: setting("DATABASE_URL", "PostgreSQL; unset: the embedded database", optional(postgresUrl), ""),
  migrationDatabaseUrl: setting(
    "MIGRATION_DATABASE_URL",
    "a role with DDL rights, for kit migrate",
    optional(postgresUrl),
    "",
  ),
  databaseCa: setting(
    "DATABASE_CA",
    "PEM or path of the CA to trust; no-verify for self-signed managed databases",
    optional(text),
    "",
  ),
  databasePool: setting("DATABASE_POOL", "connections per process", wholeNumber(1, 200), "10"),
  dataDir: setting("DATA_DIR", "the embedded database's folder", text, ".data"),
  addonId: setting("ADDON_ID", "user name of the platform's Basic credentials", userName),
  addonPassword: setting("ADDON_PASSWORD", "password of the platform's Basic credentials", secret),
  addonPasswordPrevious: setting(
    "ADDON_PASSWORD_PREVIOUS",
    "also accepted while set, to change the password without a gap",
    optional(secret),
    "",
  ),
  resourcesPath: setting("RESOURCES_PATH", "where the three calls arrive", routePath, "/resources"),
  platformApiUrl: setting("PLATFORM_API_URL", "the platform API", platformUrl),
  platformAuthUrl: setting("PLATFORM_AUTH_URL", "the authorization service", platformUrl),
  platformStatusUrl: setting("PLATFORM_STATUS_URL", "the status feed", platformUrl),
  platformMediaType: setting(
    "PLATFORM_MEDIA_TYPE",
    "the Accept header",
    headerText,
    "application/vnd.svc+json; version=3",
  ),
  platformTokenPrefix: setting(
    "PLATFORM_TOKEN_PREFIX",
    "how access tokens begin, for the log's scrubber",
    text,
    "SVCK-",
  ),
  allowInsecurePlatform: setting(
    "ALLOW_INSECURE_PLATFORM",
    "on: http and loopback platform addresses (development)",
    onOrOff,
    "off",
  ),
  clientSecret: setting(
    "CLIENT_SECRET",
    "the OAuth client secret; imported into the database",
    optional(clientSecret),
    "",
  ),
  legacyGrants: setting(
    "LEGACY_GRANTS",
    "on: lost grants may be recovered at the oauth-grant endpoint",
    onOrOff,
    "off",
  ),
  operatorPassword: setting(
    "OPERATOR_PASSWORD",
    "password of the user operator, for /operator and /metrics; unset: no metrics",
    optional(secret),
    "",
  ),
  operatorAccounts: setting(
    "OPERATOR_ACCOUNTS",
    "ids or e-mails of the accounts that may sign in to /operator, comma separated",
    accountList,
    "",
  ),
  oauthClientId: setting("OAUTH_CLIENT_ID", "the OAuth client that people sign in with", optional(text), ""),
  oauthClientSecret: setting(
    "OAUTH_CLIENT_SECRET",
    "the secret of OAUTH_CLIENT_ID",
    optional(clientSecret),
    "",
  ),
  ssoSalt: setting(
    "SSO_SALT",
    "the salt of sign-on from the platform's dashboard; unset: not served",
    optional(secret),
    "",
  ),
  ssoRequireUser: setting(
    "SSO_REQUIRE_USER",
    "on: only sign-ons whose token says who the customer is",
    onOrOff,
    "off",
  ),
  encryptionKey: setting("ENCRYPTION_KEY", "the key that seals: at least 32 characters", encryptionKey),
  decryptionKeys: setting("DECRYPTION_KEYS", "further keys that may open, comma separated", keyList, ""),
  sweepCron: setting("SWEEP_CRON", "when the jobs look for due work", cron, "*/15 * * * * *"),
  webJobs: setting("WEB_JOBS", "off: the web process runs no sweeps", onOrOff, "on"),
  tokenConcurrency: setting(
    "TOKEN_CONCURRENCY",
    "calls to the token endpoint in flight per process",
    wholeNumber(1, 1000),
    "64",
  ),
  logLevel: setting(
    "LOG_LEVEL",
    "how much is logged",
    oneOf("trace", "debug", "info", "warn", "error", "fatal", "silent"),
    "info",
  ),
};

export type SettingName = keyof typeof settings;
export type Config = ValuesOf<typeof settings> & {
  /** The vendor's own settings, from `src/your-service/settings.ts`. */
  readonly yours: YourSettings;
  /** Warnings for the log: a value was read differently from how it was written, or is not fit for production. */
  readonly remarks: readonly string[];
};

/**
 * Reads the settings, checks all of them and freezes them. Throws one {@link Misconfigured} that names every bad
 * variable and how to mend it, never a value. With `only`, just those settings are required and read. `own` are the
 * settings of the vendor's service; their names are checked even when their values are not read.
 */
export function readConfig(
  env: Environment,
  only?: readonly SettingName[],
  own: Settings = yourSettings,
): Config {
  const faults = wrongNames(own);
  // While a vendor's setting has a bad or duplicate name, none of their values is read, so no fault is reported twice.
  const isOwnRead = !only && faults.length === 0;
  const remarks: string[] = [];
  const insecure = env["ALLOW_INSECURE_PLATFORM"] === "on";

  function read(key: string, { name, about, standard, read }: Setting<unknown>): [string, unknown] {
    const given = env[name] === undefined || env[name] === "" ? standard : env[name];
    try {
      if (given === undefined) throw new Error(`is required: ${about}`);
      const value = read(given, insecure);
      const inOneLine = given.replace(/[\r\n]+$/, "");
      if (value instanceof Secret && inOneLine !== given && value.reveal() === inOneLine)
        remarks.push(`${name} ended with a line end, which was dropped: set it without one.`);
      return [key, value];
    } catch (error) {
      faults.push(`${name} ${(error as Error).message}.`);
      return [key, undefined];
    }
  }
  const readAll = (table: Settings) =>
    Object.fromEntries(Object.entries(table).map(([key, each]) => read(key, each)));
  const isWanted = (key: SettingName) => !only || only.includes(key);
  const wanted = Object.entries(settings).filter(([key]) => isWanted(key as SettingName));
  const config = {
    ...readAll(Object.fromEntries(wanted)),
    yours: Object.freeze(isOwnRead ? readAll(own) : {}),
    remarks,
  } as unknown as Config;
  faults.push(...disagreements(config, (key) => isWanted(key) && Boolean(env[settings[key].name])));
  if (faults.length > 0) {
    throw new Misconfigured(
      `${faults.length === 1 ? "One setting needs" : `${faults.length} settings need`} mending (see .env.example):\n` +
        faults.map((fault) => `  ${fault}`).join("\n"),
    );
  }
  if (!only) remarks.push(...notForProduction(config));
  return Object.freeze(config);
}

/** One sentence for each fault in the names of the vendor's settings. */
export function wrongNames(own: Settings): string[] {
  const kits = new Set(Object.values<Setting<unknown>>(settings).map(({ name }) => name));
  const names = Object.values(own).map(({ name }) => name);
  const twice = names.filter((name, at) => names.indexOf(name) < at);
  return [
    ...names
      .filter((name) => !/^[A-Z_][A-Z0-9_]*$/.test(name))
      .map((name) => `${JSON.stringify(name)} can be no variable's name: use capitals, digits and _.`),
    ...[...new Set(names)]
      .filter((name) => kits.has(name))
      .map((name) => `${name} is a setting of the kit's own: give yours another name.`),
    ...[...new Set(twice)].map(
      (name) => `${name} is the name of more than one of your settings: give each its own.`,
    ),
  ];
}

export type Environment = Readonly<Record<string, string | undefined>>;

/** The variables that `src/your-service` reads, for a caller that makes up all the others (the demo). */
export function yourEnvironment(env: Environment = readEnvironment()): Record<string, string> {
  const names = Object.values<Setting<unknown>>(yourSettings).map(({ name }) => name);
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

/**
 * The environment; for what it lacks, the `.env` file in the working folder; and for what both lack, on the embedded
 * database only, the settings that `npm run dev` made, so that the command line reaches the service that it started.
 */
export function readEnvironment(env: Environment = process.env, folder = process.cwd()): Environment {
  const chosen = chosenSettings(env, folder);
  return { ...madeByDev(chosen, folder), ...chosen };
}

/** The names of the settings that `npm run dev` made up because neither the environment nor `.env` gives them. */
export function madeUpNames(env: Environment = process.env, folder = process.cwd()): string[] {
  const chosen = chosenSettings(env, folder);
  return Object.keys(madeByDev(chosen, folder)).filter((name) => chosen[name] === undefined);
}

/**
 * An empty setting in `.env` counts as absent, as in a fresh copy of `.env.example`. An empty variable in the
 * environment overrides `.env` and what `npm run dev` made: the default applies.
 */
function chosenSettings(env: Environment, folder: string): Environment {
  const written = Object.entries(fileSettings(path.join(folder, ".env"))).filter(([, value]) => value !== "");
  return { ...Object.fromEntries(written), ...env };
}

function madeByDev(chosen: Environment, folder: string): Environment {
  if (chosen["DATABASE_URL"]) return {};
  return fileSettings(path.resolve(folder, chosen["DATA_DIR"] || settings.dataDir.standard!, "dev.env"));
}

function fileSettings(file: string): Environment {
  if (!existsSync(file)) return {};
  const text = readFileSync(file, "utf8");
  const values = parseEnv(text) as Environment;
  refuseCutValues(file, text, values);
  return values;
}

/**
 * Throws {@link Misconfigured} if a value was cut: outside quotes any # begins a comment, even in the middle of a
 * secret. The text is parsed once more with every # that follows a non-space replaced, except where the whole value is
 * a comment (`NAME=# …`); a value that then differs was cut at its #.
 */
function refuseCutValues(file: string, text: string, values: Environment): void {
  const other = "\u{F0023}";
  const whole = Object.entries(
    parseEnv(text.replace(/(?<=\S)#(?<!^[^=\n]*=#(?=\s))/gm, other)) as Environment,
  );
  const cut = whole
    .map((pair) => pair.map((part = "") => part.replaceAll(other, "#")) as [string, string])
    .flatMap(([name, value]) => (values[name] === value ? [] : [name]));
  if (cut.length === 0) return;
  throw new Misconfigured(
    `${cut.join(", ")} in ${file}: outside quotes, a value ends before its #. Put it in quotes, or a space before a comment.`,
  );
}

/** Remarks on what is fit for development only. A real platform has real customers, whose data must not be lost. */
function notForProduction({ databaseUrl, dataDir, allowInsecurePlatform }: Config): string[] {
  if (databaseUrl || allowInsecurePlatform) return [];
  return [
    `DATABASE_URL is not set, so everything is kept in the embedded database in ${dataDir}, which is for development: ` +
      "it serves one machine, and a power cut or a new machine may lose it. Set it to a PostgreSQL.",
  ];
}

/**
 * Faults between settings, one sentence each. A setting with a fault of its own counts as given: it is reported once.
 */
function disagreements(
  { encryptionKey: key, decryptionKeys = [] }: Config,
  isGiven: (key: SettingName) => boolean,
): string[] {
  const faults: string[] = [];
  const keys = [key, ...decryptionKeys].flatMap((each) => each?.reveal() ?? []);
  if (new Set(keys).size < keys.length)
    faults.push("DECRYPTION_KEYS holds a key twice, or ENCRYPTION_KEY again: name each once.");
  const [hasId, hasSecret] = [isGiven("oauthClientId"), isGiven("oauthClientSecret")];
  if (hasId && !hasSecret)
    faults.push("OAUTH_CLIENT_SECRET is required beside OAUTH_CLIENT_ID: people sign in with both.");
  if (hasSecret && !hasId)
    faults.push("OAUTH_CLIENT_ID is required beside OAUTH_CLIENT_SECRET: people sign in with both.");
  if (isGiven("operatorAccounts") && !hasId && !hasSecret)
    faults.push(
      "OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET are required beside OPERATOR_ACCOUNTS: these accounts sign in with both.",
    );
  return faults;
}
