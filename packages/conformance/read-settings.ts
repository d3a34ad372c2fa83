import { randomBytes } from "node:crypto";
import { type AddonManifest, readAddonManifest } from "../sandbox/index.ts";
import { freePort } from "./free-port.ts";
import { type Options, UsedWrongly } from "./options.ts";
import { type Settings, usualPatience } from "./settings.ts";

type Environment = Record<string, string | undefined>;

/** The default port of the platform: that of the sandbox. */
const USUAL_PORT = 4000;

/** Completes the options from the environment, the manifest and `readPassword`. Throws {@link UsedWrongly}. */
export async function readSettings(
  options: Options,
  env: Environment,
  readPassword: () => Promise<string>,
): Promise<Settings> {
  const isStarted = options.command !== undefined;
  const url = options.url ?? (isStarted ? `http://127.0.0.1:${await freePort()}` : undefined);
  if (!url || !isWebAddress(url))
    throw new UsedWrongly("Say where the service is with --url http://…, or how to start it with --command.");
  if (!isBare(url))
    throw new UsedWrongly("--url must be an address without user, password, query and fragment: http://…");
  const addonId = options.id ?? (env["ADDON_ID"] || (isStarted ? "conformance" : undefined));
  if (!addonId) throw new UsedWrongly("Say who the platform is to the service: --id, or ADDON_ID.");
  // Secrets in the environment belong to the add-on that the environment names.
  const own = addonId === (env["ADDON_ID"] || addonId) ? env : {};
  const manifest = readManifest(options.manifest ?? env["ADDON_MANIFEST"]);
  return {
    ...{ url, addonId, manifest, ...plansOf(options, manifest) },
    addonPassword: await passwordOf(options, own, readPassword),
    clientSecret: options.clientSecret ?? (own["CLIENT_SECRET"] || (isStarted ? strangeSecret() : null)),
    ssoSalt: options.ssoSalt ?? (own["SSO_SALT"] || null),
    resourcesPath: pathOf(
      options.resourcesPath ?? (env["RESOURCES_PATH"] || "/resources"),
      "--resources-path",
    ),
    ssoPath: pathOf(options.ssoPath, "--sso-path"),
    region: options.region ?? manifest?.regions?.[0] ?? "us",
    platformPort: numberIn(options.platformPort, "--platform-port", 65_535) ?? (isStarted ? 0 : USUAL_PORT),
    platformHost: options.platformHost,
    platformUrl: platformUrlOf(options),
    patience: {
      ...usualPatience,
      // A service that does its work late does late also what it must not do, so that is watched for longer too.
      ...seconds(options.patience, "--patience", (ms) => ({
        eventMs: ms,
        quietMs: Math.max(ms, usualPatience.quietMs),
      })),
      ...seconds(options.grace, "--grace", (graceMs) => ({ graceMs })),
      ...seconds(options.tokenLife, "--token-life", (ms) => ({ tokenLifeSeconds: ms / 1000 })),
    },
  };
}

function platformUrlOf({ platformUrl }: Options): string | null {
  if (platformUrl === undefined) return null;
  if (!isWebAddress(platformUrl)) throw new UsedWrongly("--platform-url must be an address: http://…");
  const { origin, href } = new URL(platformUrl);
  if (href !== `${origin}/`)
    throw new UsedWrongly("--platform-url must be an address without a path: http://…");
  return origin;
}

/** Whose address this is, is said apart from it: a password would be shown with it. */
function isBare(url: string): boolean {
  const { username, password, search, hash } = new URL(url);
  return username + password + search + hash === "";
}

function pathOf(path: string, name: string): string {
  if (path.startsWith("/")) return path;
  throw new UsedWrongly(`${name} must be a path that begins with a slash.`);
}

const isWebAddress = (text: string) => /^https?:\/\//.test(text) && URL.canParse(text);

async function passwordOf(options: Options, env: Environment, readPassword: () => Promise<string>) {
  if (options.password) return options.password;
  if (env["ADDON_PASSWORD"]) return env["ADDON_PASSWORD"];
  if (options.command !== undefined) return randomBytes(16).toString("hex");
  const read = (await readPassword()).split(/\r?\n/, 1)[0];
  if (!read) throw new UsedWrongly("The add-on's password is missing: ADDON_PASSWORD, or on standard input.");
  return read;
}

/** Contains characters with a meaning in a form, so that a missing encoding shows. */
function strangeSecret(): string {
  return `${randomBytes(16).toString("hex")}&+%=${randomBytes(4).toString("hex")}`;
}

function plansOf(options: Options, manifest: AddonManifest | null) {
  const names = manifest?.plans.map(({ name }) => name) ?? [];
  const plan = options.plan ?? manifest?.default_plan ?? names[0] ?? "basic";
  const asyncPlan = options.asyncPlan ?? null;
  // Later plans come first: plans are listed from small to large, and a customer who may grow may not always shrink.
  const next = names.indexOf(plan) + 1;
  const others = [...names.slice(next), ...names.slice(0, next)].filter((name) => name !== plan);
  // The asynchronous plan is used only if there is no other.
  const otherPlan = options.otherPlan ?? others.find((name) => name !== asyncPlan) ?? others[0] ?? null;
  return { plan, otherPlan, asyncPlan };
}

function readManifest(fileOrJson: string | undefined): AddonManifest | null {
  if (!fileOrJson) return null;
  try {
    return readAddonManifest(fileOrJson);
  } catch (error) {
    throw new UsedWrongly(`The add-on's manifest cannot be read: ${(error as Error).message}`);
  }
}

function seconds<Part>(text: string | undefined, name: string, part: (ms: number) => Part): Part | object {
  const value = numberIn(text, name, 3600);
  return value === undefined ? {} : part(value * 1000);
}

function numberIn(text: string | undefined, name: string, most: number): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (Number.isInteger(number) && number > 0 && number <= most) return number;
  throw new UsedWrongly(`${name} must be a whole number from 1 to ${most}.`);
}
