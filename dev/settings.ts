import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";
import { readEnvironment, settings, type Environment } from "../src/config.ts";
import { Misconfigured } from "../src/errors.ts";

export interface DevSettings {
  /** Everything the service is started with. */
  environment: Environment;
  /** As it was written by whoever chose it: relative to the working folder, or not. */
  dataDir: string;
  sandboxPort: number;
  /** Whether this is the first run on this folder. */
  isFirstRun: boolean;
  /**
   * Writes down where the platform listens now, and what else it gave us; for whoever has the folder's database, and
   * nobody else.
   */
  keepAddresses(given?: Record<string, string>): void;
}

/** The name of the sample add-on; ADDON_ID names yours. */
const SAMPLE_ADDON_ID = "teapots";

/**
 * The settings of development. What the environment and `.env` leave open is made up once and kept in
 * `DATA_DIR/dev.env`, readable by its owner alone, where the command line finds it too.
 *
 * CLIENT_SECRET stays what it was at first: the service imports a value only once, so after a reset at the platform
 * and `kit secret set` both go on with the newer one, whatever this file says.
 */
export function devSettings(env: Environment = process.env, folder = process.cwd()): DevSettings {
  const chosen = readEnvironment(env, folder);
  const dataDir = chosen["DATA_DIR"] || settings.dataDir.standard!;
  const file = path.resolve(folder, dataDir, "dev.env");
  const isFirstRun = !existsSync(file);
  const kept = isFirstRun ? {} : (parseEnv(readFileSync(file, "utf8")) as Environment);
  const sandboxPort = portIn(chosen["SANDBOX_PORT"] || "4000");
  const addresses = platformAddresses({ ...kept, ...chosen }, kept, sandboxPort);
  const made = { ...madeUp(), ...kept, ...addresses };
  // What seals must be on disk before anything is sealed.
  if (isFirstRun) write(file, made);
  return {
    ...{ dataDir, sandboxPort, isFirstRun },
    environment: { ...made, ...chosen, ...addresses },
    keepAddresses: (given = {}) => write(file, { ...made, ...given }),
  };
}

function madeUp(): Record<string, string> {
  return {
    ADDON_ID: SAMPLE_ADDON_ID,
    ADDON_PASSWORD: randomBytes(24).toString("hex"),
    CLIENT_SECRET: randomBytes(32).toString("hex"),
    ENCRYPTION_KEY: randomBytes(32).toString("hex"),
    SSO_SALT: randomBytes(20).toString("hex"),
    OPERATOR_PASSWORD: randomBytes(12).toString("hex"),
    OPERATOR_ACCOUNTS: "owner@example.com",
    // Until the platform has registered one.
    OAUTH_CLIENT_ID: "none-yet",
    OAUTH_CLIENT_SECRET: randomBytes(24).toString("hex"),
  };
}

/** The sandbox's address, thrice. Somebody else's platform must not get a toy's calls, nor we mix their tokens up. */
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
  return Object.fromEntries([...names.map((name) => [name, address]), ["ALLOW_INSECURE_PLATFORM", "on"]]);
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
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  // Beside it and renamed: a process that dies here leaves the old settings or the new ones.
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}
