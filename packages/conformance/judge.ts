import { setTimeout as sleep } from "node:timers/promises";
import { AT_ONCE, plain } from "./probes.ts";
import { Broken, NotApplicable, NotJudged, type Rule, type Verdict } from "./rule.ts";
import type { Stage } from "./stage/stage.ts";
import { callsOfRule, NoAnswer } from "./stage/wire.ts";

/** How many short rules run at a time; few, so as not to overload a small service. */
const AT_A_TIME = 6;

/**
 * Judges the service by each rule. Patient rules, which watch for long, run alongside all others; rules with `isLast`,
 * which look at all calls, come last. `onVerdict` is called with each verdict as it is reached.
 */
export async function judge(
  stage: Stage,
  rules: readonly Rule[],
  onVerdict: (verdict: Verdict) => void = () => undefined,
): Promise<Verdict[]> {
  const verdicts = new Map<Rule, Verdict>();
  const soFar = () => rules.flatMap((rule) => verdicts.get(rule) ?? []);
  const decide = async (rule: Rule) => {
    const verdict = await callsOfRule.run(rule.id, () => verdictOf(stage, rule, soFar()));
    verdicts.set(rule, verdict);
    onVerdict(verdict);
  };
  const early = rules.filter(({ isLast }) => !isLast);
  const queue = early.filter(({ isPatient }) => !isPatient);
  const lane = async () => {
    for (let rule = queue.shift(); rule; rule = queue.shift()) await decide(rule);
  };
  await Promise.all([
    ...early
      .filter(({ isPatient }) => isPatient)
      .map((rule, index) => sleep(index * stage.settings.patience.betweenMs).then(() => decide(rule))),
    ...Array.from({ length: AT_A_TIME }, lane),
  ]);
  // The last rules need calls to look at, even if only they were selected.
  await plain(stage).catch(() => undefined);
  for (const rule of rules) if (rule.isLast) await decide(rule);
  return settled(rules.flatMap((rule) => verdicts.get(rule) ?? []));
}

/**
 * The verdicts as they are reported, of a whole run or of one that was stopped: one fault is one broken rule, and what is
 * skipped names a rule that is broken.
 */
export function settled(verdicts: readonly Verdict[]): Verdict[] {
  return withCauses(consistent(withCauses(verdicts)));
}

/**
 * Rules whose breach can break any other that is judged at the same moment: the service refuses provisions while the
 * exchange of any resource fails, or while others are under way.
 */
const UPSETTING = ["FAIL-07", "HTTP-05"];
const RACE = "EXCH-03";
/** A provision that was refused for such a reason, as verdicts say it. */
const UPSET = /answered with (5\d\d|429)\b/;
/** Rules whose breach is the answer to a plan change or a deprovision; PLAN-09 repeats a provision. */
const OTHER_CALLS = /^(PLAN-(?!09)|DEPR-)/;

/** Rules about what becomes of tokens. */
const ABOUT_TOKENS = /^(IDEM|EXCH|TOK|FAIL|DEPR|TOMB|ASYNC)-/;

/** The broken rule that may have broken this one, or kept it from being judged. */
function causeOf({ rule, status, reason }: Verdict, failed: Failed): string | undefined {
  const follows = rule.follows ?? [];
  // Of two calls with one code the service may heed the one that is refused: then it never has tokens.
  const isRaced = failed.get(RACE)?.includes(AT_ONCE) && rule.id !== RACE && ABOUT_TOKENS.test(rule.id);
  const isOther = status === "failed" && OTHER_CALLS.test(rule.id);
  const isUpset = UPSET.test(reason ?? "") && !isOther && !UPSETTING.includes(rule.id);
  return [...follows, ...(isRaced ? [RACE] : []), ...(isUpset ? UPSETTING : [])].find((id) => failed.has(id));
}

/** The ids of the broken rules, each with the reason. */
type Failed = ReadonlyMap<string, string>;

const failedOf = (verdicts: readonly Verdict[]): Failed =>
  new Map(verdicts.filter(({ status }) => status === "failed").map(({ rule, reason }) => [rule.id, reason!]));

const because = (cause: string, reason: string) => `${reason} That may follow from ${cause}: fix it first.`;

/** Skips each failed rule that follows another failed one. */
function withCauses(verdicts: readonly Verdict[]): Verdict[] {
  const failed = failedOf(verdicts);
  return verdicts.map((verdict) => {
    const cause = causeOf(verdict, failed);
    if (verdict.status !== "failed" || cause === undefined) return verdict;
    const { rule, reason, ms } = verdict;
    return {
      rule,
      status: "skipped",
      reason: because(cause, reason!),
      broken: cause,
      ms,
    };
  });
}

/**
 * Lets each skipped rule name one that really is broken: not one that was itself skipped, but the cause of that; and a
 * rule that held for the resource it looked at, but not for one of another rule, is broken.
 */
function consistent(verdicts: readonly Verdict[]): Verdict[] {
  const all = new Map(verdicts.map((verdict) => [verdict.rule.id, { ...verdict }]));
  const rootOf = (verdict: Verdict, seen: readonly Verdict[] = []): Verdict => {
    const next = all.get(verdict.broken ?? "");
    return next?.status === "skipped" && !seen.includes(next) ? rootOf(next, [...seen, verdict]) : verdict;
  };
  for (const verdict of all.values()) {
    if (verdict.status !== "skipped") continue;
    const { reason, broken } = rootOf(verdict);
    Object.assign(verdict, { reason, broken });
    const cause = all.get(broken ?? "");
    if (cause?.status !== "passed") continue;
    const what = reason!.replace(` (${broken}).`, ".");
    const other = causeOf({ ...verdict, reason: what }, failedOf([...all.values()]));
    if (other !== undefined) {
      Object.assign(verdict, { reason: because(other, what), broken: other });
      continue;
    }
    Object.assign(cause, {
      status: "failed",
      reason: `It does not always hold. ${verdict.rule.id} could not be judged: ${what}`,
    });
  }
  return [...all.values()];
}

async function verdictOf(stage: Stage, rule: Rule, others: readonly Verdict[]): Promise<Verdict> {
  const started = performance.now();
  const since = () => Math.round(performance.now() - started);
  try {
    await rule.check(stage, others);
    return { rule, status: "passed", reason: null, ms: since() };
  } catch (error) {
    if (error instanceof NotJudged) {
      const { message: reason, broken } = error;
      return error instanceof NotApplicable
        ? { rule, status: "not_applicable", reason, option: error.option, ms: since() }
        : { rule, status: "skipped", reason, broken, ms: since() };
    }
    const reason = faultOf(error);
    const severity = error instanceof Broken ? error.severity : null;
    if (reason !== null) return { rule, status: "failed", reason, severity, ms: since() };
    return { rule, status: "checker_failed", reason: failureOf(error as Error), ms: since() };
  }
}

/** What the service did wrong; null if the error says nothing about the service. */
function faultOf(error: unknown): string | null {
  if (error instanceof Broken) return error.message;
  return error instanceof NoAnswer ? `There was no answer: ${error.message}` : null;
}

/** A parser's message quotes its input, which may be a secret. */
const failureOf = ({ name, message }: Error) =>
  `the checker failed: ${name === "SyntaxError" ? "it could not read something." : message}`;
