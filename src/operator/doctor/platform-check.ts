import { messageOf } from "../../errors.ts";
import { parsedJson } from "../../json-object.ts";
import { RedirectRefused } from "../../platform/http-errors.ts";
import { withHttp, type Http, type HttpAnswer } from "../../platform/http.ts";
import { baseAddress } from "../../platform/path.ts";
import type { OpenContext } from "../../open-context.ts";
import { fault, fine, warning, type Finding } from "./check.ts";

const PATIENCE_MS = 5_000;

/**
 * The result for one of the platform's services: why it cannot be reached, or what is odd about its answer; each null
 * if there is nothing to say.
 */
interface Look {
  name: string;
  unreachable: string | null;
  odd: string | null;
}

/**
 * Checks that the platform's two services can be reached and answer as expected. No token is sent: from the API a
 * refusal is enough, as long as it is JSON (assumed, section 4). Another check tries the token endpoint with the client
 * secret.
 */
export async function platform({ config }: OpenContext): Promise<Finding> {
  const api = { url: `${baseAddress(config.platformApiUrl)}/addons`, accept: config.platformMediaType };
  const looks = await withHttp(
    (http) =>
      Promise.all([
        look(http, { name: "PLATFORM_API_URL", ...api, isApi: true }),
        look(http, { name: "PLATFORM_AUTH_URL", url: config.platformAuthUrl, accept: "*/*", isApi: false }),
      ]),
    { timeoutMs: PATIENCE_MS },
  );
  const told = (what: "unreachable" | "odd") =>
    looks.flatMap(({ name, [what]: said }) => (said === null ? [] : [`${name} ${said}`])).join("; ");
  const [unreachable, odd] = [told("unreachable"), told("odd")];
  if (unreachable)
    return fault(
      `${[unreachable, odd].filter(Boolean).join("; ")}.`,
      "Check the address, and whether this machine can reach it.",
    );
  if (odd) return warning(`${odd}.`, LOOK_AGAIN);
  return fine("The platform's API and its authorization service answer.");
}

const LOOK_AGAIN =
  "Is the address right? If so the platform is in trouble (kit status), and what it fails now is tried again.";

async function look(
  http: Http,
  { name, url, accept, isApi }: { name: string; url: string; accept: string; isApi: boolean },
): Promise<Look> {
  try {
    const answer = await http.send({ method: "GET", url, headers: { accept } });
    return { name, unreachable: null, odd: troubleIn(answer) ?? (isApi ? strangeIn(answer) : null) };
  } catch (error) {
    if (!(error instanceof RedirectRefused))
      return { name, unreachable: `cannot be reached: ${messageOf(error)}`, odd: null };
    // A redirect is normal for the authorization service, where people sign in; a call of the API must not be
    // redirected.
    return { name, unreachable: null, odd: isApi ? `does not answer itself: ${messageOf(error)}` : null };
  }
}

function troubleIn({ status }: HttpAnswer): string | null {
  if (status >= 500) return `answers ${status}: it is in trouble`;
  return status === 429 ? "answers 429: it takes no more calls from here for now" : null;
}

function strangeIn({ status, body }: HttpAnswer): string | null {
  if (status === 406) return "answers 406: it does not take PLATFORM_MEDIA_TYPE";
  return parsedJson(body) === undefined
    ? `answers ${status} without JSON, which the platform's API would not`
    : null;
}
