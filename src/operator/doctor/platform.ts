import type { OpenContext } from "../../context.ts";
import { messageOf, Misconfigured } from "../../errors.ts";
import { type Http, TransportError } from "../../platform/call.ts";
import { withHttp } from "../../platform/http.ts";
import { openIncidents } from "../../platform/status.ts";
import { parsedJson } from "../../values.ts";
import { CannotDecrypt } from "../../vault/vault.ts";
import { triedSecret } from "../client-secret.ts";
import { counted } from "../wording.ts";
import { fault, type Finding, fine, orFine, warning } from "./finding.ts";

// What the platform answers: whether it can be reached, and accepts our secrets.

const PATIENCE_MS = 5_000;

/**
 * Whether the platform's two services can be reached and answer as expected. No token is sent: from the API a refusal is
 * enough, as long as it is JSON (assumed, section 4). Another check tries the token endpoint with the client secret.
 */
export async function platform({ config }: OpenContext): Promise<Finding[]> {
  const { platformApiUrl, platformAuthUrl, platformMediaType: accept } = config;
  const found = await withHttp(
    (http) =>
      Promise.all([
        look(http, "PLATFORM_API_URL", `${platformApiUrl}/addons`, accept),
        look(http, "PLATFORM_AUTH_URL", platformAuthUrl),
      ]),
    { timeoutMs: PATIENCE_MS },
  );
  return orFine(found.flat(), "The platform's API and its authorization service answer.");
}

/** What is wrong with a service, or odd about its answer. `accept`: of the API. */
async function look(http: Http, name: string, url: string, accept?: string): Promise<Finding[]> {
  try {
    const { status, body } = await http.send({ method: "GET", url, headers: { accept: accept ?? "*/*" } });
    const isOdd = status >= 500 || status === 429 || status === 406;
    const isJson = accept === undefined || parsedJson(body) !== undefined;
    return isOdd || !isJson
      ? [warning(`${name} answers ${status}${isJson ? "" : " without JSON"}.`, ODD_ANSWER)]
      : [];
  } catch (error) {
    // A redirect is normal for the authorization service, where people sign in.
    if (accept === undefined && error instanceof TransportError && error.id === "redirect_refused") return [];
    return [
      fault(`${name} cannot be reached: ${messageOf(error)}.`, "Is the address right, and open to us?"),
    ];
  }
}

const ODD_ANSWER =
  "Are the address and PLATFORM_MEDIA_TYPE right? If so the platform is in trouble (kit status), and what it fails now is tried again.";
const SET_IT = "Run kit secret set, and give it the one that the platform's partner portal shows.";
const TRY_IT = "kit doctor tries it, and says what to do.";
const WHEN_IT_ANSWERS =
  "Look again when the platform answers (kit status). Is PLATFORM_AUTH_URL its authorization service?";

/** Asks the platform whether it accepts the client secret, unless `isTried` is false. */
export async function secret(ctx: OpenContext, { isTried = true } = {}): Promise<Finding> {
  const { config, credentials } = ctx;
  const current = await credentials.secrets.current().catch((error: unknown) => {
    if (error instanceof Misconfigured)
      return config.clientSecret
        ? fine("CLIENT_SECRET is set, and is taken over when the service starts.")
        : fault(messageOf(error), SET_IT);
    if (error instanceof CannotDecrypt) return fault(messageOf(error), `Fix the keys, or: ${SET_IT}`);
    throw error;
  });
  if ("ok" in current) return current;
  const { version, value, isRejected, isPresumed } = current;
  const named = `The client secret is version ${version}`;
  const rejected = `The platform rejects our client secret (version ${version}): no token can be refreshed.`;
  const presumed = `The platform refuses several resources without a reason: our client secret (version ${version}) may be wrong.`;
  if (!isTried && isRejected) return isPresumed ? warning(presumed, TRY_IT) : fault(rejected, SET_IT);
  if (!isTried) return fine(`${named}.`);
  const trial = await triedSecret(ctx, value);
  if (trial.outcome === "rejected") return fault(rejected, SET_IT);
  if (!("because" in trial)) return fine(`${named}, and the platform accepts it.`);
  const message = `${named}; whether the platform accepts it is not known: ${trial.because}.`;
  if (trial.outcome === "unclear" && !isPresumed) return fine(message);
  return warning(message, `${WHEN_IT_ANSWERS} If it was reset: ${SET_IT}`);
}

/** Whether the platform accepts the client that people sign in with. */
export async function signIn(ctx: OpenContext): Promise<Finding> {
  const { oauthClientSecret, publicUrl } = ctx.config;
  if (!oauthClientSecret)
    return fine("People cannot sign in with their account: OAUTH_CLIENT_ID is not set.");
  const trial = await triedSecret(ctx, oauthClientSecret);
  if (trial.outcome === "rejected")
    return fault(
      "The platform rejects OAUTH_CLIENT_SECRET: people cannot sign in with their account.",
      "Set OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET to what the platform shows now, and restart.",
    );
  if ("because" in trial && trial.outcome === "unanswered")
    return warning(
      `Whether the platform accepts OAUTH_CLIENT_SECRET is not known: ${trial.because}.`,
      WHEN_IT_ANSWERS,
    );
  const back = `${publicUrl ?? "the address of their request"}/oauth/callback`;
  return fine(`People sign in with their account, and come back to ${back}.`);
}

/** Never a fault: the service does not depend on the status feed, and an incident is the platform's. */
export async function platformStatus({ status }: OpenContext): Promise<Finding> {
  const current = await status();
  if (typeof current === "string")
    return warning(
      `The status feed cannot be read: ${current}`,
      "Check PLATFORM_STATUS_URL. Nothing depends on the feed.",
    );
  const open = openIncidents(current) ?? [];
  if (open.length === 0) return fine("The platform's status feed tells of no open incident.");
  const titles = open.map(({ title }) => title).join("; ");
  return warning(
    `${counted(open.length, "incident")} open at the platform: ${titles}`,
    "Read more: kit status",
  );
}
