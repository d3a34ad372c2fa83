import { nameFaults, valueFaults } from "../config-vars.ts";
import {
  answeredWithObject,
  crowd,
  firstReply,
  hadTokens,
  isObject,
  isSuccess,
  membersOf,
  plain,
  plainAnswer,
  ready,
  shown,
  strangePlan,
} from "../probes.ts";
import { applies, Broken, Discouraged, holds, needs, type RuleGroup } from "../rule.ts";
import { assumed, platform } from "../sections.ts";
import type { Stage } from "../stage/stage.ts";
import { membersIn, type Outgoing } from "../stage/wire.ts";

const section = assumed(1);

export const provision: RuleGroup = {
  title: "Provision: the answer",
  rules: [
    {
      id: "PROV-01",
      title: "A provision is answered with 200 or 202",
      section: platform("Errors", "Provision request answered with a non-success code"),
      severity: "must",
      mend: "Answer 200 when it is done, 202 when it will be. Anything but success ends the grant for good.",
      follows: ["EXCH-02"],
      async check(stage) {
        const reply = firstReply(await plain(stage));
        if (reply?.status === 201)
          throw new Discouraged(
            'It was answered with 201. The platform\'s document says "a success code", and 200 and 202 are the only ones ' +
              "that are known to count; any other answer makes the grant invalid.",
          );
        if (isSuccess(reply)) return;
        holds(reply, "A provision got no answer.");
        const { message } = membersOf(reply);
        const why = typeof message === "string" ? `: ${message.replace(/\.$/, "")}` : "";
        throw new Broken(
          `A provision of the plan ${stage.settings.plan} was answered with ${shown(reply)}${why}. ` +
            "(If you do not sell that plan, name another with --plan.)",
        );
      },
    },
    {
      id: "PROV-02",
      title: "The answer is a JSON object and says so in its Content-Type",
      section,
      severity: "must",
      mend: "Send Content-Type: application/json and an object.",
      async check(stage) {
        answeredWithObject(await plainAnswer(stage));
      },
    },
    {
      id: "PROV-03",
      title: "The answer has an id, a text that names the resource at the partner",
      section,
      severity: "must",
      mend: "Answer with your own name for the resource in id, as a string. The uuid itself will do.",
      async check(stage) {
        const answer = await plainAnswer(stage);
        needs(isObject(answer), "the answer has to be a JSON object first.", "PROV-02");
        const { id } = membersOf(answer);
        holds(
          typeof id === "string" && id !== "",
          id === undefined ? "There is no id." : "id is no text, or an empty one.",
        );
        const ids = (await crowd(stage)).flatMap((resource) => {
          const reply = firstReply(resource);
          return isSuccess(reply) ? [membersOf(reply)["id"]] : [];
        });
        holds(new Set([id, ...ids]).size === ids.length + 1, "Two resources got the same id.");
      },
    },
    {
      id: "PROV-04",
      title: "config is an object of texts",
      section,
      severity: "must",
      mend: "Send every value as a string; numbers and null are none.",
      async check(stage) {
        const { config } = membersOf(await plainAnswer(stage));
        applies(config !== undefined, "the answer has no config.");
        const [fault] = valueFaults(config);
        if (fault) throw new Broken(fault);
      },
    },
    {
      id: "PROV-05",
      title: "Config vars have names that an environment can hold",
      section: assumed(1),
      severity: "must",
      mend: "Use letters, digits and underscores, beginning with a letter.",
      check: (stage) => configNames(stage, () => null),
    },
    {
      id: "PROV-06",
      title: "Config vars are those of the add-on's manifest, with its prefix",
      section,
      severity: "must",
      mend: "Declare each config var in the add-on's manifest, or do not send it.",
      async check(stage) {
        const { manifest } = stage.settings;
        applies(
          manifest?.config_vars ?? manifest?.config_vars_prefix,
          "no manifest with config vars was given.",
          "--manifest",
        );
        await configNames(stage, () => manifest);
      },
    },
    {
      id: "PROV-07",
      title: "message, where there is one, is a sentence for the customer",
      section,
      severity: "should",
      mend: "Send message as a string, or leave it out.",
      async check(stage) {
        const { message } = membersOf(await plainAnswer(stage));
        applies(message !== undefined, "the answer has no message.");
        holds(typeof message === "string", "message is no text.");
      },
    },
    {
      id: "PROV-08",
      title: "A provision is answered within 3 seconds",
      section,
      severity: "should",
      mend: "Write it down, answer 202 and do the slow part afterwards.",
      async check(stage) {
        const { ms } = await plainAnswer(stage);
        holds(ms <= stage.settings.patience.promisedMs, `The answer took ${(ms / 1000).toFixed(1)} s.`);
      },
    },
    {
      id: "PROV-09",
      title: "A plan that is not sold is refused with 422",
      section,
      severity: "should",
      mend: "Look the plan up, and answer 422 with a message where it is unknown.",
      follows: ["PLAN-04"],
      async check(stage) {
        await plainAnswer(stage);
        const reply = firstReply(await strangePlan(stage));
        holds(reply?.status === 422, `An unknown plan was answered with ${shown(reply)}.`);
      },
    },
    {
      id: "PROV-10",
      title: "The uuid of a resource is the same in capital letters",
      section: platform("Provision request received by an add-on partner", "UUID of the add-on resource"),
      severity: "should",
      mend: "Keep uuids in lower case, whatever case they come in.",
      isPatient: true,
      async check(stage) {
        await plainAnswer(stage);
        const old = await ready(stage);
        const { uuid } = old;
        const body = { plan: stage.settings.plan };
        const change = (below: string) => stage.service.send({ method: "PUT", below, body });
        const usual = await change(`/${uuid}`);
        hadTokens(stage, old, usual);
        needs(isSuccess(usual), "a change to the plan it has must succeed first.", "PLAN-03");
        const reply = await change(`/${uuid.toUpperCase()}`);
        holds(isSuccess(reply), `In capital letters the uuid was answered with ${reply.status}.`);
        const resource = await stage.install({ alter: inCapitals });
        const made = firstReply(resource);
        holds(
          isSuccess(made),
          `A provision with a uuid in capital letters was answered with ${shown(made)}.`,
        );
        const { reply: end } = await stage.deprovision(resource);
        // Deprovisions the resource also by the uuid in capitals, so that nothing is left behind.
        if (end?.status === 404)
          await stage.service.send({ method: "DELETE", below: `/${resource.uuid.toUpperCase()}` });
        holds(end?.status !== 404, "What was made in capital letters is not found in small ones.");
      },
    },
  ],
};

/** Writes the uuid of a provision in capitals; other calls stay unchanged. */
function inCapitals(outgoing: Outgoing): void {
  const members = membersIn(String(outgoing.body ?? ""));
  if (outgoing.method !== "POST") return;
  outgoing.body = JSON.stringify({ ...members, uuid: String(members["uuid"]).toUpperCase() });
}

async function configNames(stage: Stage, manifest: () => Stage["settings"]["manifest"]): Promise<void> {
  const { config } = membersOf(await plainAnswer(stage));
  applies(config !== undefined && config !== null, "the answer has no config.");
  const declared = manifest();
  // Which names an environment can hold is judged by a rule of its own.
  const names = Object.keys(config).filter((name) => !declared || nameFaults([name], null).length === 0);
  const [fault] = nameFaults(names, declared);
  if (fault) throw new Broken(fault);
}
