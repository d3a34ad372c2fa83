import {
  callOf,
  ELSEWHERE,
  firstReply,
  installed,
  isExchange,
  isExchanged,
  isStray,
  isSuccess,
  momentMs,
  notExchanged,
  plainExchange,
  quiet,
  repeatsWell,
  shown,
  whileExchangeFails,
} from "../probes.ts";
import { holds, type RuleGroup } from "../rule.ts";
import { assumed, platform } from "../sections.ts";
import type { Call } from "../stage/books.ts";
import { firstTimes, type Reaction } from "../stage/script.ts";
import type { Resource, Stage } from "../stage/stage.ts";
import { jsonReply } from "../stage/wire.ts";

const section = platform("States and transitions");
const RETRY_AFTER_SECONDS = 2;
/** More calls to the token endpoint than this, with pauses that stay short, are a storm. */
const MANY_TRIES = 7;

const unavailable = () => ({
  reply: jsonReply(503, { id: "service_unavailable", message: "Later, please." }),
});
const rateLimited = (seconds: number) => ({
  reply: jsonReply(429, { id: "rate_limit", message: "Too many." }, { "retry-after": String(seconds) }),
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

export const platformFails: RuleGroup = {
  title: "While the platform fails",
  rules: [
    {
      id: "FAIL-01",
      title: "An exchange that meets 503 is tried again until it succeeds",
      section,
      severity: "must",
      mend: "Try again after 1, 2, 4, 8, 10 … seconds for as long as the grant lives.",
      isPatient: true,
      check: (stage) => exchangeThatFails(stage, 2, unavailable, "The token endpoint answered 503 twice"),
    },
    {
      id: "FAIL-02",
      title: "An exchange whose connection is cut is tried again",
      section,
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
      section: `${platform("Limits")}; ${assumed(4)}`,
      severity: "should",
      mend: "Wait for as many seconds as Retry-After says, then try again.",
      isPatient: true,
      async check(stage) {
        const calls = await exchangeThatFails(
          stage,
          1,
          () => rateLimited(RETRY_AFTER_SECONDS),
          "The token endpoint answered 429 once",
        );
        const waitedMs = calls[1]!.at - calls[0]!.endedAt!;
        // The clocks of two processes may differ by some milliseconds.
        holds(
          waitedMs > RETRY_AFTER_SECONDS * 1000 - 50,
          `Retry-After said ${RETRY_AFTER_SECONDS} s, the next try came after ${(waitedMs / 1000).toFixed(1)} s.`,
        );
      },
    },
    {
      id: "FAIL-04",
      title: "A slow answer of the token endpoint is waited for",
      section,
      severity: "must",
      mend: "Wait at least 20 s: the code is used up while you hang up, and its tokens are lost.",
      isPatient: true,
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
      section,
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
      section: platform("Errors"),
      severity: "must",
      mend: "Answer without asking the platform: a refusal is final, an outage passes.",
      isPatient: true,
      async check(stage) {
        await plainExchange(stage);
        const resource = await installed(stage, whileExchangeFails);
        if (!(await callOf(stage, resource, isExchange))) throw notExchanged(stage, resource);
        const other = await stage.install();
        holds(isSuccess(firstReply(other)), `A provision was answered with ${shown(firstReply(other))}.`);
        await repeatsWell(stage);
        const { reply } = await stage.redeliver(resource);
        holds(
          isSuccess(reply),
          `A provision whose exchange fails was answered with ${shown(reply)} when it came again.`,
        );
      },
    },
    {
      id: "FAIL-08",
      title: "A token endpoint that keeps failing is not called in a storm",
      section: platform("Limits"),
      severity: "should",
      mend: "Double the wait from try to try, up to ten seconds.",
      isPatient: true,
      async check(stage) {
        await plainExchange(stage);
        const resource = await installed(stage, whileExchangeFails);
        if (!(await callOf(stage, resource, isExchange))) throw notExchanged(stage, resource);
        const watchedMs = 2 * momentMs(stage);
        const calls = () => exchangesOf(stage, resource);
        await stage.books.until(() => calls().length > MANY_TRIES, watchedMs);
        // A machine that stood still was watched for longer: who waits longer from try to try is no storm.
        const [before, last] = calls().slice(MANY_TRIES - 1);
        const pauseMs = last ? last.at - before!.at : Infinity;
        holds(
          pauseMs > watchedMs,
          `It was called more than ${MANY_TRIES} times for one grant, at last after ${Math.round(pauseMs)} ms.`,
        );
      },
    },
  ],
};
