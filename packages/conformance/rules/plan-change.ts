import { randomUUID } from "node:crypto";
import { nameFaults, valueFaults } from "../config-vars.ts";
import {
  answeredWith,
  answeredWithObject,
  answeredWithSuccess,
  begun,
  completed,
  firstReply,
  hadTokens,
  installed,
  isRefusal,
  isSuccess,
  knowsWhatIs,
  marked,
  membersOf,
  otherPlan,
  plain,
  plainAnswer,
  probe,
  ready,
  repeatsWell,
  whileExchangeFails,
} from "../probes.ts";
import { applies, Broken, holds, needs, type RuleGroup } from "../rule.ts";
import { assumed } from "../sections.ts";
import type { Resource, Stage } from "../stage/stage.ts";

const section = assumed(1);

const changed = probe(async (stage) => {
  const plan = otherPlan(stage);
  const resource = await ready(stage);
  return { resource, plan, reply: (await stage.changePlan(resource, plan)).reply };
});

/** A resource of its own, whose asynchronous provision is completed. */
async function laterDone(stage: Stage): Promise<Resource> {
  await completed(stage);
  const resource = await begun(stage);
  await marked(stage, resource);
  return resource;
}

export const planChange: RuleGroup = {
  title: "Plan change",
  rules: [
    {
      id: "PLAN-01",
      title: "A change to another plan is answered with 200 or 202",
      section,
      severity: "must",
      mend: "Answer PUT with 200 when it is done, with 202 when it will be. Where this change is one that you refuse, name another with --other-plan.",
      async check(stage) {
        const { resource, reply, plan } = await changed(stage);
        hadTokens(stage, resource, reply);
        const isOnlyOther = plan === stage.settings.asyncPlan;
        needs(
          !(isOnlyOther && reply?.status === 422),
          `the service refuses the change to ${plan}, and no other plan is named (--other-plan).`,
        );
        answeredWithSuccess(reply);
      },
    },
    {
      id: "PLAN-02",
      title: "Its answer is a JSON object, its config one of texts",
      section,
      severity: "must",
      mend: "Answer as to a provision: {config?, message?}, and say so in Content-Type.",
      follows: ["PROV-02", "PROV-04", "PROV-05", "PROV-06"],
      async check(stage) {
        const { reply } = await changed(stage);
        needs(isSuccess(reply), "a plan change has to succeed first.", "PLAN-01");
        answeredWithObject(reply);
        const { config } = membersOf(reply);
        if (config === undefined) return;
        const [fault = nameFaults(Object.keys(config ?? {}), stage.settings.manifest)[0]] =
          valueFaults(config);
        if (fault) throw new Broken(fault);
      },
    },
    {
      id: "PLAN-03",
      title: "A change to the plan it has succeeds",
      section,
      severity: "must",
      mend: "Answer 200 and do nothing: delivery is at least once.",
      isPatient: true,
      follows: ["PLAN-01"],
      async check(stage) {
        // A resource of its own: those of other rules may have another plan by now, if the service sells them all.
        const resource = await ready(stage);
        const { reply } = await stage.changePlan(resource, stage.settings.plan);
        hadTokens(stage, resource, reply);
        answeredWithSuccess(reply);
        const { asyncPlan } = stage.settings;
        if (asyncPlan === null) return;
        // The same for a resource that was provisioned asynchronously, once it is done. If it never is, other rules
        // report that.
        const later = await laterDone(stage).catch(() => null);
        if (later) answeredWithSuccess((await stage.changePlan(later, asyncPlan)).reply);
      },
    },
    {
      id: "PLAN-04",
      title: "A change to a plan that is not sold is refused with 422",
      section,
      severity: "must",
      mend: "Look the plan up, and answer 422 with a message where it is unknown or not allowed.",
      async check(stage) {
        const below = `/${(await ready(stage)).uuid}`;
        answeredWith(
          await stage.service.send({ method: "PUT", below, body: { plan: "no-such-plan-of-anybody" } }),
          422,
        );
      },
    },
    {
      id: "PLAN-05",
      title: "A change of a resource that never was is answered with 404",
      section,
      severity: "must",
      mend: "Look the uuid up; make nothing.",
      async check(stage) {
        const body = { plan: stage.settings.plan };
        const reply = await stage.service.send({ method: "PUT", below: `/${randomUUID()}`, body });
        if (reply.status !== 404) await knowsWhatIs(stage, reply);
        answeredWith(reply, 404);
      },
    },
    {
      id: "PLAN-06",
      title: "A change without a plan, or with a broken body, is refused with a 4xx",
      section,
      severity: "must",
      mend: "Check the body; change nothing where it makes no sense.",
      follows: ["REQ-11"],
      async check(stage) {
        await plainAnswer(stage);
        const below = `/${(await plain(stage)).uuid}`;
        const bodies = {
          "A body without a plan": "{}",
          "Broken JSON": '{"plan":',
          "A plan that is a number": '{"plan": 7}',
        };
        for (const [what, body] of Object.entries(bodies)) {
          const reply = await stage.service.send({ method: "PUT", below, body });
          holds(isRefusal(reply) && reply.status !== 401, `${what} was answered with ${reply.status}.`);
        }
      },
    },
    {
      id: "PLAN-07",
      title: "Members that nobody knows are ignored here too",
      section,
      severity: "must",
      mend: "Read plan by its name and leave the others alone.",
      async check(stage) {
        const plan = otherPlan(stage);
        needs(isSuccess((await changed(stage)).reply), "a plan change has to succeed first.", "PLAN-01");
        const resource = await ready(stage);
        const below = `/${resource.uuid}`;
        const body = { plan, from_tomorrow: [1], options: {} };
        answeredWithSuccess(await stage.service.send({ method: "PUT", below, body }));
      },
    },
    {
      id: "PLAN-08",
      title: "A plan change before the grant is exchanged is accepted",
      section,
      severity: "should",
      mend: "Do it at once if it needs no token; answer 202 and do it later if it does.",
      async check(stage) {
        const plan = otherPlan(stage);
        needs(isSuccess((await changed(stage)).reply), "a plan change has to succeed first.", "PLAN-01");
        await whileExchangeFails(async (failing) => {
          const resource = await installed(stage, failing);
          answeredWithSuccess((await stage.changePlan(resource, plan)).reply);
        });
      },
    },
    {
      id: "PLAN-09",
      title: "After a plan change a repeated provision is still a success",
      section,
      severity: "must",
      mend: "A provision of a uuid you know is answered with success, whatever its plan is by now.",
      follows: ["IDEM-03"],
      async check(stage) {
        const plan = otherPlan(stage);
        await repeatsWell(stage);
        const resource = await ready(stage);
        needs(
          isSuccess((await stage.changePlan(resource, plan)).reply),
          "a plan change has to succeed first.",
          "PLAN-01",
        );
        answeredWithSuccess((await stage.redeliver(resource, { plan: stage.settings.plan })).reply);
      },
    },
    {
      id: "PLAN-10",
      title: "The config of a changed plan has all config vars of the provision",
      section,
      severity: "should",
      mend: "Answer with all config vars, or with no config: a platform that takes config as a whole removes the others from the app.",
      follows: ["PLAN-02"],
      async check(stage) {
        const { resource, reply } = await changed(stage);
        needs(isSuccess(reply), "a plan change has to succeed first.", "PLAN-01");
        const { config } = membersOf(reply);
        applies(config !== undefined, "the answer to a plan change has no config.");
        const now = Object.keys(config ?? {});
        const before = Object.keys(membersOf(firstReply(resource)!)["config"] ?? {});
        const isLost = (name: string) =>
          !now.includes(name) && nameFaults([name], stage.settings.manifest).length === 0;
        const lost = before.filter(isLost);
        holds(lost.length === 0, `The config of the changed plan lacks ${lost.join(" and ")}.`);
      },
    },
  ],
};
