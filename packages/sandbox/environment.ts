import { type Check, httpUrl, path } from "./control/members.ts";
import { readRegistration } from "./registration.ts";
import type { SandboxSettings } from "./settings.ts";

const partnerVariables = {
  PARTNER_URL: "partnerUrl",
  RESOURCES_PATH: "resourcesPath",
  ADDON_ID: "addonId",
  ADDON_PASSWORD: "addonPassword",
  CLIENT_SECRET: "clientSecret",
  SSO_SALT: "ssoSalt",
} as const;

/** The variables that are checked, because a typing error would make them useless. */
const variableChecks: Record<string, Check> = { PARTNER_URL: httpUrl, RESOURCES_PATH: path };

/**
 * Reads the settings of the command from the environment. Returns only those that are set. Throws for an invalid one.
 */
export function settingsFromEnvironment(environment: NodeJS.ProcessEnv): Partial<SandboxSettings> {
  const settings: Partial<SandboxSettings> = { port: readPort(environment["SANDBOX_PORT"] || "4000") };
  const manifest = environment["ADDON_MANIFEST"];
  // A variable below wins over the manifest.
  if (manifest)
    Object.assign(
      settings,
      naming("ADDON_MANIFEST", () => readRegistration(manifest)),
    );
  for (const [variable, member] of Object.entries(partnerVariables)) {
    const value = environment[variable];
    if (value) settings[member] = naming(variable, () => (variableChecks[variable]?.(value), value));
  }
  if (environment["SANDBOX_STATE"]) settings.statePath = environment["SANDBOX_STATE"];
  if (environment["SANDBOX_HOST"]) settings.host = environment["SANDBOX_HOST"];
  if (environment["SANDBOX_TOKEN"]) settings.token = readToken(environment["SANDBOX_TOKEN"]);
  if (environment["SANDBOX_CUSTOMER_API"])
    settings.customerApi = readSwitch(environment["SANDBOX_CUSTOMER_API"]);
  return settings;
}

function readSwitch(text: string): boolean {
  if (text !== "on" && text !== "off") throw new Error("SANDBOX_CUSTOMER_API must be on or off.");
  return text === "on";
}

function readPort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error("SANDBOX_PORT is not a port number.");
  return port;
}

function readToken(text: string): string {
  if (!/^[\x21-\x7e]{16,}$/.test(text))
    throw new Error(
      "SANDBOX_TOKEN must have at least 16 characters, letters, digits and signs without white space.",
    );
  return text;
}

/** Adds the name of the variable to the error. */
function naming<Value>(variable: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw new Error(`${variable}: ${(error as Error).message}`, { cause: error });
  }
}
