import { nameFaults } from "../config-vars.ts";
import {
  answeredWithSuccess,
  begun,
  begunOnce,
  begunWithTokens,
  callOf,
  completed,
  firstReply,
  isApi,
  isConfigPush,
  isDone,
  isMark,
  laterOnce,
  laterPlan,
  marked,
  markOf,
  membersOf,
  momentMs,
  plainAnswer,
  quiet,
  repeatsWell,
} from "../probes.ts";
import { applies, Broken, holds, needs, type RuleGroup } from "../rule.ts";
import { assumed, platform } from "../sections.ts";
import type { Call } from "../stage/books.ts";
import { firstTimes } from "../stage/script.ts";
import type { Stage } from "../stage/stage.ts";
import { membersIn } from "../stage/wire.ts";
import { despiteFaults, withPauses } from "./api-fails.ts";

const section = assumed(2);
const API_VERSION = /^application\/vnd\.[\w.-]+\+json(;.*)?;version=3(\.[\w.-]+)?(;.*)?$/i;

/** Whether the Accept header, which may be a list with blanks, quotes and weights, contains the version. */
const asksForVersion = (accept = "") =>
  accept.split(",").some((type) => API_VERSION.test(type.replace(/[\s"]/g, "")));

/** The first call that sets config vars in an asynchronous provision. */
async function push(stage: Stage) {
  declaresVars(stage);
  const call = await callOf(stage, await begunWithTokens(stage), isConfigPush);
  if (!call) await hasVars(stage);
  needs(call, "config vars have to be set first.", "ASYNC-04");
  return call;
}

function declaresVars({ settings }: Stage): void {
  applies(settings.manifest?.config_vars?.length !== 0, "the manifest declares no config vars.");
}

/**
 * Throws NotApplicable if the add-on has no config vars, as far as can be seen: no manifest declares any, and none was
 * ever sent.
 */
async function hasVars(stage: Stage): Promise<void> {
  if (stage.settings.manifest?.config_vars) return;
  const { config } = membersOf(await plainAnswer(stage));
  if (Object.keys(config ?? {}).length > 0) return;
  const push = () => stage.books.calls.some(isConfigPush);
  const isPushed = await stage.books.until(push, stage.settings.patience.quietMs);
  applies(isPushed, "no config var was ever told, and no manifest names one.", "--manifest");
}

/** The config vars of a push; null if its body has another shape. */
function pushed(text: string): { name: unknown; value: unknown }[] | null {
  const { config } = membersIn(text);
  const isList = Array.isArray(config) && config.every((each) => typeof each === "object" && each !== null);
  return isList ? (config as { name: unknown; value: unknown }[]) : null;
}

export const asynchronous: RuleGroup = {
  title: "Asynchronous provisioning",
  rules: [
    {
      id: "ASYNC-01",
      title: "An asynchronous plan is answered with 202, without config",
      section,
      severity: "must",
      mend: "Answer 202 {id, message} and set config through the platform API once the work is done, or name another --async-plan.",
      async check(stage) {
        const reply = firstReply(await laterOnce(stage))!;
        holds(
          reply.status === 202,
          `The plan ${laterPlan(stage)} (--async-plan) was answered with ${reply.status}.`,
        );
        const { config } = membersOf(reply);
        const isEmpty = config === undefined || Object.keys((config ?? {}) as object).length === 0;
        holds(isEmpty, "The 202 has a config.");
      },
    },
    {
      id: "ASYNC-02",
      title: "A 202 has an id and a message",
      section,
      severity: "must",
      mend: "Answer {id, message}: the customer reads the message while waiting.",
      async check(stage) {
        const { id, message } = membersOf(firstReply(await begunOnce(stage))!);
        holds(typeof id === "string" && id !== "", "The 202 has no id.");
        holds(typeof message === "string" && message !== "", "The 202 has no message.");
      },
    },
    {
      id: "ASYNC-03",
      title: "The end is told with POST /addons/{uuid}/actions/provision",
      section,
      severity: "must",
      mend: "Call it with the resource's own token when all is ready; the platform gives up after 12 hours.",
      isPatient: true,
      follows: ["PROV-05", "ASYNC-05", "ASYNC-06", "ASYNC-07", "ASYNC-08"],
      async check(stage) {
        const resource = await begunWithTokens(stage);
        const seconds = Math.round(stage.settings.patience.eventMs / 1000);
        const call = await markOf(stage, resource);
        holds(
          call,
          `Nobody said within ${seconds} s that the provision is done. (Does it take longer? --patience SECONDS.)`,
        );
      },
    },
    {
      id: "ASYNC-04",
      title: "The config vars are set before that",
      section,
      severity: "must",
      mend: "PATCH /addons/{uuid}/config first: with the end told, the customer's app starts.",
      isPatient: true,
      async check(stage) {
        declaresVars(stage);
        const resource = await begunWithTokens(stage);
        const mark = await marked(stage, resource);
        const set = stage.callsOf(resource).find((call) => isConfigPush(call) && isDone(call));
        if (!set) await hasVars(stage);
        holds(
          set && set.endedAt! <= mark.at,
          set ? "The end was told before they were set." : "No config vars were set.",
        );
      },
    },
    {
      id: "ASYNC-05",
      title: "They are sent as {config: [{name, value}]} in JSON",
      section: platform(
        "Add-on config update body",
        "array of objects, each with `name` (string) and `value` (string)",
      ),
      severity: "must",
      mend: "Send a list of objects with name and value, both texts, and Content-Type: application/json.",
      follows: ["PROV-04"],
      isPatient: true,
      async check(stage) {
        const { headers, text } = await push(stage);
        holds(
          /^application\/([\w.-]+\+)?json\b/i.test(headers["content-type"] ?? ""),
          "The Content-Type is not JSON.",
        );
        const config = pushed(text);
        holds(config, "The body is not {config: [{name, value}]}.");
        const isText = config.every(
          ({ name, value }) => typeof name === "string" && (typeof value === "string" || value === null),
        );
        holds(isText, "A name or a value is no text.");
      },
    },
    {
      id: "ASYNC-06",
      title: "They have the names that the add-on's manifest declares",
      section,
      severity: "must",
      mend: "Declare each config var in the manifest, with its prefix.",
      follows: ["PROV-05", "PROV-06"],
      isPatient: true,
      async check(stage) {
        const config = pushed((await push(stage)).text);
        needs(config, "config vars have to be sent in the right shape first.", "ASYNC-05");
        const [fault] = nameFaults(
          config.map(({ name }) => String(name)),
          stage.settings.manifest,
        );
        if (fault) throw new Broken(fault);
      },
    },
    {
      id: "ASYNC-07",
      title: "Calls to the platform API ask for version 3",
      section: platform("Versioning", "the version is selected by the `Accept` header"),
      severity: "must",
      mend: "Send Accept: application/vnd.svc+json; version=3.",
      isPatient: true,
      async check(stage) {
        const strange = apiCalls(stage, await begunToEnd(stage)).find(
          ({ headers }) => !asksForVersion(headers.accept),
        );
        holds(!strange, `${strange?.method} was sent with Accept: ${strange?.headers.accept ?? "(none)"}.`);
      },
    },
    {
      id: "ASYNC-08",
      title: "They are made with the resource's own access token",
      section: platform("Add-on partner endpoints", "Authenticated with the resource-scoped access token"),
      severity: "must",
      mend: "Send Authorization: Bearer and the token that was exchanged for this resource.",
      isLast: true,
      follows: ["SECR-03", "TOK-09"],
      async check(stage) {
        const tokenOf = ({ headers }: Call) => {
          const [, shown = ""] = /^Bearer (.+)$/i.exec(headers.authorization ?? "") ?? [];
          return stage.books.tokens.get(shown);
        };
        const isOwn = (call: Call) => {
          const token = tokenOf(call);
          return token?.kind === "access" && token.uuid === call.uuid;
        };
        const mixedUp = () =>
          stage.books.calls.some((call) => isApi(call) && tokenOf(call) && call.uuid && !isOwn(call));
        const resource = await begunToEnd(stage).catch((error: unknown) => {
          holds(!mixedUp(), "A resource was called with the access token of another one.");
          throw error;
        });
        holds(apiCalls(stage, resource).every(isOwn), "A call was made without it, or with another.");
        holds(!mixedUp(), "A resource was called with the access token of another one.");
      },
    },
    {
      id: "ASYNC-09",
      title: "A provision that comes again while the work goes on gets the same 202",
      section: assumed(1),
      severity: "must",
      mend: "Answer from what is stored. The work is not begun again.",
      follows: ["IDEM-04", "FAIL-07", "IDEM-06"],
      async check(stage) {
        laterPlan(stage);
        await repeatsWell(stage);
        const slow = momentMs(stage) / 2;
        const resource = await begun(stage, { react: firstTimes(1, isApi, () => ({ delayMs: slow })) });
        const { reply } = await stage.redeliver(resource);
        answeredWithSuccess(reply);
        const first = firstReply(resource)!;
        holds(
          reply.text === first.text && reply.status === first.status,
          "The second answer differs from the first.",
        );
      },
    },
    ...despiteFaults,
    {
      id: "ASYNC-13",
      title: "Tokens are taken as they are, whatever their length and beginning",
      section: platform(
        "Token response (authorization service)",
        "Tokens without the prefix were issued before the prefix was introduced",
      ),
      severity: "should",
      mend: "Keep tokens as texts; check no prefix, cut nothing off.",
      isPatient: true,
      follows: ["ASYNC-08"],
      async check(stage) {
        await completed(stage);
        const disguise = (token: string) => `older.${token.replace(/^SVCK-/, "")}_${"x".repeat(300)}`;
        const resource = await begun(stage, { disguise });
        const call = await markOf(stage, resource);
        holds(
          call,
          "With a token of 300 characters and without the usual prefix the provision was never completed.",
        );
      },
    },
    {
      id: "ASYNC-14",
      title: "The end is told once",
      section,
      severity: "should",
      mend: "Remember that the platform knows. (Where the answer was lost, ask GET /addons/{uuid} first.)",
      isPatient: true,
      async check(stage) {
        const resource = await completed(stage);
        await quiet(stage);
        const told = stage.callsOf(resource).filter(isMark);
        const accepted = told.find(isDone)!;
        // Whether the platform accepts the repetition does not matter: a call that succeeded need not be repeated.
        const again = told.filter(({ at }) => at > accepted.endedAt!).length;
        holds(again === 0, `It was told ${again + 1} times.`);
      },
    },
    ...withPauses,
  ],
};

/**
 * The plan's own resource, once the call that ends its provision has succeeded or the wait for it is over: calls made
 * wrongly may be refused.
 */
async function begunToEnd(stage: Stage) {
  const resource = await begunWithTokens(stage);
  await markOf(stage, resource);
  needs(apiCalls(stage, resource).length > 0, "the platform API has to be called first.", "ASYNC-03");
  return resource;
}

const apiCalls = (stage: Stage, resource: Parameters<Stage["callsOf"]>[0]) =>
  stage.callsOf(resource).filter(isApi);
