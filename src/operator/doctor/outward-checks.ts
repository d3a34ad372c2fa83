import { openIncidents } from "../../platform/status.ts";
import type { Secret } from "../../secret.ts";
import type { OpenContext } from "../../open-context.ts";
import { triedSecret } from "../secret-check.ts";
import { counted, fault, fine, warning, type Finding } from "./check.ts";

/**
 * What the status feed says. Never a fault: the service does not depend on the feed, and an incident is the platform's.
 */
export async function platformStatus({ status }: OpenContext): Promise<Finding> {
  const { last, failure } = await status.look();
  if (!last || failure) {
    const fix = "Check PLATFORM_STATUS_URL. Nothing depends on the feed: alarms only miss its incidents.";
    return warning(`The status feed cannot be read: ${failure}`, fix);
  }
  const open = openIncidents(last.status);
  if (!open)
    return fine("The platform's status feed has no list of incidents: whether one is open is not known.");
  if (open.length === 0) return fine("The platform's status feed tells of no open incident.");
  const titles = open.map(({ title }) => title).join("; ");
  return warning(
    `${counted(open.length, "incident")} open at the platform: ${titles}`,
    "Read more: kit status",
  );
}

/** Checks whether the platform accepts the secret of the OAuth client that people sign in with, if one is set. */
export async function signInClient({ config }: OpenContext): Promise<Finding> {
  const { oauthClientId: id, oauthClientSecret: secret, platformAuthUrl } = config;
  if (!id || !secret) return fine("Nobody can sign in here: OAUTH_CLIENT_ID is not set.");
  const { outcome } = await triedSecret(platformAuthUrl, secret);
  if (outcome === "rejected") {
    return fault(
      "The platform rejects OAUTH_CLIENT_SECRET: nobody can sign in.",
      "Set OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET to what the platform shows now, and restart.",
    );
  }
  if (outcome === "unanswered") {
    return warning(
      "The platform could not be asked whether it accepts OAUTH_CLIENT_SECRET.",
      "Look again when the platform answers (kit status). Is PLATFORM_AUTH_URL its authorization service?",
    );
  }
  if (config.publicUrl) return fine(`People sign in, and come back to ${config.publicUrl}/oauth/callback.`);
  return warning(
    "People sign in, and come back to whatever address their request names.",
    "Set PUBLIC_URL: the platform sends people to the callback that was registered, and nowhere else.",
  );
}

/**
 * Tells who may open the operator's pages. An incomplete configuration of them never gets here: it fails the start, as
 * a fault of the settings.
 */
export function operators({ config }: OpenContext): Finding {
  const { operatorAccounts: accounts, operatorPassword: password, metricsPassword } = config;
  const metrics = metricsPassword ? "the metrics to METRICS_PASSWORD" : "there are no metrics";
  if (accounts.length === 0) {
    return password
      ? fine("The operator's pages and the metrics are open to OPERATOR_PASSWORD.")
      : fine(
          `There are no operator's pages: neither OPERATOR_PASSWORD nor OPERATOR_ACCOUNTS is set; ${metrics}.`,
        );
  }
  const open = `The operator's pages are open to ${counted(accounts.length, "account")} that can sign in`;
  if (password) return fine(`${open}, and to OPERATOR_PASSWORD.`);
  return warning(
    `${open}, and to nobody while the platform or the database is in trouble; ${metrics}.`,
    "Set OPERATOR_PASSWORD too (openssl rand -hex 24), for when nobody can sign in.",
  );
}

/** Warns of secrets that two settings share; one that is easy to guess is a fault of its setting. */
export function passwords({ config }: OpenContext): Finding {
  const alike = alikeIn(config);
  if (alike) {
    return warning(
      `${alike.join(" and ")} are the same: who knows the one has the other.`,
      "Make another one (openssl rand -hex 24); docs/rotate.md has the order for each.",
    );
  }
  if (config.addonPasswordPrevious) {
    return warning(
      "ADDON_PASSWORD_PREVIOUS is still accepted.",
      "Drop it when the platform uses the new password.",
    );
  }
  return fine("No two passwords are alike.");
}

/** The names of two settings with the same secret; null if there are none. */
function alikeIn(config: OpenContext["config"]): [string, string] | null {
  const known = new Map<string, string>();
  for (const [name, value] of namesOf({
    ADDON_PASSWORD: config.addonPassword,
    CLIENT_SECRET: config.clientSecret,
    ENCRYPTION_KEY: config.encryptionKey,
    OAUTH_CLIENT_SECRET: config.oauthClientSecret,
    OPERATOR_PASSWORD: config.operatorPassword,
    METRICS_PASSWORD: config.metricsPassword,
    SSO_SALT: config.ssoSalt,
  })) {
    const former = known.get(value);
    if (former) return [former, name];
    known.set(value, name);
  }
  return null;
}

/** The names and the texts of the secrets that are set. */
function namesOf(secrets: Readonly<Record<string, Secret | undefined>>): [name: string, text: string][] {
  return Object.entries(secrets).flatMap(([name, secret]) => (secret ? [[name, secret.reveal()]] : []));
}
