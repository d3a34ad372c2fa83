import { setting } from "./setting.ts";
import {
  accountList,
  clientSecret,
  cron,
  encryptionKey,
  mediaType,
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
  databaseUrl: setting("DATABASE_URL", "the address of a PostgreSQL 15 or newer", postgresUrl),
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
    mediaType,
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
