import {
  begun,
  callOf,
  completed,
  exchangeOf,
  isApi,
  isConfigPush,
  isDone,
  isMark,
  isRefresh,
  MANY_TRIES,
  markOf,
  stormPauseMs,
} from "../probes.ts";
import { Broken, holds, needs, type Rule } from "../rule.ts";
import { assumed, platform } from "../sections.ts";
import type { Call } from "../stage/books.ts";
import { firstTimes, type Reaction } from "../stage/script.ts";
import type { Resource, Stage } from "../stage/stage.ts";
import { jsonReply } from "../stage/wire.ts";
import { holdsRetryAfter, rateLimited } from "./rate-limit.ts";

// Asynchronous provisions while calls of the platform API fail.

/** A service can do without what it reads, but its changes have to arrive. */
const isChange = (call: Call) => isApi(call) && call.method !== "GET";

/**
 * Runs two asynchronous provisions: in one, `reaction` meets the first setting of config vars (or else the first other
 * change), in the other, the call that ends the provision. Throws Broken unless both end and their config vars arrive.
 */
async function despite(stage: Stage, reaction: () => Reaction, what: string): Promise<Resource[]> {
  const plain = await completed(stage);
  const hasPushed = stage.callsOf(plain).some((call) => isConfigPush(call) && isDone(call));
  const isFirst = hasPushed ? isConfigPush : (call: Call) => isChange(call) && !isMark(call);
  const failing = { "first change at": isFirst, "end of the provision told to": isMark };
  const resources: Resource[] = [];
  for (const isMeant of Object.values(failing))
    resources.push(await begun(stage, { react: firstTimes(1, isMeant, reaction) }));
  for (const [nth, [which, isMeant]] of Object.entries(failing).entries()) {
    const once = `The ${which} the platform API was answered with ${what} once, and`;
    await exchangeOf(stage, resources[nth]!);
    await callOf(stage, resources[nth]!, isMeant);
    const mark = await markOf(stage, resources[nth]!);
    holds(mark, `${once} the provision was never completed.`);
    const push =
      hasPushed && (await callOf(stage, resources[nth]!, (call) => isConfigPush(call) && isDone(call)));
    holds(push || !hasPushed, `${once} the config vars never arrived.`);
  }
  return resources;
}

const isSame = (call: Call, other: Call) => call.method === other.method && call.path === other.path;

// Only what changes something is failed there: what is read, several parts of a service may read, each in its own time.

/** A sentence about the calls of an asynchronous provision that come in a storm while each meets this status; else null. */
async function stormAfter(stage: Stage, status: number): Promise<string | null> {
  let isOver = false;
  const reply = () => ({ reply: jsonReply(status, { id: "refused", message: "Not now." }) });
  const resource = await begun(stage, { react: (call) => (isChange(call) && !isOver ? reply() : undefined) });
  try {
    await exchangeOf(stage, resource);
    const first = await callOf(stage, resource, isChange);
    needs(first, "the platform API has to be called first.", "ASYNC-03");
    const pauseMs = await stormPauseMs(stage, () =>
      stage.callsOf(resource).filter((call) => isSame(call, first)),
    );
    if (pauseMs === null) return null;
    const often = `${first.method} was made more than ${MANY_TRIES} times, at last after ${Math.round(pauseMs)} ms`;
    return `While each was answered with ${status}, ${often}.`;
  } finally {
    isOver = true;
  }
}

/** A call that fails is made again, and the provision completed. */
export const despiteFaults: readonly Rule[] = [
  {
    id: "ASYNC-10",
    title: "A 503 of the platform API only delays the end",
    section: assumed(4),
    severity: "must",
    mend: "Try each call again, a little later each time.",
    isPatient: true,
    follows: ["ASYNC-04", "ASYNC-08"],
    check: (stage) =>
      despite(
        stage,
        () => ({ reply: jsonReply(503, { id: "service_unavailable", message: "Later." }) }),
        "503",
      ),
  },
  {
    id: "ASYNC-11",
    title: "A 429 of the platform API only delays the end",
    section: assumed(4),
    severity: "must",
    mend: "Wait, for Retry-After where there is one, and try again.",
    isPatient: true,
    follows: ["ASYNC-10"],
    check: (stage) => despite(stage, () => rateLimited(1), "429"),
  },
  {
    id: "ASYNC-12",
    title: "A 401 of the platform API leads to a refresh, and the call is made again",
    section: platform("States and transitions", "may end earlier, for example on credential rotation"),
    severity: "must",
    mend: "An access token may end early. Refresh it at a 401, then repeat the call with the new one.",
    isPatient: true,
    follows: ["TOK-02", "TOK-03", "TOK-09", "EXCH-12", "ASYNC-08", "ASYNC-10", "ASYNC-11"],
    async check(stage) {
      const reply = jsonReply(401, {
        id: "unauthorized",
        message: "The access token is not valid any more.",
      });
      const refreshed = (resource: Resource) =>
        stage.callsOf(resource).some((call) => isRefresh(call) && isDone(call));
      const isMet = (resource: Resource) => stage.callsOf(resource).some((call) => call.reply === reply);
      const resources = await despite(stage, () => ({ reply }), "401");
      holds(resources.filter(isMet).every(refreshed), "After a 401 no token was refreshed.");
    },
  },
];

/** A call that fails is made again after a pause. */
export const withPauses: readonly Rule[] = [
  {
    id: "ASYNC-15",
    title: "After a 429 of the platform API the call is not made again before Retry-After",
    section: assumed(4),
    severity: "should",
    mend: "Wait for as many seconds as Retry-After says, then make the call again.",
    isPatient: true,
    follows: ["FAIL-03", "ASYNC-08", "ASYNC-11"],
    async check(stage) {
      await completed(stage);
      const resource = await begun(stage, { react: firstTimes(1, isChange, () => rateLimited()) });
      await exchangeOf(stage, resource);
      const first = await callOf(stage, resource, (call) => isChange(call) && call.endedAt !== null);
      needs(first, "the platform API has to be called first.", "ASYNC-03");
      const isAgain = (call: Call) => isSame(call, first) && call.at > first.at;
      const again = await callOf(stage, resource, isAgain);
      needs(again, "a call that met a 429 has to be made again first, and was not.", "ASYNC-11");
      holdsRetryAfter(first, again, `the next ${first.method}`);
    },
  },
  {
    id: "ASYNC-16",
    title: "A platform API that keeps failing is not called in a storm",
    section: assumed(4),
    severity: "should",
    mend: "Double the wait from try to try, up to ten seconds; give up what is refused with a 4xx other than 401 and 429.",
    isPatient: true,
    follows: ["FAIL-08", "ASYNC-08"],
    async check(stage) {
      await completed(stage);
      const storms = await Promise.all([503, 422].map((status) => stormAfter(stage, status)));
      const storm = storms.find((each) => each !== null);
      if (storm) throw new Broken(storm);
    },
  },
];
