import { randomUUID } from "node:crypto";
import { firstReply, plainAnswer, repliesOf, shown, strangePlan } from "../probes.ts";
import { holds, needs, type RuleGroup } from "../rule.ts";
import { assumed } from "../sections.ts";
import { basic } from "../stage/service-calls.ts";
import { membersIn, type Reply } from "../stage/wire.ts";

const section = assumed(1);
/** A stack trace in the languages whose servers may show one. */
const STACK =
  /\n\s+at \S.*(\.\w+:\d+[:)]|:line \d+)|#\d+ .+\.php\(\d+\)|Traceback \(most recent call last\)|\.rb:\d+:in |goroutine \d+ \[/;
const BLANKS: Record<string, string> = { n: "\n", r: "\n", t: " " };

/**
 * Looks for a stack trace in the text as it is and with JSON's escapes resolved; HTML marks lines and blanks in its own
 * way.
 */
function showsStack({ text }: Reply): boolean {
  const unescaped = text.replace(/\\(.)/g, (_all, letter: string) => BLANKS[letter] ?? letter);
  const lines = (written: string) => written.replace(/<br *\/?>/gi, "\n").replaceAll("&nbsp;", " ");
  return [text, unescaped].some((written) => STACK.test(lines(written)));
}

function isTold({ text, headers }: Reply): boolean {
  const { id, message } = membersIn(text);
  const isJson = /^application\/([\w.-]+\+)?json\b/i.test(headers["content-type"] ?? "");
  return isJson && typeof id === "string" && typeof message === "string" && message !== "";
}

export const errors: RuleGroup = {
  title: "Refusals and their words",
  rules: [
    {
      id: "ERR-01",
      title: "A refused provision says why: {id, message} in JSON",
      section,
      severity: "must",
      mend: "Answer with a machine word in id and a sentence in message: the customer reads it.",
      async check(stage) {
        await plainAnswer(stage);
        const reply = firstReply(await strangePlan(stage));
        needs(
          reply && reply.status >= 400,
          `a plan that is not sold has to be refused first, and was answered with ${shown(reply)}.`,
          "PROV-09",
        );
        holds(isTold(reply), `The body of the ${reply.status} is not {id, message} in JSON.`);
      },
    },
    {
      id: "ERR-02",
      title: "So do 400, 401 and 404",
      section,
      severity: "should",
      mend: "Give all errors one shape, those of the framework too.",
      async check({ service, settings }) {
        const below = `/${randomUUID()}`;
        const authorization = basic(settings.addonId, "wrong");
        // Each call that must be refused, under the rule that demands it.
        const replies = {
          "DEPR-02": await service.send({ method: "DELETE", below }),
          "AUTH-06": await service.send({ method: "DELETE", below, authorization }),
          "REQ-11": await service.send({ method: "POST", body: "{" }),
        };
        const strange = Object.values(replies).find((reply) => reply.status >= 400 && !isTold(reply));
        holds(!strange, `The body of a ${strange?.status} is not {id, message} in JSON.`);
        for (const [id, { status }] of Object.entries(replies))
          needs(status >= 400, `a wrong call has to be refused first, and was answered with ${status}.`, id);
      },
    },
    {
      id: "ERR-03",
      title: "No answer shows where in the code it was made",
      section,
      severity: "must",
      mend: "Answer with a sentence; write the stack into your log.",
      isLast: true,
      async check(stage) {
        const found = repliesOf(stage).find(showsStack);
        holds(!found, `The body of a ${found?.status} shows a stack of calls.`);
      },
    },
    {
      id: "ERR-04",
      title: "Nothing that was sent makes the service answer a 5xx",
      section,
      severity: "must",
      mend: "A passing fault is no reason for a 5xx: write down, answer, finish later. Bad input is a 4xx.",
      isLast: true,
      async check(stage) {
        const replies = repliesOf(stage);
        // Many servers answer 501 to an unknown method, which HTTP-04 accepts.
        const count = replies.filter(({ status }) => status >= 500 && status !== 501).length;
        holds(count === 0, `${count} of ${replies.length} calls were answered with a 5xx.`);
      },
    },
  ],
};
