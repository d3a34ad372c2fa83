import {
  AT_ONCE,
  callOf,
  crowd,
  EXCHANGE_FAULTS,
  exchanged,
  exchangeOf,
  firstReply,
  installed,
  isDone,
  isExchange,
  isRefresh,
  isRefusal,
  needsSecret,
  notExchanged,
  plain,
  plainAnswer,
  plainAttempt,
  plainExchange,
  quiet,
  shown,
  strangePlan,
} from "../probes.ts";
import { Broken, holds, needs, type RuleGroup } from "../rule.ts";
import { assumed, platform, rfc } from "../sections.ts";
import type { Call } from "../stage/books.ts";
import { firstTimes } from "../stage/script.ts";
import type { Resource, Stage } from "../stage/stage.ts";
import { jsonReply } from "../stage/wire.ts";
import { exchangesOtherEnds } from "./requests.ts";

const endpoint = platform("Authorization service", "Form-encoded (`application/x-www-form-urlencoded`)");

/** Throws Broken if the exchange breaks this rule. */
function right(id: string, call: Call, stage: Stage): void {
  const fault = EXCHANGE_FAULTS[id]!(call, stage);
  if (fault !== null) throw new Broken(fault);
}

/** Whether a call was made while the one before it was still waiting for its answer. */
const beganBeforeTheLastEnded = ({ at }: Call, index: number, all: readonly Call[]) =>
  index > 0 && at < (all[index - 1]!.endedAt ?? Infinity);

export const exchange: RuleGroup = {
  title: "The grant's exchange",
  rules: [
    {
      id: "EXCH-01",
      title: "The grant code is exchanged for tokens",
      section: platform(
        "What the service does",
        "the partner receives a one-time grant code and exchanges it",
      ),
      severity: "must",
      mend: "POST the code to the platform's /oauth/token within five minutes, as soon as the request is answered.",
      isPatient: true,
      async check(stage) {
        await plainAnswer(stage);
        const resource = await plain(stage);
        const otherEnds = exchangesOtherEnds(stage);
        if (await exchangeOf(stage, resource)) return;
        const why = notExchanged(stage, resource);
        if (why.broken !== "EXCH-01") throw why;
        const reads = "the end of a grant has to be read as the platform's document has it first.";
        needs(!(await otherEnds), reads, "REQ-05");
        const last = stage.callsOf(resource).findLast(isExchange);
        const seconds = Math.round(stage.settings.patience.eventMs / 1000);
        holds(
          !last,
          `The last exchange within ${seconds} s was answered with ${shown(last?.reply ?? null)}.`,
        );
        holds(
          stage.books.calls.length > 0,
          `Within ${seconds} s the service has not called the platform that is played at ${stage.platformUrl}. ` +
            "(Is that the address of its platform? Does the call come later? --patience SECONDS.)",
        );
        throw new Broken(
          `No exchange was seen within ${seconds} s. (Does it come later? --patience SECONDS.)`,
        );
      },
    },
    {
      id: "EXCH-02",
      title: "It is not exchanged before the provision request is answered",
      section: platform("Events", "The partner must answer with a success code before exchanging the grant"),
      severity: "must",
      mend: "Answer first. Until the platform has seen a success, the code is worth nothing.",
      isPatient: true,
      async check(stage) {
        // Judged even if the early exchange made the provision fail, so no success is needed first.
        const look = (resource: Resource) => {
          for (const call of stage.callsOf(resource).filter(isExchange)) right("EXCH-02", call, stage);
        };
        look(await plain(stage));
        await plainAttempt(stage);
        for (const resource of await crowd(stage)) look(resource);
      },
    },
    {
      id: "EXCH-03",
      title: "It is exchanged once",
      section: platform("What the service does", "one-time grant code"),
      severity: "must",
      mend: "Make the exchange one durable piece of work for each resource, and remember that it was done.",
      isPatient: true,
      async check(stage) {
        await plainExchange(stage);
        const all = [await plain(stage), ...(await crowd(stage))];
        await Promise.all(all.map((resource) => exchangeOf(stage, resource)));
        await quiet(stage);
        for (const resource of all) {
          const calls = stage.callsOf(resource).filter(isExchange);
          holds(!calls.some(beganBeforeTheLastEnded), `The code was sent ${AT_ONCE}.`);
          const done = calls.findIndex(isDone);
          const again = done < 0 ? 0 : calls.length - 1 - done;
          holds(again === 0, `After the exchange had succeeded the code was sent ${again} more times.`);
        }
      },
    },
    {
      id: "EXCH-04",
      title: "The code of a refused provision is not sent",
      section: platform("Errors", "Grant code invalidated; provisioning deemed permanently failed"),
      severity: "must",
      mend: "Exchange only what you have answered with 200 or 202: the others' codes are invalid.",
      isPatient: true,
      async check(stage) {
        await plainAnswer(stage);
        const resource = await strangePlan(stage);
        const reply = firstReply(resource);
        needs(
          reply && isRefusal(reply),
          `a plan that is not sold has to be refused first, and was answered with ${shown(reply)}.`,
          "PROV-09",
        );
        await plainAttempt(stage);
        await quiet(stage);
        holds(
          !stage.callsOf(resource).some(isExchange),
          "The code of a provision answered with a refusal was sent.",
        );
      },
    },
    {
      id: "EXCH-05",
      title: "The exchange is a POST of a form",
      section: endpoint,
      severity: "must",
      mend: "Send application/x-www-form-urlencoded in the body; not JSON, not a query.",
      isPatient: true,
      async check(stage) {
        right("EXCH-05", await plainAttempt(stage), stage);
      },
    },
    {
      id: "EXCH-06",
      title: "Its grant_type is authorization_code, its code the one that came",
      section: endpoint,
      severity: "must",
      mend: "Send grant_type=authorization_code and the code, unchanged.",
      isPatient: true,
      async check(stage) {
        const call = await plainAttempt(stage);
        needs(Object.keys(call.form).length > 0, "the exchange has to be a form first.", "EXCH-05");
        right("EXCH-06", call, stage);
      },
    },
    {
      id: "EXCH-07",
      title: "The client secret is a member of the form",
      section: endpoint,
      severity: "must",
      mend: "Send client_secret in the body, as the platform's document says.",
      isPatient: true,
      async check(stage) {
        const call = await plainAttempt(stage);
        needs(Object.keys(call.form).length > 0, "the exchange has to be a form first.", "EXCH-05");
        // Who sends it in the address instead does one thing wrong.
        const isElsewhere = !call.form["client_secret"] && tellsSecretInAddress(stage, call);
        needs(!isElsewhere, "the client secret has to be kept out of the address first.", "EXCH-09");
        right("EXCH-07", call, stage);
      },
    },
    {
      id: "EXCH-08",
      title: "The client secret arrives as it is, whatever characters are in it",
      section: endpoint,
      severity: "must",
      mend: "Encode it as a form does: & + % = and blanks have a meaning there. Mind a line break at its end.",
      isPatient: true,
      async check(stage) {
        needsSecret(stage);
        const call = await plainAttempt(stage);
        needs(call.form["client_secret"], "the client secret has to be in the form first.", "EXCH-07");
        right("EXCH-08", call, stage);
      },
    },
    {
      id: "EXCH-09",
      title: "Neither code nor client secret is sent in an address",
      section: `${endpoint}; ${rfc(6749, "2.3.1")}`,
      severity: "must",
      mend: "Put them into the body: addresses end up in logs.",
      isLast: true,
      follows: ["EXCH-05"],
      async check(stage) {
        await plainAttempt(stage);
        for (const call of stage.books.calls.filter(isExchange)) right("EXCH-09", call, stage);
        const found = stage.books.calls.find((call) => isRefresh(call) && tellsSecretInAddress(stage, call));
        holds(!found, "The client secret stands in the address of a refresh.");
      },
    },
    {
      id: "EXCH-10",
      title: "The client secret is not in a header",
      section: endpoint,
      severity: "should",
      mend: "Send it in the form alone; tell your OAuth library to use client_secret_post.",
      isLast: true,
      async check(stage) {
        const { form } = await plainAttempt(stage);
        needs(form["client_secret"], "the client secret has to be in the form first.", "EXCH-07");
        const isToken = (call: Call) => isExchange(call) || isRefresh(call);
        const found = stage.books.calls.find((call) => isToken(call) && secretHeaderOf(stage, call));
        holds(!found, `The ${found?.kind} was sent with ${found && secretHeaderOf(stage, found)}.`);
      },
    },
    {
      id: "EXCH-11",
      title: "An exchange that comes a moment too soon for the platform is tried again",
      section: assumed(3),
      severity: "should",
      mend: "Take invalid_grant for not yet, again and again, until the five minutes are over.",
      isPatient: true,
      async check(stage) {
        await plainExchange(stage);
        const body = { error: "invalid_grant", error_description: "The provision is not registered yet." };
        const resource = await installed(stage, {
          react: firstTimes(1, isExchange, () => ({ reply: jsonReply(400, body) })),
        });
        const first = await callOf(stage, resource, isExchange);
        if (!first) throw notExchanged(stage, resource);
        const second = await exchangeOf(stage, resource);
        holds(second, "After one invalid_grant the code was never sent again.");
      },
    },
    {
      id: "EXCH-12",
      title: "An answer of the token endpoint with more in it than expected is taken",
      section: `${rfc(6749, "5.1")}; ${assumed(3)}`,
      severity: "must",
      mend: "Ignore members you do not know, and take 200 and 201 alike.",
      isPatient: true,
      follows: ["EXCH-03"],
      async check(stage) {
        await plainExchange(stage);
        const resource = await installed(stage, {
          react: (call) => ({
            rewrite: (reply) =>
              isExchange(call) && reply.status < 300
                ? jsonReply(201, {
                    ...(JSON.parse(reply.text) as object),
                    user_id: SOMEBODY,
                    session_nonce: "n",
                    scope: null,
                  })
                : reply,
          }),
        });
        const { at } = await exchanged(stage, resource);
        await quiet(stage);
        const again = stage.callsOf(resource).some((call) => isExchange(call) && call.at > at);
        holds(
          !again,
          "An answer of 201 with user_id and session_nonce was not taken: the code was sent again.",
        );
      },
    },
  ],
};

const SOMEBODY = "00000000-0000-4000-8000-000000000000";

function tellsSecretInAddress({ settings }: Stage, { path }: Call): boolean {
  const query = new URLSearchParams(path.split("?", 2)[1]);
  return [...query].some(([name, value]) => name === "client_secret" || value === settings.clientSecret);
}

/**
 * Names a header that contains the client secret, or that is an Authorization header, which can have no other purpose.
 */
function secretHeaderOf({ settings }: Stage, { headers, form }: Call): string | null {
  if (headers.authorization !== undefined) return "an Authorization header";
  const secret = settings.clientSecret ?? form["client_secret"];
  if (!secret) return null;
  const forms = [secret, encodeURIComponent(secret), Buffer.from(secret).toString("base64")];
  const found = Object.entries(headers).find(([, value]) =>
    forms.some((each) => String(value).includes(each)),
  );
  return found ? `the client secret in ${found[0]}` : null;
}
