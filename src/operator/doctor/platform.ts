import type { OpenContext } from "../../context.ts";
import { messageOf, Misconfigured } from "../../errors.ts";
import { type Http, TransportError } from "../../platform/call.ts";
import { withHttp } from "../../platform/http.ts";
import { openIncidents } from "../../platform/status.ts";
import { parsedJson } from "../../values.ts";
import { CannotDecrypt } from "../../vault/vault.ts";
import { triedSecret } from "../client-secret.ts";
import { type Finding, fine, found, orFine } from "./finding.ts";

// What the platform answers: whether it can be reached, and accepts our secrets.

const PATIENCE_MS = 5_000;

/**
 * Whether the platform's two services can be reached and answer as expected. No token is sent: from the API a refusal is
 * enough, as long as it is JSON (assumed, section 4). Another check tries the token endpoint with the client secret.
 */
export async function platform({ config }: OpenContext): Promise<Finding[]> {
  const { platformApiUrl, platformAuthUrl, platformMediaType: accept } = config;
  const wrong = await withHttp(
    (http) =>
      Promise.all([
        look(http, "PLATFORM_API_URL", `${platformApiUrl}/addons`, accept),
        look(http, "PLATFORM_AUTH_URL", platformAuthUrl),
      ]),
    { timeoutMs: PATIENCE_MS },
  );
  return orFine(wrong.flat(), "The platform's API and its authorization service answer.");
}

/** What is wrong with a service, or odd about its answer. `accept`: of the API. */
async function look(http: Http, name: string, url: string, accept?: string): Promise<Finding[]> {
  try {
    const { status, body } = await http.send({ method: "GET", url, headers: { accept: accept ?? "*/*" } });
    if (status >= 500 || status === 429)
      return [found("platform_fails", { words: `${name} answers ${status}.` })];
    const isJson = accept === undefined || parsedJson(body) !== undefined;
    return status === 406 || !isJson
      ? [found("platform_odd", { words: `${name} answers ${status}${isJson ? "" : " without JSON"}.` })]
      : [];
  } catch (error) {
    // A redirect is normal for the authorization service, where people sign in.
    if (accept === undefined && error instanceof TransportError && error.id === "redirect_refused") return [];
    return [found("platform_unreachable", { words: `${name} cannot be reached: ${messageOf(error)}.` })];
  }
}

/** Asks the platform whether it accepts the client secret. */
export async function secret(ctx: OpenContext): Promise<Finding> {
  const { config, credentials } = ctx;
  const current = await credentials.secrets.current().catch((error: unknown) => {
    if (error instanceof Misconfigured && config.clientSecret)
      return fine("CLIENT_SECRET is set, and is taken over when the service starts.");
    if (error instanceof Misconfigured || error instanceof CannotDecrypt)
      return found("secret_missing", { words: messageOf(error) });
    throw error;
  });
  if ("ok" in current) return current;
  const { version, value, isRejected, isPresumed } = current;
  const trial = await triedSecret(ctx, value);
  const since = isRejected ? await rejectedSince(ctx, version) : {};
  if (trial.outcome === "rejected") return found("secret_rejected", { version }, since);
  const named = `The client secret is version ${version}`;
  if (!("because" in trial))
    return isRejected
      ? found("secret_accepted_again", { version }, since)
      : fine(`${named}, and the platform accepts it.`);
  const { because } = trial;
  if (isRejected && !isPresumed) return found("secret_rejected", { version }, since);
  if (trial.outcome === "unclear" && !isPresumed)
    return fine(`${named}; whether the platform accepts it is not known: ${because}.`);
  return found("secret_doubtful", { version, because }, since);
}

/** Since when the service has known it. */
async function rejectedSince({ db }: OpenContext, version: number): Promise<{ since?: string }> {
  const { clientSecret } = await db.prisma();
  const stored = await clientSecret.findUnique({ where: { version }, select: { rejectedAt: true } });
  return stored?.rejectedAt ? { since: stored.rejectedAt.toISOString() } : {};
}

/** Whether the platform accepts the client that people sign in with. */
export async function signIn(ctx: OpenContext): Promise<Finding> {
  const { oauthClientSecret, publicUrl } = ctx.config;
  if (!oauthClientSecret)
    return fine("People cannot sign in with their account: OAUTH_CLIENT_ID is not set.");
  const trial = await triedSecret(ctx, oauthClientSecret);
  if (trial.outcome === "rejected") return found("sign_in_rejected", {});
  if ("because" in trial && trial.outcome === "unanswered")
    return found("sign_in_unknown", { because: trial.because });
  const back = `${publicUrl ?? "the address of their request"}/oauth/callback`;
  return fine(`People sign in with their account, and come back to ${back}.`);
}

/** Never a fault: the service does not depend on the status feed, and an incident is the platform's. */
export async function platformStatus({ status }: OpenContext): Promise<Finding> {
  const current = await status();
  if (typeof current === "string") return found("status_unreadable", { words: current });
  const open = openIncidents(current) ?? [];
  if (open.length === 0) return fine("The platform's status feed tells of no open incident.");
  const [since] = open.flatMap(({ created_at: at }) => at ?? []).sort();
  return found("incident_open", { titles: open.map(({ title }) => title) }, since ? { since } : {});
}
