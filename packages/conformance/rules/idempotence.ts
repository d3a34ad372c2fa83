import {
  answeredWithSuccess,
  exchanged,
  exchangeOf,
  firstReply,
  isDone,
  isExchange,
  isSuccess,
  otherPlan,
  plainExchange,
  quiet,
  ready,
  repeated,
  repeatsWell,
  settled,
  shown,
} from "../probes.ts";
import { holds, needs, type RuleGroup } from "../rule.ts";
import { assumed } from "../sections.ts";
import { aProvision } from "../stage/service-calls.ts";
import type { Stage } from "../stage/stage.ts";
import { membersIn, type Reply } from "../stage/wire.ts";

const section = assumed(1);

/** A service that looks and then inserts is seen to do so in one pair of seven: so there are many. */
const PAIRS = 20;
const ROUNDS = 2;

/** The same provision twice at the same moment; what it made is deprovisioned. */
async function pair(stage: Stage): Promise<[Reply, Reply]> {
  const body = aProvision(stage.settings);
  const call = () => stage.service.send({ method: "POST", body });
  const replies = await Promise.all([call(), call()]);
  await stage.service.send({ method: "DELETE", below: `/${String(body["uuid"])}` });
  return replies;
}

export const idempotence: RuleGroup = {
  title: "Idempotence",
  rules: [
    {
      id: "IDEM-01",
      title: "A provision that comes again is answered with success again",
      section,
      severity: "must",
      mend: "Look the uuid up first. Delivery is at least once, and no other answer than success keeps the grant alive.",
      async check(stage) {
        const { again } = await repeated(stage);
        answeredWithSuccess(again);
      },
    },
    {
      id: "IDEM-02",
      title: "It gets the same answer, byte for byte",
      section,
      severity: "must",
      mend: "Keep the answer with the resource and send it again: new passwords or ids are those of nobody.",
      async check(stage) {
        const { first, again } = await repeated(stage);
        needs(isSuccess(again), "a repeated provision has to succeed first.", "IDEM-01");
        holds(first.status === again.status, `First it was ${first.status}, then ${again.status}.`);
        holds(first.text === again.text, "The second answer's body differs from the first's.");
      },
    },
    {
      id: "IDEM-03",
      title: "The same uuid with another plan, region or options gets the stored answer, not a refusal",
      section,
      severity: "must",
      mend: "The uuid is the identity. Log the difference, answer as before: a refusal would kill the grant.",
      async check(stage) {
        await repeatsWell(stage);
        const resource = await ready(stage);
        const first = firstReply(resource)!.text;
        const changes = { region: "another-region", options: { size: "other" }, name: "another-name" };
        resource.script.alter = (request) => {
          if (request.method !== "POST") return;
          request.body = JSON.stringify({ ...membersIn(String(request.body)), ...changes });
        };
        const { reply: elsewhere } = await stage.redeliver(resource);
        delete resource.script.alter;
        const what = "with another region, other options and another name";
        holds(isSuccess(elsewhere), `A repetition ${what} was answered with ${shown(elsewhere)}.`);
        holds(elsewhere.text === first, `The answer to a repetition ${what} is another one than the first.`);
        const { reply } = await stage.redeliver(resource, { plan: otherPlan(stage) });
        answeredWithSuccess(reply);
        holds(reply.text === first, "The answer is another one than the first.");
      },
    },
    {
      id: "IDEM-04",
      title: "Two equal provisions at the same moment get the same answer",
      section,
      severity: "must",
      mend: "Let a unique constraint on the uuid decide who makes the resource; the other waits and answers the same.",
      follows: ["HTTP-05"],
      async check(stage) {
        await repeatsWell(stage);
        for (let round = 0; round < ROUNDS; round++) {
          const pairs = await Promise.all(Array.from({ length: PAIRS }, () => pair(stage)));
          const isBusy = ({ status }: Reply) => status === 429 || status >= 500;
          const areBusy = pairs.some((both) => both.every(isBusy));
          needs(!areBusy, `${2 * PAIRS} provisions at the same moment have to be accepted first.`, "HTTP-05");
          for (const [one, two] of pairs) {
            const both = isSuccess(one) && isSuccess(two);
            holds(both, `They were answered with ${shown(one)} and ${shown(two)}.`);
            holds(one.text === two.text, "Their answers differ.");
          }
        }
      },
    },
    {
      id: "IDEM-05",
      title: "A repeated provision exchanges nothing a second time",
      section: assumed(3),
      severity: "must",
      mend: "A code works once. Keep with the resource that it was exchanged.",
      isPatient: true,
      follows: ["EXCH-03"],
      async check(stage) {
        const { resource } = await repeated(stage);
        await plainExchange(stage);
        await exchanged(stage, resource);
        await quiet(stage);
        const calls = stage.callsOf(resource).filter(isExchange);
        holds(
          calls.findIndex(isDone) === calls.length - 1,
          "The code was sent again after it had been exchanged.",
        );
      },
    },
    {
      id: "IDEM-06",
      title: "An answer that got lost is given again, and the grant is exchanged then",
      section,
      severity: "must",
      mend: "Answer the second delivery as the first, and try the exchange again while the grant lives.",
      isPatient: true,
      follows: ["IDEM-04", "FAIL-07", "EXCH-11"],
      async check(stage) {
        await repeatsWell(stage);
        const resource = await stage.install({ lostAnswers: 1 });
        const first = firstReply(resource);
        const { reply } = await stage.redeliver(resource);
        answeredWithSuccess(reply);
        holds(first?.text === reply.text, "The second delivery got another answer than the first.");
        await plainExchange(stage);
        const call = await exchangeOf(stage, resource);
        holds(call, "The grant of a provision whose first answer was lost was never exchanged.");
      },
    },
    {
      id: "IDEM-07",
      title: "A new code for a resource that has its tokens does no harm",
      section,
      severity: "must",
      mend: "Answer as before. What is exchanged is exchanged; go on with the tokens you have.",
      async check(stage) {
        await repeatsWell(stage);
        const resource = await settled(stage);
        const { reply } = await stage.redeliver(resource, { newCode: true });
        holds(isSuccess(reply), `A repeated provision with a new code was answered with ${shown(reply)}.`);
        holds(reply.text === firstReply(resource)!.text, "The answer is another one than the first.");
      },
    },
  ],
};
