import { randomUUID } from "node:crypto";
import { installed, plain, plainAnswer, probe } from "../probes.ts";
import { Broken, holds, needs, type RuleGroup } from "../rule.ts";
import { assumed, rfc } from "../sections.ts";
import { aGrant, aProvision, basic } from "../stage/service-calls.ts";
import type { Stage } from "../stage/stage.ts";
import type { Reply } from "../stage/wire.ts";

const section = assumed(1);

/** Sends a provision that should not be accepted. */
function knock({ service, settings }: Stage, authorization: string | null, change: object = {}) {
  return service.send({ method: "POST", body: aProvision(settings), authorization, ...change });
}

/** A text as a header can carry it: its UTF-8 bytes, without control characters that would end the line. */
const inHeader = (text: string) => Buffer.from(text.replace(/\p{Cc}/gu, "")).toString("latin1");

/** Throws Broken with the first of these headers that is not answered 401. */
async function allRefused(stage: Stage, headers: Record<string, string>): Promise<void> {
  for (const [what, authorization] of Object.entries(headers)) {
    const { status } = await knock(stage, authorization);
    holds(status === 401, `${what} was answered with ${status}; 401 was due.`);
  }
}

/**
 * The headers for texts that differ from the right one: a text in capitals, for example, may be the right one itself.
 */
function wrongOnes(texts: Record<string, string>, right: string, header: (text: string) => string) {
  const wrong = Object.entries(texts).filter(([, text]) => text !== right);
  return Object.fromEntries(wrong.map(([what, text]) => [what, header(text)]));
}

/** How strangers are answered: without credentials, and with a user and a password that are both wrong. */
const strangers = probe(async (stage) => ({
  none: (await knock(stage, null)).status,
  wrong: (await knock(stage, basic("somebody-else", "a-wrong-password"))).status,
}));

/** Throws NotJudged if a call without credentials is not refused. */
async function needsRefusal(stage: Stage): Promise<void> {
  const { none } = await strangers(stage);
  const why = `a call without credentials has to be refused with 401 first, and was answered with ${none}.`;
  needs(none === 401, why, "AUTH-01");
}

/** Throws NotJudged if credentials that are wrong in all parts are not refused: then no part is compared at all. */
async function compares(stage: Stage): Promise<void> {
  const { wrong } = await strangers(stage);
  if (wrong === 401) return;
  await needsRefusal(stage);
  needs(
    false,
    `wrong credentials have to be refused with 401 first, and were answered with ${wrong}.`,
    "AUTH-02",
  );
}

/** The same for a wrong password of the right user. */
async function comparesPassword(stage: Stage): Promise<void> {
  await compares(stage);
  const { status } = await knock(stage, basic(stage.settings.addonId, "a-wrong-password"));
  const why = `a wrong password has to be refused with 401 first, and was answered with ${status}.`;
  needs(status === 401, why, "AUTH-02");
}

const inOtherCases = (password: string) => ({
  "The password in capital letters": password.toUpperCase(),
  "The password in small letters": password.toLowerCase(),
});

/** Throws NotJudged if the password is taken in any case: then user and password are compared so together. */
async function comparesCase(stage: Stage): Promise<void> {
  const { addonId, addonPassword } = stage.settings;
  const wrong = wrongOnes(inOtherCases(addonPassword), addonPassword, (password) => basic(addonId, password));
  for (const authorization of Object.values(wrong)) {
    const { status } = await knock(stage, authorization);
    needs(status === 401, "the password in another case has to be refused with 401 first.", "AUTH-04");
  }
}

/** Whether the second and third answers equal each other, the first and fourth too, and the pairs differ. */
const isTold = <What>([one, two, three, four]: readonly What[]) =>
  one === four && two === three && one !== two;

export const authentication: RuleGroup = {
  title: "Authentication",
  rules: [
    {
      id: "AUTH-01",
      title: "A call without credentials is refused with 401",
      section,
      severity: "must",
      mend: "Ask for HTTP Basic on every call of the platform, in every environment.",
      async check(stage) {
        const { none } = await strangers(stage);
        holds(none === 401, `It was answered with ${none}; 401 was due.`);
      },
    },
    {
      id: "AUTH-02",
      title: "A wrong password is refused with 401",
      section,
      severity: "must",
      mend: "Compare the password with the add-on's; answer 401 where they differ.",
      async check(stage) {
        const { wrong } = await strangers(stage);
        if (wrong !== 401) await needsRefusal(stage);
        await allRefused(stage, {
          "A wrong user with a wrong password": basic("somebody-else", "a-wrong-password"),
          "A wrong password": basic(stage.settings.addonId, "a-wrong-password"),
          "An empty password": basic(stage.settings.addonId, ""),
        });
      },
    },
    {
      id: "AUTH-03",
      title: "Another user with the right password is refused with 401",
      section,
      severity: "must",
      mend: "Compare the user name too: it is the add-on's id.",
      async check(stage) {
        await compares(stage);
        const { addonId, addonPassword } = stage.settings;
        const header = (user: string) => basic(user, addonPassword);
        const others = {
          "Another user": "somebody-else",
          "An empty user": "",
          "The user with a character more": `${addonId}x`,
          "The user without its last character": addonId.slice(0, -1),
        };
        await allRefused(stage, wrongOnes(others, addonId, header));
        const inAnyCase = {
          "The user in capital letters": addonId.toUpperCase(),
          "The user in small letters": addonId.toLowerCase(),
        };
        for (const [what, user] of Object.entries(wrongOnes(inAnyCase, addonId, header))) {
          const { status } = await knock(stage, user);
          if (status !== 401) await comparesCase(stage);
          holds(status === 401, `${what} was answered with ${status}; 401 was due.`);
        }
      },
    },
    {
      id: "AUTH-04",
      title: "The password is compared as a whole",
      section,
      severity: "must",
      mend: "Compare whole strings, in constant time; no prefix, no trimming, no folding of case.",
      async check(stage) {
        await comparesPassword(stage);
        const { addonId, addonPassword } = stage.settings;
        const others = {
          "The password without its last character": addonPassword.slice(0, -1),
          "The password with a character more": `${addonPassword}x`,
          "The password with a blank more": `${addonPassword} `,
          ...inOtherCases(addonPassword),
        };
        await allRefused(
          stage,
          wrongOnes(others, addonPassword, (password) => basic(addonId, password)),
        );
      },
    },
    {
      id: "AUTH-05",
      title: "A malformed Authorization header is refused with 401, as any wrong one",
      section,
      severity: "must",
      mend: "Treat what cannot be read as no credentials: 401, neither 400 nor 500.",
      async check(stage) {
        await comparesPassword(stage);
        await allRefused(stage, {
          "The word Basic alone": "Basic",
          "Base64 that is none": "Basic %%%%",
          "A user without a colon": `Basic ${Buffer.from(stage.settings.addonId).toString("base64")}`,
          "Another scheme": `Bearer ${inHeader(stage.settings.addonPassword)}`,
        });
      },
    },
    {
      id: "AUTH-06",
      title: "Plan change and deprovision ask for credentials as provision does",
      section,
      severity: "must",
      mend: "Put the check in front of all three calls.",
      async check(stage) {
        const { addonId, addonPassword, plan } = stage.settings;
        const change = { method: "PUT", below: `/${(await plain(stage)).uuid}`, body: { plan } };
        // One that is there: whether strangers learn which ones are is judged by AUTH-07.
        const end = { method: "DELETE", below: `/${(await stage.install()).uuid}` };
        const all = {
          "without credentials": null,
          "with a wrong password": basic(addonId, "a-wrong-password"),
          "by another user": basic("somebody-else", addonPassword),
          "with a header that cannot be read": "Basic %%%%",
        };
        let refusals = 0;
        for (const [how, authorization] of Object.entries(all)) {
          // Whom a provision lets in is reported by the rules before.
          if ((await knock(stage, authorization)).status !== 401) continue;
          refusals += 1;
          for (const [what, call] of Object.entries({ "plan change": change, deprovision: end })) {
            const { status } = await stage.service.send({ ...call, authorization });
            holds(status === 401, `A ${what} ${how} was answered with ${status}; 401 was due.`);
          }
        }
        if (refusals === 0) await compares(stage);
      },
    },
    {
      id: "AUTH-07",
      title: "The answer to a stranger does not tell which resources there are",
      section,
      severity: "must",
      mend: "Check the credentials before the uuid is looked up.",
      async check(stage) {
        await plainAnswer(stage);
        await needsRefusal(stage);
        const ask = (uuid: string) =>
          stage.service.send({
            method: "PUT",
            below: `/${uuid}`,
            body: { plan: stage.settings.plan },
            authorization: null,
          });
        // An answer may contain the time or a request id, so a difference between two answers of the same kind proves
        // nothing. The known uuid is asked for between two unknown ones, and echoed uuids are removed.
        const { uuid } = await plain(stage);
        const asked = [randomUUID(), uuid, uuid, randomUUID()];
        const replies: Reply[] = [];
        for (const each of asked) replies.push(await ask(each));
        const isLetIn = replies.every(({ status }) => status < 400 || status === 404);
        needs(!isLetIn, "a plan change without credentials has to be refused first.", "AUTH-06");
        const words = replies.map(({ text }, nth) => text.replaceAll(asked[nth]!, ""));
        const [unknown, known] = replies;
        holds(
          !isTold(replies.map(({ status }) => status)) && !isTold(words),
          `A known uuid was answered with ${known!.status}, an unknown one with ${unknown!.status}, or with other words.`,
        );
      },
    },
    {
      id: "AUTH-08",
      title: "Credentials are checked before the body is read",
      section,
      severity: "should",
      mend: "Put the check in front of the body parser: a stranger learns nothing and costs nothing.",
      async check(stage) {
        await needsRefusal(stage);
        const { status } = await knock(stage, null, { body: '{"uuid": broken' });
        holds(status === 401, `Broken JSON without credentials was answered with ${status}; 401 was due.`);
      },
    },
    {
      id: "AUTH-09",
      title: "A refused call has no effect",
      section,
      severity: "must",
      mend: "Refuse before anything is done.",
      async check(stage) {
        const body = aProvision(stage.settings, { oauth_grant: aGrant() });
        const { status } = await stage.service.send({ method: "POST", body, authorization: null });
        needs(
          status === 401,
          `a call without credentials has to be refused first, and was answered with ${status}.`,
          "AUTH-01",
        );
        const below = `/${String(body["uuid"])}`;
        const never = await stage.service.send({ method: "DELETE", below: `/${randomUUID()}` });
        needs(never.status >= 300, "a deprovision of what never was has to be refused first.", "DEPR-02");
        // What exists can be deprovisioned, even if the service refuses other calls for it as yet.
        const after = await stage.service.send({ method: "DELETE", below });
        if (after.status < 300)
          throw new Broken("A provision that was answered with 401 has made a resource all the same.");
        const resource = await installed(stage);
        const end = { method: "DELETE", below: `/${resource.uuid}`, authorization: null };
        const stranger = await stage.service.send(end);
        needs(
          stranger.status === 401,
          `a deprovision without credentials has to be refused first, and was answered with ${stranger.status}.`,
          "AUTH-06",
        );
        const { reply } = await stage.deprovision(resource);
        if (reply?.status === 404 || reply?.status === 410)
          throw new Broken("A deprovision that was answered with 401 has ended the resource all the same.");
      },
    },
    {
      id: "AUTH-10",
      title: "A 401 says with WWW-Authenticate that HTTP Basic is wanted",
      section,
      severity: "should",
      mend: 'Send WWW-Authenticate: Basic realm="…" with each 401.',
      async check(stage) {
        await needsRefusal(stage);
        const { headers } = await knock(stage, null);
        const challenge = headers["www-authenticate"] ?? "";
        holds(
          /(^|,)\s*Basic\b/i.test(challenge),
          `The 401 has ${challenge ? "another" : "no"} WWW-Authenticate.`,
        );
      },
    },
    {
      id: "AUTH-11",
      title: "The scheme's name is read in any case",
      section: rfc(9110, "11.1"),
      severity: "should",
      mend: 'Compare "Basic" without regard to case.',
      async check(stage) {
        const { addonId, addonPassword } = stage.settings;
        await needsRefusal(stage);
        const below = `/${randomUUID()}`;
        const authorization = basic(addonId, addonPassword).replace("Basic", "basic");
        const { status } = await stage.service.send({ method: "DELETE", below, authorization });
        holds(status !== 401, 'The right credentials under "basic" were refused.');
      },
    },
  ],
};
