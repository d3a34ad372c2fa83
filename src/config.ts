import { type Environment, readEnvironment, REMARKS } from "./environment.ts";
import { Misconfigured } from "./errors.ts";
import { Secret } from "./secret.ts";
import {
  accountList,
  cron,
  encryptionKey,
  isSetting,
  keyList,
  mediaType,
  oneOf,
  onOrOff,
  optional,
  ownUrl,
  password,
  passwordBefore,
  platformUrl,
  postgresUrl,
  routePath,
  secret,
  type Setting,
  setting,
  type Settings,
  settingsIn,
  text,
  userName,
  type ValuesOf,
  wholeNumber,
} from "./setting.ts";
import { surroundingsOf } from "./surroundings.ts";
import { type YourSettings, yourSettings } from "./your-service/settings.ts";

/** Every setting of the kit. A test holds `.env.example` and `app.json` to these and to the vendor's own. */
// prettier-ignore
export const settings = {
  host: setting("HOST", "the address on which the web process listens; unset: all", optional(text), ""),
  port: setting("PORT", "the port on which the web process listens", wholeNumber(0, 65535), "3000"),
  publicUrl: setting("PUBLIC_URL", "our address as others see it; required where people sign in", optional(ownUrl), ""),
  trustProxy: setting("TRUST_PROXY", "how many proxies stand in front", wholeNumber(0, 10), "0"),
  databaseUrl: setting("DATABASE_URL", "the address of a PostgreSQL 15 or newer", postgresUrl),
  migrationDatabaseUrl: setting("MIGRATION_DATABASE_URL", "a role with DDL rights, for kit migrate", optional(postgresUrl), ""),
  databaseCa: setting("DATABASE_CA", "PEM or path of the CA to trust; no-verify for self-signed managed databases", optional(text), ""),
  databasePool: setting("DATABASE_POOL", "connections per process", wholeNumber(1, 200), "10"),
  addonId: setting("ADDON_ID", "user name of the platform's Basic credentials", userName),
  addonPassword: setting("ADDON_PASSWORD", "password of the platform's Basic credentials", password),
  addonPasswordPrevious: setting("ADDON_PASSWORD_PREVIOUS", "also accepted while set, to change the password without a gap", optional(passwordBefore), ""),
  resourcesPath: setting("RESOURCES_PATH", "where provision, plan change and deprovision arrive", routePath, "/resources"),
  platformApiUrl: setting("PLATFORM_API_URL", "the platform API", platformUrl),
  platformAuthUrl: setting("PLATFORM_AUTH_URL", "the authorization service", platformUrl),
  platformStatusUrl: setting("PLATFORM_STATUS_URL", "the status feed", platformUrl),
  platformMediaType: setting("PLATFORM_MEDIA_TYPE", "the Accept header", mediaType, "application/vnd.svc+json; version=3"),
  platformTokenPrefix: setting("PLATFORM_TOKEN_PREFIX", "how access tokens begin, for the log's scrubber", text, "SVCK-"),
  allowInsecurePlatform: setting("ALLOW_INSECURE_PLATFORM", "on: http and loopback platform addresses (development)", onOrOff, "off"),
  clientSecret: setting("CLIENT_SECRET", "the OAuth client secret; imported into the database", optional(secret), ""),
  legacyGrants: setting("LEGACY_GRANTS", "on: lost grants may be recovered at the oauth-grant endpoint", onOrOff, "off"),
  operatorPassword: setting("OPERATOR_PASSWORD", "password of the user operator, for /operator and /metrics", optional(password), ""),
  metricsPassword: setting("METRICS_PASSWORD", "password of the user metrics, for /metrics alone", optional(password), ""),
  operatorAccounts: setting("OPERATOR_ACCOUNTS", "ids or e-mails of the accounts that may sign in to /operator, comma separated", accountList, ""),
  oauthClientId: setting("OAUTH_CLIENT_ID", "the OAuth client that people sign in with", optional(text), ""),
  oauthClientSecret: setting("OAUTH_CLIENT_SECRET", "the secret of OAUTH_CLIENT_ID", optional(secret), ""),
  ssoSalt: setting("SSO_SALT", "the salt of sign-on from the platform's dashboard; unset: not served", optional(password), ""),
  ssoRequireUser: setting("SSO_REQUIRE_USER", "off: also sign-ons whose token does not say who the customer is", onOrOff, "on"),
  dashboardUrl: setting("DASHBOARD_URL", "the platform's dashboard, to which customers go back; {app} in it is the app's name", optional(ownUrl), ""),
  encryptionKey: setting("ENCRYPTION_KEY", "the key that seals: at least 32 characters", encryptionKey),
  decryptionKeys: setting("DECRYPTION_KEYS", "more decryption keys, comma separated", keyList, ""),
  sweepCron: setting("SWEEP_CRON", "when the jobs look for due work", cron, "*/15 * * * * *"),
  webJobs: setting("WEB_JOBS", "off: the web process runs no sweeps", onOrOff, "on"),
  processesExpected: setting("PROCESSES_EXPECTED", "how many web processes and workers must run; fewer are an alert; unset: not checked", optional(wholeNumber(1, 10_000)), ""),
  tokenConcurrency: setting("TOKEN_CONCURRENCY", "calls to the token endpoint in flight per process", wholeNumber(1, 1000), "64"),
  otlpEndpoint: setting("OTEL_EXPORTER_OTLP_ENDPOINT", "the OpenTelemetry collector that gets traces; unset: none are made", optional(ownUrl), ""),
  otlpHeaders: setting("OTEL_EXPORTER_OTLP_HEADERS", "headers for it, such as x-api-key=…, comma separated", optional(secret), ""),
  otlpProtocol: setting("OTEL_EXPORTER_OTLP_PROTOCOL", "how traces are sent: http/protobuf or http/json", oneOf("http/protobuf", "http/json"), "http/protobuf"),
  logLevel: setting("LOG_LEVEL", "how much is logged", oneOf("trace", "debug", "info", "warn", "error", "fatal", "silent"), "info"),
};

export type SettingName = keyof typeof settings;

export type Config = ValuesOf<typeof settings> & {
  /** The vendor's own settings, from `src/your-service/settings.ts`. */
  readonly yours: YourSettings;
  /** Warnings for the log: what was read differently from how it was written, or undoes what a setting promises. */
  readonly remarks: readonly string[];
};

export function hasOperator({ operatorPassword, operatorAccounts }: Config): boolean {
  return operatorPassword !== undefined || operatorAccounts.length > 0;
}

/**
 * Reads the settings, checks all of them and freezes them. Throws one {@link Misconfigured} that names every bad
 * variable and how to fix it, never a value. With `only`, just those settings are required and read. `own` are the
 * settings of the vendor's service.
 */
export function readConfig(
  env: Environment,
  only?: readonly SettingName[],
  own: Settings = yourSettings,
): Config {
  const insecure = env["ALLOW_INSECURE_PLATFORM"] === "on";
  const names = [...settingsIn(settings), ...settingsIn(own)].map(({ name }) => name);
  const { faults, remarks } = surroundingsOf(env, names, insecure);
  remarks.unshift(...(env[REMARKS] ?? []));

  function read([key, { name, about, standard, read }]: [string, Setting<unknown>]): [string, unknown] {
    const given = env[name] === undefined || env[name] === "" ? standard : env[name];
    try {
      if (given === undefined) throw new Error(`is required: ${about}`);
      const value = read(given, insecure);
      if (value instanceof Secret && /[\r\n]$/.test(given) && !/[\r\n]$/.test(value.reveal()))
        remarks.push(`${name} ended with a line end, which was dropped: set it without one.`);
      return [key, value];
    } catch (error) {
      faults.push(`${name} ${(error as Error).message}.`);
      return [key, undefined];
    }
  }
  const readAll = (table: Settings): object =>
    Object.freeze(
      Object.fromEntries(
        Object.entries(table).map(([key, row]) => (isSetting(row) ? read([key, row]) : [key, readAll(row)])),
      ),
    );
  const isWanted = (key: string) => !only || (only as readonly string[]).includes(key);
  const config = {
    ...Object.fromEntries(
      Object.entries(settings)
        .filter(([key]) => isWanted(key))
        .map(read),
    ),
    yours: only ? {} : readAll(own),
    remarks,
  } as unknown as Config;
  const isGiven = (key: SettingName) => isWanted(key) && Boolean(env[settings[key].name]);
  faults.push(...faultsBetween(config, isGiven, insecure));
  remarks.push(...remarksOn(config, isGiven, insecure));
  const list = (lines: string[]) => lines.map((line) => `\n  ${line}`).join("");
  // What is odd about the variables may be the reason why one is missing.
  if (faults.length > 0)
    throw new Misconfigured(
      `These settings are invalid (see .env.example):${list(faults)}${remarks.length > 0 ? `\nAlso:${list(remarks)}` : ""}`,
    );
  return Object.freeze(config);
}

/** The variables that `src/your-service` reads, for a caller that generates the others (the demo). */
export function yourEnvironment(env: Environment = readEnvironment()): Record<string, string> {
  const names = settingsIn(yourSettings).map(({ name }) => name);
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])));
}

/** The ways people sign in. */
const WAYS_IN = ["oauthClientId", "ssoSalt", "operatorPassword", "operatorAccounts"] as const;

/** Faults of several settings together: one sentence each. */
function faultsBetween(config: Config, isGiven: (key: SettingName) => boolean, insecure: boolean): string[] {
  const { encryptionKey: key, decryptionKeys = [] } = config;
  const keys = [key, ...decryptionKeys].flatMap((each) => each?.reveal() ?? []);
  const pair = [isGiven("oauthClientId"), isGiven("oauthClientSecret")];
  const waysIn = WAYS_IN.filter(isGiven).map((way) => settings[way].name);
  const faults: string[] = [];
  if (new Set(keys).size < keys.length)
    faults.push("DECRYPTION_KEYS holds a key twice, or ENCRYPTION_KEY again: name each once.");
  if (pair.includes(false) && (pair.includes(true) || isGiven("operatorAccounts")))
    faults.push(
      "OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET are required together, and beside OPERATOR_ACCOUNTS: people sign in with both.",
    );
  // A request must not decide which address people are sent to, and whether cookies are secure.
  if (!insecure && "publicUrl" in config && waysIn.length > 0 && !isGiven("publicUrl"))
    faults.push(
      `PUBLIC_URL is required beside ${waysIn.join(", ")}: the address at which browsers reach this service.`,
    );
  if (!insecure && isPlain(config.publicUrl) && waysIn.length > 0)
    faults.push(
      `PUBLIC_URL must begin with https:// beside ${waysIn.join(", ")}: browsers would send passwords and cookies unencrypted. It is the address that they show, also where a router ends TLS.`,
    );
  return faults;
}

const isPlain = (url: string | undefined) => /^http:/i.test(url ?? "");

/** What is valid and should not stay. */
function remarksOn(config: Config, isGiven: (key: SettingName) => boolean, insecure: boolean): string[] {
  const remarks: string[] = [];
  if (!insecure && isPlain(config.publicUrl) && !WAYS_IN.some(isGiven))
    remarks.push("PUBLIC_URL begins with http://: the platform would send its password there unencrypted.");
  if (isPlain(config.otlpEndpoint) && isGiven("otlpHeaders"))
    remarks.push(
      "OTEL_EXPORTER_OTLP_HEADERS are sent unencrypted, for OTEL_EXPORTER_OTLP_ENDPOINT is http://.",
    );
  return remarks;
}
