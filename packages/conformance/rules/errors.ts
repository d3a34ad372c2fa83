import { randomUUID } from "node:crypto";
import { firstReply, isRefusal, plainAnswer, repliesOf, shown, strangePlan } from "../probes.ts";
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
  const unescaped = text
    .replace(/\\u00([01][0-9a-f])/gi, (_all, code: string) => String.fromCharCode(parseInt(code, 16)))
    .replace(/\\(.)/g, (_all, letter: string) => BLANKS[letter] ?? letter);
  const lines = (written: string) => written.replace(/<br *\/?>/gi, "\n").replaceAll("&nbsp;", " ");
  return [text, unescaped].some((written) => STACK.test(lines(written)));
}

function isTold({ text, headers }: Reply): boolean {
  const { id, message } = membersIn(text);
  const isJson = /^application\/([\w.-]+\+)?json\b/i.test(headers["content-type"] ?? "");
  return isJson && typeof id === "string" && typeof message === "string" && message !== "";
}

const MOST_LISTED = 5;

/** What was called, and how that was answered: the same for all resources. */
const kindOf = ({ to = "", status }: Reply) =>
  `${to.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/gi, "{uuid}")} with ${status}`;

/** Each kind of call once, with its status and the rules for which it was made. */
function listed(replies: readonly Reply[]): string {
  const kinds = new Map<string, Set<string>>();
  for (const { rule, ...reply } of replies) {
    const kind = kindOf(reply);
    const rules = kinds.get(kind) ?? new Set();
    kinds.set(kind, rule === undefined ? rules : rules.add(rule));
  }
  const all = [...kinds].map(([kind, rules]) => kind + (rules.size > 0 ? ` (${[...rules].join(", ")})` : ""));
  const more = all.length - MOST_LISTED;
  return all.slice(0, MOST_LISTED).join("; ") + (more > 0 ? `; and ${more} more` : "");
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
      follows: ["PROV-02"],
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
      follows: ["PROV-02", "REQ-11"],
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
        for (const [id, reply] of Object.entries(replies))
          needs(
            isRefusal(reply),
            `a wrong call has to be refused first, and was answered with ${reply.status}.`,
            id,
          );
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
      async check(stage, others) {
        // Many servers answer 501 to an unknown method, which HTTP-04 accepts.
        const failures = repliesOf(stage).filter(({ status }) => status >= 500 && status !== 501);
        if (failures.length === 0) return;
        // What broke another rule, or kept it from being judged, is reported there, and so is the same kind of call if
        // another rule made it too.
        const reported = others.filter(({ status }) => status === "failed" || status === "skipped");
        const isOf = (id: string) => (reply: Reply) => reply.rule === id;
        const isReported = (reply: Reply) => reported.some((each) => isOf(each.rule.id)(reply));
        const kinds = new Set(failures.filter(isReported).map(kindOf));
        const own = failures.filter((reply) => !kinds.has(kindOf(reply)));
        const calls = own.length === 1 ? "1 call was" : `${own.length} calls were`;
        holds(own.length === 0, `${calls} answered with a 5xx: ${listed(own)}.`);
        const first = reported.find(({ rule }) => failures.some(isOf(rule.id)))!.rule.id;
        needs(false, `only calls of broken rules were answered with a 5xx: ${listed(failures)}.`, first);
      },
    },
  ],
};
