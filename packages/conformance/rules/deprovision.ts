import { randomUUID } from "node:crypto";
import {
  answeredWith,
  beganAfter,
  begun,
  callOf,
  deprovisioned,
  type End,
  exchangeOf,
  gone,
  hadTokens,
  installed,
  isApi,
  isExchange,
  isRefresh,
  knowsWhatIs,
  notExchanged,
  plainExchange,
  quiet,
  ready,
  shown,
  underWayMs,
  whileExchangeFails,
} from "../probes.ts";
import { holds, NotJudged, type RuleGroup } from "../rule.ts";
import { assumed, platform } from "../sections.ts";
import { firstTimes } from "../stage/script.ts";
import type { Resource, Stage } from "../stage/stage.ts";
import { jsonReply, type Reply } from "../stage/wire.ts";

const section = assumed(1);

/** Accepts any success: that it is 204 is judged by another rule. */
function isTaken(reply: Reply | null): void {
  holds(reply && reply.status < 300, `It was answered with ${shown(reply)}; 204 was due.`);
}

/** What the service did with a resource's tokens after its end, for the middle of a sentence; null: nothing. */
async function usedAfter(stage: Stage, resource: Resource, end: End): Promise<string | null> {
  const { tokenLifeSeconds, quietMs } = stage.settings.patience;
  await quiet(stage, Math.max(tokenLifeSeconds * 1000, quietMs + underWayMs(stage, end)));
  const late = stage.callsOf(resource).filter(beganAfter(stage, end));
  const calls = late.filter((call) => !isExchange(call));
  if (calls.length === 0) return null;
  return calls.some(isRefresh) ? "refreshed" : "used";
}

function orNull(error: unknown): null {
  if (error instanceof NotJudged) return null;
  throw error;
}

async function usedAfterEnd(stage: Stage): Promise<string | null> {
  const { resource, ...end } = await gone(stage);
  return usedAfter(stage, resource, end);
}

/** The same for an asynchronous provision that is kept from its end by the platform API; null without such a plan. */
async function usedAfterEndHalfway(stage: Stage): Promise<string | null> {
  if (stage.settings.asyncPlan === null) return null;
  const reply = jsonReply(503, { id: "service_unavailable", message: "Later, please." });
  const resource = await begun(stage, { react: (call) => (isApi(call) ? { reply } : undefined) }).catch(
    orNull,
  );
  if (!resource) return null;
  await exchangeOf(stage, resource);
  // Whether it is called at all is judged by another rule, as is whether the provision is answered with 202.
  if (!(await callOf(stage, resource, isApi))) return null;
  return usedAfter(stage, resource, await deprovisioned(stage, resource, "DEPR-07"));
}

export const deprovision: RuleGroup = {
  title: "Deprovision",
  rules: [
    {
      id: "DEPR-01",
      title: "A deprovision is answered with 204",
      section,
      severity: "must",
      mend: "Answer 204 as soon as it is written down, and clean up afterwards if that takes long.",
      async check(stage) {
        const resource = await ready(stage);
        const { reply } = await stage.deprovision(resource);
        hadTokens(stage, resource, reply);
        answeredWith(reply, 204);
      },
    },
    {
      id: "DEPR-02",
      title: "A deprovision of a resource that never was is answered with 404",
      section,
      severity: "must",
      mend: "Look the uuid up: 404 where it was never seen.",
      async check(stage) {
        answeredWith(await stage.service.send({ method: "DELETE", below: `/${randomUUID()}` }), 404);
      },
    },
    {
      id: "DEPR-03",
      title: "What is no uuid in the path is answered with 404",
      section,
      severity: "should",
      mend: "Check the uuid's form before it goes to a database.",
      async check(stage) {
        const reply = await stage.service.send({ method: "DELETE", below: "/not-a-uuid" });
        if (reply.status !== 404) await knowsWhatIs(stage, reply);
        answeredWith(reply, 404);
      },
    },
    {
      id: "DEPR-04",
      title: "A resource can go before its grant is exchanged",
      section,
      severity: "must",
      mend: "Do not wait for tokens: what has none has less to give back.",
      isPatient: true,
      follows: ["DEPR-01"],
      async check(stage) {
        await whileExchangeFails(async (failing) => {
          const resource = await installed(stage, failing);
          isTaken((await stage.deprovision(resource)).reply);
        });
      },
    },
    {
      id: "DEPR-05",
      title: "After it, the grant is no longer exchanged",
      section: assumed(3),
      severity: "must",
      mend: "Take back the work that waits when the resource goes, and erase the code.",
      isPatient: true,
      async check(stage) {
        await whileExchangeFails(async (failing) => {
          const resource = await installed(stage, failing);
          const tried = await callOf(stage, resource, (call) => isExchange(call) && call.endedAt !== null);
          if (!tried) throw notExchanged(stage, resource);
          const end = await deprovisioned(stage, resource);
          await quiet(stage, stage.settings.patience.quietMs + underWayMs(stage, end));
          const tries = stage.callsOf(resource).filter(isExchange).filter(beganAfter(stage, end));
          holds(tries.length === 0, "The code was sent after the resource had been deprovisioned.");
        });
      },
    },
    {
      id: "DEPR-06",
      title: "After it, its tokens are neither used nor refreshed",
      section: platform("Limits", "partners: lifetime of the add-on"),
      severity: "must",
      mend: "Erase both tokens when the resource goes: they live as long as the add-on.",
      isPatient: true,
      async check(stage) {
        await plainExchange(stage);
        const [usual, halfway] = await Promise.all([usedAfterEnd(stage), usedAfterEndHalfway(stage)]);
        holds(!usual, `Its tokens were ${usual} after the resource had been deprovisioned.`);
        const whose = "of a resource that was deprovisioned while it was still being provisioned";
        holds(!halfway, `The tokens ${whose} were ${halfway} afterwards.`);
      },
    },
    {
      id: "DEPR-07",
      title: "A resource can go while it is still being provisioned",
      section: assumed(1),
      severity: "must",
      mend: "Cancel the running work, answer 204, and let the work clean up behind itself.",
      isPatient: true,
      follows: ["DEPR-01"],
      async check(stage) {
        await whileExchangeFails(async (failing) => {
          const resource = await begun(stage, failing);
          isTaken((await stage.deprovision(resource)).reply);
        });
      },
    },
    {
      id: "DEPR-08",
      title: "Tokens that arrive after it are neither used nor refreshed",
      section: platform("Limits", "partners: lifetime of the add-on"),
      severity: "must",
      mend: "Look whether the resource is still there when its tokens arrive, in the statement that stores them.",
      isPatient: true,
      follows: ["EXCH-02", "DEPR-04", "DEPR-06"],
      async check(stage) {
        await plainExchange(stage);
        const { tokenLifeSeconds } = stage.settings.patience;
        let answer = () => {};
        const heldUntil = new Promise<void>((resolve) => (answer = resolve));
        const resource = await installed(stage, {
          tokenLifeSeconds,
          react: firstTimes(1, isExchange, () => ({ heldUntil })),
        });
        const exchange = await callOf(stage, resource, (call) => isExchange(call) && call.isServed);
        if (!exchange) {
          answer();
          throw notExchanged(stage, resource);
        }
        const end = await deprovisioned(stage, resource).finally(answer);
        await stage.books.until(() => exchange.endedAt !== null, stage.settings.patience.eventMs);
        const what = await usedAfter(stage, resource, end);
        holds(!what, `Tokens that came after the resource had been deprovisioned were ${what}.`);
      },
    },
  ],
};
