import {
  accepted,
  callOf,
  ELSEWHERE,
  firstReply,
  installed,
  installedInTime,
  isExchange,
  isExchanged,
  isStray,
  isSuccess,
  MANY_TRIES,
  momentMs,
  notExchanged,
  PAUSE_MS,
  plainExchange,
  quiet,
  repeated,
  repeatsWell,
  shown,
  stormPauseMs,
  whileExchangeFails,
} from "../probes.ts";
import { holds, needs, type RuleGroup } from "../rule.ts";
import { assumed, platform } from "../sections.ts";
import type { Call } from "../stage/books.ts";
import { firstTimes, type Reaction, type Script } from "../stage/script.ts";
import type { Resource, Stage } from "../stage/stage.ts";
import { jsonReply, type Reply } from "../stage/wire.ts";
import { holdsRetryAfter, rateLimited } from "./rate-limit.ts";

/** So many provisions in a row are not refused because others came at the same moment. */
const FEW = 3;

const unavailable = () => ({
  reply: jsonReply(503, { id: "service_unavailable", message: "Later, please." }),
});

/** A provision whose exchange fails `times` times and then is watched until it succeeds. */
async function exchangeThatFails(stage: Stage, times: number, reaction: () => Reaction, what: string) {
  await plainExchange(stage);
  const resource = await installed(stage, { react: firstTimes(times, isExchange, reaction) });
  // Each try is waited for as long as the first.
  const { eventMs } = stage.settings.patience;
  for (let nth = 0; nth < times; nth++)
    if (!(await stage.books.until(() => exchangesOf(stage, resource)[nth], eventMs))) break;
  const call = await callOf(stage, resource, isExchanged, eventMs + (reaction().delayMs ?? 0));
  holds(call, `${what}, and the code was never exchanged afterwards.`);
  return exchangesOf(stage, resource).filter(({ at }) => at <= call.at);
}

const exchangesOf = (stage: Stage, resource: Resource): Call[] => stage.callsOf(resource).filter(isExchange);

/**
 * A provision that was refused again and again while exchanges fail; null if none was. Throws Broken if the one whose exchange
 * fails is refused when it comes again, and NotJudged if provisions were refused before any exchange failed.
 */
async function refusedWhile(stage: Stage, failing: Script): Promise<{ reply: Reply | null } | null> {
  const resource = await installedInTime(stage, FEW, failing);
  // The exchange of another rule's resource may fail at this moment.
  const isUpset = !isSuccess(firstReply(resource)) && stage.books.calls.some(isFailing);
  if (isUpset) return { reply: firstReply(resource) };
  accepted(resource);
  if (!(await callOf(stage, resource, isExchange))) throw notExchanged(stage, resource);
  // One failure may be taken for chance.
  await stage.books.until(() => exchangesOf(stage, resource)[2], 3 * momentMs(stage));
  const other = firstReply(await installedInTime(stage, FEW));
  if (!isSuccess(other)) return { reply: other };
  await repeatsWell(stage);
  if (isSuccess((await stage.redeliver(resource)).reply)) return null;
  // Who refuses one of many, or whatever comes again, does not refuse it for its exchange.
  await quiet(stage, PAUSE_MS);
  const { reply: usual } = await stage.redeliver((await repeated(stage)).resource);
  const again = `a provision that comes again has to be accepted, and was answered with ${shown(usual)}.`;
  needs(isSuccess(usual), again, "IDEM-01");
  const { reply } = await stage.redeliver(resource);
  holds(
    isSuccess(reply),
    `A provision whose exchange fails was answered with ${shown(reply)} when it came again.`,
  );
  return null;
}

const isFailing = (call: Call) => isExchange(call) && (call.reply?.status ?? 0) >= 500;

export const platformFails: RuleGroup = {
  title: "While the platform fails",
  rules: [
    {
      id: "FAIL-01",
      title: "An exchange that meets 503 is tried again until it succeeds",
      section: assumed(3),
      severity: "must",
      mend: "Try again after 1, 2, 4, 8, 10 … seconds for as long as the grant lives.",
      isPatient: true,
      check: (stage) => exchangeThatFails(stage, 2, unavailable, "The token endpoint answered 503 twice"),
    },
    {
      id: "FAIL-02",
      title: "An exchange whose connection is cut is tried again",
      section: assumed(3),
      severity: "must",
      mend: "Take a broken connection for a passing fault, as a 5xx.",
      isPatient: true,
      check: (stage) =>
        exchangeThatFails(
          stage,
          1,
          () => ({ cut: true }),
          "The connection to the token endpoint was cut once",
        ),
    },
    {
      id: "FAIL-03",
      title: "An exchange that meets 429 is tried again, and not before Retry-After",
      section: assumed(4),
      severity: "should",
      mend: "Wait for as many seconds as Retry-After says, then try again.",
      isPatient: true,
      follows: ["EXCH-03"],
      async check(stage) {
        const once = "The token endpoint answered 429 once";
        const [limited, next] = await exchangeThatFails(stage, 1, () => rateLimited(), once);
        holdsRetryAfter(limited!, next!, "the next try");
      },
    },
    {
      id: "FAIL-04",
      title: "A slow answer of the token endpoint is waited for",
      section: assumed(3),
      severity: "must",
      mend: "Wait at least 20 s: the code is used up while you hang up, and its tokens are lost.",
      isPatient: true,
      follows: ["EXCH-02", "EXCH-03"],
      async check(stage) {
        const delayMs = stage.settings.patience.slowMs;
        const calls = await exchangeThatFails(
          stage,
          1,
          () => ({ delayMs }),
          `The token endpoint took ${delayMs / 1000} s`,
        );
        holds(
          calls.length === 1,
          `The token endpoint took ${delayMs / 1000} s, and in that time the code was sent again.`,
        );
      },
    },
    {
      id: "FAIL-05",
      title: "A page instead of tokens is taken for a fault, and the exchange tried again",
      section: assumed(3),
      severity: "should",
      mend: "Check that the answer is JSON with an access_token before you believe its status.",
      isPatient: true,
      async check(stage) {
        const page = {
          ...jsonReply(200, ""),
          text: "<html>Maintenance</html>",
          headers: { "content-type": "text/html" },
        };
        await plainExchange(stage);
        const resource = await installed(stage, {
          react: firstTimes(1, isExchange, () => ({ reply: page })),
        });
        if (!(await callOf(stage, resource, isExchange))) throw notExchanged(stage, resource);
        const again = () => exchangesOf(stage, resource)[1];
        holds(
          await stage.books.until(again, stage.settings.patience.eventMs),
          "A page of HTML with status 200 was taken for tokens.",
        );
      },
    },
    {
      id: "FAIL-06",
      title: "A redirect of the token endpoint is not followed",
      section: assumed(3),
      severity: "must",
      mend: "Turn redirects off in your HTTP client: a 307 sends the client secret to whoever is named.",
      isPatient: true,
      async check(stage) {
        await plainExchange(stage);
        // Redirects to the address that the service has just called, because the address it was given may differ from
        // the one at which it reaches the platform.
        const redirect = ({ headers: { host } }: Call) => {
          const location = `${stage.settings.platformUrl ?? (host ? `http://${host}` : stage.platformUrl)}${ELSEWHERE}`;
          return { reply: { ...jsonReply(307, {}), headers: { location } } };
        };
        const resource = await installed(stage, { react: firstTimes(1, isExchange, redirect) });
        if (!(await callOf(stage, resource, isExchange))) throw notExchanged(stage, resource);
        await quiet(stage);
        const strayed = stage.callsOf(resource).some(isStray);
        holds(!strayed, "The code and the client secret were sent to where a 307 pointed.");
      },
    },
    {
      id: "FAIL-07",
      title: "While the token endpoint fails, provisions are still accepted",
      section: platform("Errors", "Provision request answered with a non-success code"),
      severity: "must",
      mend: "Answer without asking the platform: a refusal is final, an outage passes.",
      isPatient: true,
      async check(stage) {
        await plainExchange(stage);
        const refused = await whileExchangeFails((failing) => refusedWhile(stage, failing));
        if (refused === null) return;
        // Who goes on refusing when the exchanges succeed again has another reason.
        accepted(await installedInTime(stage, Math.ceil(stage.settings.patience.eventMs / PAUSE_MS)));
        holds(false, `A provision was answered with ${shown(refused.reply)}.`);
      },
    },
    {
      id: "FAIL-08",
      title: "A token endpoint that keeps failing is not called in a storm",
      section: assumed(4),
      severity: "should",
      mend: "Double the wait from try to try, up to ten seconds.",
      isPatient: true,
      follows: ["EXCH-03"],
      async check(stage) {
        await plainExchange(stage);
        const pauseMs = await whileExchangeFails(async (failing) => {
          const resource = await installed(stage, failing);
          if (!(await callOf(stage, resource, isExchange))) throw notExchanged(stage, resource);
          return stormPauseMs(stage, () => exchangesOf(stage, resource));
        });
        holds(
          pauseMs === null,
          `It was called more than ${MANY_TRIES} times for one grant, at last after ${Math.round(pauseMs ?? 0)} ms.`,
        );
      },
    },
  ],
};
