import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import {
  DEFAULT_DATA_DIR,
  type Environment,
  fileSettings,
  readChosenEnvironment,
  readEnvironment,
} from "../src/environment.ts";
import { Misconfigured } from "../src/errors.ts";
import { addonId } from "../src/your-service/plans.ts";
import { newUrl } from "./postgresql.ts";

export interface DevSettings {
  /** The environment that the service is started with. */
  environment: Environment;
  /** The path as it was given, which may be relative to the working folder. */
  dataDir: string;
  sandboxPort: number;
  /** Whether no database is given, so that one of our own is started, with the DATABASE_URL that was generated. */
  hasOwnDatabase: boolean;
  /** The names in `dev.env` for which the environment or `.env` has another value, which applies. */
  overridden: string[];
  /** Whether this is the first run with this folder. */
  isFirstRun: boolean;
  /** Stores the platform's address of now and the values in `given`. To be called only by a process that owns the folder. */
  keepAddresses(given?: Record<string, string>): void;
}

/**
 * The settings for development. Values that neither the environment nor `.env` sets are generated once and kept in
 * `DATA_DIR/dev.env`, readable by its owner alone, where the command line finds them too.
 *
 * CLIENT_SECRET keeps its first value there: the service imports a value only once, so after a reset at the platform
 * and `kit secret set` both use the newer one, whatever the file says.
 */
export function devSettings(env: Environment = process.env, folder = process.cwd()): DevSettings {
  const chosen = readEnvironment(env, folder);
  const dataDir = chosen["DATA_DIR"] || DEFAULT_DATA_DIR;
  const file = path.resolve(folder, dataDir, "dev.env");
  const isFirstRun = !existsSync(file);
  const kept = fileSettings(file);
  const hasOwnDatabase = !readChosenEnvironment(env, folder)["DATABASE_URL"];
  if (hasOwnDatabase && !isFirstRun && !kept["DATABASE_URL"])
    throw new Misconfigured(
      `${dataDir} was made by an older version, which kept its database in another form. Start over: rm -rf ${dataDir}`,
    );
  const sandboxPort = portIn(chosen["SANDBOX_PORT"] || "4000");
  const addresses = platformAddresses({ ...kept, ...chosen }, kept, sandboxPort);
  const made = { ...madeUp(), ...kept, ...addresses };
  // The encryption key must be on disk before anything is sealed with it.
  if (isFirstRun) write(file, made);
  return {
    ...{ dataDir, sandboxPort, isFirstRun, hasOwnDatabase },
    overridden: Object.entries(made).flatMap(([name, value]) =>
      (chosen[name] ?? value) === value || name in addresses ? [] : [name],
    ),
    environment: { ...made, ...chosen, ...addresses },
    keepAddresses: (given = {}) => write(file, { ...made, ...given }),
  };
}

function madeUp(): Record<string, string> {
  return {
    HOST: "127.0.0.1",
    ADDON_ID: addonId,
    ADDON_PASSWORD: randomBytes(24).toString("hex"),
    CLIENT_SECRET: randomBytes(32).toString("hex"),
    ENCRYPTION_KEY: randomBytes(32).toString("hex"),
    SSO_SALT: randomBytes(20).toString("hex"),
    OPERATOR_PASSWORD: randomBytes(12).toString("hex"),
    OPERATOR_ACCOUNTS: "owner@example.com",
    DATABASE_URL: newUrl(),
    // Placeholders until the platform has registered a client.
    OAUTH_CLIENT_ID: "none-yet",
    OAUTH_CLIENT_SECRET: randomBytes(24).toString("hex"),
  };
}

/**
 * The sandbox's address for all three settings. Throws `Misconfigured` if another platform is set: it must not get test
 * calls, and its tokens must not mix with the sandbox's.
 */
function platformAddresses(chosen: Environment, kept: Environment, port: number): Record<string, string> {
  const address = `http://127.0.0.1:${port}`;
  const names = ["PLATFORM_API_URL", "PLATFORM_AUTH_URL", "PLATFORM_STATUS_URL"];
  const others = names.filter((name) => {
    const value = chosen[name];
    return value && value !== kept[name] && !isSandbox(value, port);
  });
  if (others.length > 0) {
    throw new Misconfigured(
      `npm run dev plays against the sandbox on port ${port}, but the environment or .env names another platform in ` +
        `${others.join(", ")}. Unset ${others.length > 1 ? "them" : "it"} for this command.`,
    );
  }
  return {
    ...Object.fromEntries(names.map((name) => [name, address])),
    ALLOW_INSECURE_PLATFORM: "on",
    DASHBOARD_URL: `${address}/marketplace/apps/{app}`,
  };
}

function isSandbox(address: string, port: number): boolean {
  if (!URL.canParse(address)) return false;
  const url = new URL(address);
  return /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname) && url.port === String(port);
}

function portIn(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new Misconfigured("SANDBOX_PORT must be a port number from 1 to 65535.");
}

function write(file: string, values: Record<string, string | undefined>): void {
  const lines = Object.entries(values).map(([name, value]) => `${name}=${value}`);
  const text = `# Made by npm run dev, for development only; the environment and .env win over it.\n${lines.join("\n")}\n`;
  if (existsSync(file) && readFileSync(file, "utf8") === text) return;
  // Others may enter, and not look around: PostgreSQL may run as another user. Each file is its owner's alone.
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o711 });
  // Written to a second file and renamed: after a crash the file has either the old or the new settings.
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
