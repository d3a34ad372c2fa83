import { readFile } from "node:fs/promises";
import path from "node:path";
import type { Config } from "../../config.ts";
import type { ManifestKeys } from "../../manifest/schema.ts";
import { HOW_TO_FIX_NODE, missingNodeFixes, buildText } from "../../version.ts";
import type { OpenContext } from "../../open-context.ts";
import { databaseAddress } from "../../setting.ts";
import { counted } from "../wording.ts";
import { fault, fine, warning, type Finding } from "./finding.ts";

// What can be seen of the settings, the build and app.json alone.

const LOOPBACK = /^(localhost|127\.[\d.]+|\[?::1\]?)?$/;

/** What the settings allow that is safe in development alone, a sentence each. */
export function unsafeSettings(config: Config): string[] {
  const { allowInsecurePlatform, publicUrl = "", databaseUrl, databaseCa } = config;
  const { hostname, searchParams } = databaseAddress(databaseUrl.reveal())!;
  const isNear = LOOPBACK.test(hostname) || searchParams.get("host")?.startsWith("/");
  const isPlain = /^(|disable|0|false)$/.test(searchParams.get("sslmode") ?? searchParams.get("ssl") ?? "");
  const found: [is: boolean, sentence: string][] = [
    [allowInsecurePlatform, "ALLOW_INSECURE_PLATFORM is on: secrets may be sent unencrypted."],
    [/^http:/.test(publicUrl), "PUBLIC_URL is not https: cookies and sign-ins can be read on the way."],
    [isPlain && !isNear && !databaseCa, "DATABASE_URL asks for no encryption: add sslmode=verify-full."],
  ];
  return found.flatMap(([is, sentence]) => (is ? [sentence] : []));
}

/**
 * Who may open the operator's pages. An incomplete configuration of them never gets here: it fails the start, as a fault
 * of the settings.
 */
export function operators({ config }: OpenContext): Finding {
  const { operatorAccounts: accounts, operatorPassword: password, metricsPassword } = config;
  const metrics = metricsPassword ? "the metrics to METRICS_PASSWORD" : "there are no metrics";
  if (accounts.length === 0)
    return password
      ? fine("The operator's pages and the metrics are open to OPERATOR_PASSWORD.")
      : fine(
          `There are no operator's pages: neither OPERATOR_PASSWORD nor OPERATOR_ACCOUNTS is set; ${metrics}.`,
        );
  const open = `The operator's pages are open to ${counted(accounts.length, "account")} that can sign in`;
  if (password) return fine(`${open}, and to OPERATOR_PASSWORD.`);
  return warning(
    `${open}, and to nobody while the platform or the database is in trouble; ${metrics}.`,
    "Set OPERATOR_PASSWORD too (openssl rand -hex 24), for when nobody can sign in.",
  );
}

/** Warns of secrets that two settings share; one that is easy to guess is a fault of its setting. */
export function passwords({ config }: OpenContext): Finding {
  const secrets = Object.entries({
    ADDON_PASSWORD: config.addonPassword,
    CLIENT_SECRET: config.clientSecret,
    ENCRYPTION_KEY: config.encryptionKey,
    OAUTH_CLIENT_SECRET: config.oauthClientSecret,
    OPERATOR_PASSWORD: config.operatorPassword,
    METRICS_PASSWORD: config.metricsPassword,
    SSO_SALT: config.ssoSalt,
  }).flatMap(([name, secret]) => (secret ? [{ name, text: secret.reveal() }] : []));
  for (const { name, text } of secrets) {
    const former = secrets.find((each) => each.text === text)!.name;
    if (former === name) continue;
    return warning(
      `${former} and ${name} are the same: who knows the one has the other.`,
      "Make another one (openssl rand -hex 24); docs/rotate.md has the order for each.",
    );
  }
  if (!config.addonPasswordPrevious) return fine("No two passwords are alike.");
  return warning(
    "ADDON_PASSWORD_PREVIOUS is still accepted.",
    "Drop it when the platform uses the new password.",
  );
}

/** Which build this process runs; a warning if its Node lacks security fixes. */
export function version(): Finding {
  const missing = missingNodeFixes();
  return missing ? warning(`${buildText}. ${missing}`, HOW_TO_FIX_NODE) : fine(`${buildText}.`);
}

/**
 * Whether the platform could make an app from the `app.json` in `folder`, and whether that app would start, for which it
 * needs the settings `required`. A deployment of `dist/` alone has none.
 */
export async function manifest(folder: string, required: readonly string[]): Promise<Finding> {
  const bytes = await readFile(path.join(folder, "app.json")).catch(() => null);
  if (bytes === null) return fine("There is no app.json here to be checked.");
  const { checkManifestText } = await import("../../manifest/check.ts");
  const { faults, manifest: whole } = checkManifestText(bytes);
  if (!whole) {
    const errors = faults.filter(({ severity }) => severity === "error").length;
    return fault(
      `app.json breaks ${counted(errors, "rule")} of the platform: no app can be made from it.`,
      "See each with: kit manifest check app.json",
    );
  }
  const { effectiveManifest } = await import("../../manifest/schema.ts");
  const missingIn = (app: ManifestKeys) => required.filter((name) => !isGiven(name, app));
  const missing = missingIn(whole);
  const missingInReview = whole.environments?.review ? missingIn(effectiveManifest(whole, "review")) : [];
  const said = [
    ...missing.map((name) => `${name} is required, and app.json does not ask for it`),
    ...missingInReview
      .filter((name) => !missing.includes(name))
      .map((name) => `${name} is required, and app.json gives none to review apps`),
  ];
  if (said.length === 0) return fine("An app can be made from app.json.");
  return warning(
    `${said.join("; ")}: an app made from it does not start.`,
    'Add it there below "env", with a "description", and a "value" or "generator" where nobody is to be asked.',
  );
}

/** Whether an app gets a setting: from `env`, or with an add-on whose variable it is. */
function isGiven(name: string, { env = {}, addons = [] }: ManifestKeys): boolean {
  const about = env[name];
  if (typeof about === "string") return about !== "";
  if (about) return about.required !== false || Boolean(about.value ?? about.generator);
  const prefixes = addons.map((addon) => (typeof addon === "string" ? undefined : addon.as));
  return name.endsWith("_URL") && prefixes.some((as) => as === undefined || name === `${as}_URL`);
}
