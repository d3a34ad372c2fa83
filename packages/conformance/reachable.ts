import { firstReply, plain, shown } from "./probes.ts";
import { basic } from "./stage/service-calls.ts";
import type { Stage } from "./stage/stage.ts";
import { type NoAnswer, send } from "./stage/wire.ts";

const ANSWERS_WITHIN_MS = 10_000;
const BAD_REQUEST = 400;

/** Null if the address answers by HTTP, with whatever status; else the reason, with what to do about it. */
export async function whyNoAnswer(url: string, withinMs = ANSWERS_WITHIN_MS): Promise<string | null> {
  try {
    await send(url, { method: "GET", path: "", headers: {} }, withinMs);
    return null;
  } catch (error) {
    return reasonOf(url, error as NoAnswer);
  }
}

/** What went wrong, by Node's code and message; the first that matches. */
const REASONS: readonly [RegExp, (url: string, why: string) => string][] = [
  [/ENOTFOUND|EAI_AGAIN/, (url, why) => `The name in ${url} is not known (DNS): ${why}.`],
  [
    /SELF_SIGNED_CERT|UNABLE_TO_|CERT_UNTRUSTED|CERT_SIGNATURE/,
    (url, why) =>
      `The certificate of ${url} is not trusted: ${why}. Where an authority of your own has signed it, ` +
      "name that authority's certificate in the checker's environment: NODE_EXTRA_CA_CERTS=ca.pem",
  ],
  [/CERT_/, (url, why) => `The certificate of ${url} is refused: ${why}.`],
  [/wrong version number|packet length/i, (url, why) => `${url} speaks no TLS: ${why}. ${isIt("http")}`],
  [/EPROTO|ERR_SSL/, (url, why) => `A connection by TLS to ${url} fails: ${why}.`],
  [/HPE_/, (url, why) => `What answers at ${url} speaks no HTTP: ${why}. ${isIt("https")}`],
  [/ECONNRESET|EPIPE/, (url, why) => `${url} hangs up without an answer: ${why}. ${isIt("https")}`],
];

const isIt = (scheme: string) => `Is its address ${scheme}://…?`;

function reasonOf(url: string, { message, isTimeout, isConnected, isBegun, cause }: NoAnswer): string {
  const { code = "" } = cause as NodeJS.ErrnoException;
  if (isTimeout && isBegun) return `${url} begins an answer and does not end it: ${message}`;
  if (isTimeout)
    return isConnected
      ? `${url} takes connections and answers nothing by HTTP: ${message}`
      : `No connection to ${url} is made: ${message}`;
  if (code === "") return `${url} gives no usable answer: ${message}`;
  // OpenSSL names the source file, among others, around its reason.
  const [, short = message] = /SSL routines:[^:]*:([^:]+):/.exec(message) ?? [];
  const why = short.includes(code) ? short.replace(/\.$/, "") : `${short} (${code})`;
  const [, sentence] = REASONS.find(([pattern]) => pattern.test(why)) ?? [];
  return sentence?.(url, why) ?? `Nobody answers at ${url}: ${why}.`;
}

/**
 * Null if the service takes the platform's first provision for a call of the platform, whatever it answers; else the
 * reason, with what to do about it: no rule would say more.
 */
export async function whyNotJudged(stage: Stage): Promise<string | null> {
  const { url, resourcesPath, addonId, addonPassword } = stage.settings;
  const resource = await plain(stage);
  const reply = firstReply(resource);
  const call = `A provision (POST ${url.replace(/\/+$/, "")}${resourcesPath})`;
  if (!reply) return `${call} got no answer: ${resource.deliveries[0]!.whyNoAnswer}`;
  const { status, headers } = reply;
  const answered = `${call} was answered with ${shown(reply)}`;
  if (status === 401 || (status === 403 && (await refusesAnyone(stage))))
    return (
      `The service does not accept the add-on's id "${addonId}" with this password: ${answered}. Compare both with ` +
      `the service's own: --id or ADDON_ID; ADDON_PASSWORD, or standard input${addonPassword === addonPassword.trim() ? "" : " (the password begins or ends with a blank)"}.`
    );
  if (status === 404 || status === 405)
    return `${answered}: nothing takes provisions there. Compare --url and --resources-path with the service's routes.`;
  if (status >= 300 && status < BAD_REQUEST && headers.location !== undefined)
    return `${answered}, a redirect${placeOf(headers.location, url)}, which the platform does not follow. Compare --url.`;
  return null;
}

/** Whether a wrong password is answered like the right one. */
async function refusesAnyone({ service, settings }: Stage): Promise<boolean> {
  const authorization = basic(settings.addonId, "a-wrong-password");
  const body = JSON.stringify({});
  const { status } = await service.send({ method: "POST", body, authorization });
  return status === 403;
}

/** Where a redirect leads, without the query, which may hold a secret. */
function placeOf(location: string, base: string): string {
  if (!URL.canParse(location, base)) return "";
  const { origin, pathname } = new URL(location, base);
  return ` to ${origin}${pathname}`;
}
