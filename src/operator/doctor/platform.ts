import { messageOf, Misconfigured } from "../../errors.ts";
import { parsedJson } from "../../json-object.ts";
import type { OpenContext } from "../../open-context.ts";
import { TransportError } from "../../platform/errors.ts";
import { withHttp, type Http } from "../../platform/http.ts";
import type { Trial } from "../../platform/oauth.ts";
import { openIncidents } from "../../platform/status.ts";
import { triedSecret } from "../client-secret.ts";
import { counted } from "../wording.ts";
import { fault, fine, warning, type Finding } from "./finding.ts";
import { hasSecret } from "./store.ts";

// What the platform answers: whether it can be reached, and accepts our secrets.

const PATIENCE_MS = 5_000;

/**
 * Whether the platform's two services can be reached and answer as expected. No token is sent: from the API a refusal is
 * enough, as long as it is JSON (assumed, section 4). Another check tries the token endpoint with the client secret.
 */
export async function platform({ config }: OpenContext): Promise<Finding> {
  const { platformApiUrl, platformAuthUrl, platformMediaType: accept } = config;
  const api = { url: `${platformApiUrl}/addons`, accept, isApi: true };
  const auth = { url: platformAuthUrl, accept: "*/*", isApi: false };
  const [apiLook, authLook] = await withHttp((http) => Promise.all([look(http, api), look(http, auth)]), {
    timeoutMs: PATIENCE_MS,
  });
  const odd = [
    ...(apiLook ? [{ ...apiLook, said: `PLATFORM_API_URL ${apiLook.said}` }] : []),
    ...(authLook ? [{ ...authLook, said: `PLATFORM_AUTH_URL ${authLook.said}` }] : []),
  ].sort((one, other) => Number(other.isUnreachable) - Number(one.isUnreachable));
  if (odd.length === 0) return fine("The platform's API and its authorization service answer.");
  const message = `${odd.map(({ said }) => said).join("; ")}.`;
  if (odd[0]!.isUnreachable)
    return fault(message, "Check the address, and whether this machine can reach it.");
  return warning(
    message,
    "Is the address right? If so the platform is in trouble (kit status), and what it fails now is tried again.",
  );
}

/** Why one of the services cannot be reached, or what is odd about its answer; null: nothing. */
async function look(
  http: Http,
  { url, accept, isApi }: { url: string; accept: string; isApi: boolean },
): Promise<{ said: string; isUnreachable: boolean } | null> {
  const odd = (said: string) => ({ said, isUnreachable: false });
  try {
    const { status, body } = await http.send({ method: "GET", url, headers: { accept } });
    if (status >= 500) return odd(`answers ${status}: it is in trouble`);
    if (status === 429) return odd("answers 429: it takes no more calls from here for now");
    if (!isApi) return null;
    if (status === 406) return odd("answers 406: it does not take PLATFORM_MEDIA_TYPE");
    const isJson = parsedJson(body) !== undefined;
    return isJson ? null : odd(`answers ${status} without JSON, which the platform's API would not`);
  } catch (error) {
    if (!(error instanceof TransportError && error.id === "redirect_refused"))
      return { said: `cannot be reached: ${messageOf(error)}`, isUnreachable: true };
    // A redirect is normal for the authorization service, where people sign in; a call of the API must not be
    // redirected.
    return isApi ? odd(`does not answer itself: ${messageOf(error)}`) : null;
  }
}

/** Checks the client secret. Asks the platform whether it accepts it, unless `isTried` is false. */
export async function secret(
  { db, config, credentials }: OpenContext,
  { isTried = true } = {},
): Promise<Finding> {
  const setIt = "Run kit secret set, and give it the one that the platform's partner portal shows.";
  if (!(await hasSecret(db)))
    return config.clientSecret
      ? fine("CLIENT_SECRET is set, and is taken over when the service starts.")
      : fault("No client secret is stored.", `Set CLIENT_SECRET, or: ${setIt}`);
  try {
    const { version, value, isRejected, isPresumed } = await credentials.secrets.current();
    const named = `The client secret is version ${version}`;
    if (!isRejected && !isTried) return fine(`${named}.`);
    const trial: Trial =
      isRejected && !isPresumed
        ? { outcome: "rejected" }
        : isTried
          ? await triedSecret(config.platformAuthUrl, value)
          : { outcome: "unclear", because: "it answers 401 and gives no reason" };
    if (trial.outcome === "rejected")
      return fault(
        `The platform rejects our client secret (version ${version}): no token can be refreshed.`,
        setIt,
      );
    if (trial.outcome === "unanswered")
      return warning(
        `${named}; the platform could not be asked whether it accepts it: ${trial.because}.`,
        WHEN_IT_ANSWERS,
      );
    if (!("because" in trial)) return fine(`${named}, and the platform accepts it.`);
    const message = `${named}; whether the platform accepts it cannot be told: ${trial.because}.`;
    if (!isPresumed) return fine(message);
    return warning(`${message} Several tokens are refused in this way.`, `If it was reset: ${setIt}`);
  } catch (error) {
    if (error instanceof Misconfigured) throw error;
    return fault(`The client secret cannot be decrypted: ${messageOf(error)}`, `Fix the keys, or: ${setIt}`);
  }
}

const WHEN_IT_ANSWERS =
  "Look again when the platform answers (kit status). Is PLATFORM_AUTH_URL its authorization service?";

/** Whether the platform accepts the secret of the OAuth client that people sign in with, if one is set. */
export async function signInClient({ config }: OpenContext): Promise<Finding> {
  const { oauthClientId: id, oauthClientSecret: clientSecret, platformAuthUrl, publicUrl } = config;
  if (!id || !clientSecret) return fine("Nobody can sign in here: OAUTH_CLIENT_ID is not set.");
  const { outcome } = await triedSecret(platformAuthUrl, clientSecret);
  if (outcome === "rejected")
    return fault(
      "The platform rejects OAUTH_CLIENT_SECRET: nobody can sign in.",
      "Set OAUTH_CLIENT_ID and OAUTH_CLIENT_SECRET to what the platform shows now, and restart.",
    );
  if (outcome === "unanswered")
    return warning(
      "The platform could not be asked whether it accepts OAUTH_CLIENT_SECRET.",
      WHEN_IT_ANSWERS,
    );
  if (publicUrl) return fine(`People sign in, and come back to ${publicUrl}/oauth/callback.`);
  return warning(
    "People sign in, and come back to whatever address their request names.",
    "Set PUBLIC_URL: the platform sends people to the callback that was registered, and nowhere else.",
  );
}

/** Never a fault: the service does not depend on the status feed, and an incident is the platform's. */
export async function platformStatus({ status }: OpenContext): Promise<Finding> {
  const { last, failure } = await status.look();
  if (!last || failure)
    return warning(
      `The status feed cannot be read: ${failure}`,
      "Check PLATFORM_STATUS_URL. Nothing depends on the feed: alarms only miss its incidents.",
    );
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

/** Compares the clocks of the database, the platform and this process. */
export async function clocks(ctx: OpenContext): Promise<Finding> {
  await ctx.clocks.look();
  return clocksNow(ctx);
}

/** The same, as they were last seen. */
export function clocksNow({ clocks: { trouble } }: OpenContext): Finding {
  const said = trouble();
  if (!said) return fine("No two clocks are more than a minute apart.");
  return fault(
    said,
    "Set the clock that is wrong (NTP). Until then sign-ons from the dashboard are refused, and times are wrong.",
  );
}
