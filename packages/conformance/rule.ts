import type { Stage } from "./stage/stage.ts";

/** A broken must-rule makes a service unfit; a broken should-rule makes it worse, but not unfit. */
export type Severity = "must" | "should";

/** One demand of the protocol that can be observed from outside. */
export interface Rule {
  /** Never reused, even if the rule is removed. */
  id: string;
  /** What must hold, as a sentence. */
  title: string;
  /**
   * The place that demands it: of the platform's document with its words there, of a standard, or of docs/assumed.md if
   * both leave it open: see {@link sourceOf}.
   */
  section: string;
  severity: Severity;
  /** How to correct the service. */
  mend: string;
  /** Watches for longer than a few calls take; such rules begin first and run in parallel. */
  isPatient?: true;
  /** Judges what all other rules have caused, so it comes after them. */
  isLast?: true;
  /**
   * Rules whose breach always breaks this one too. If one of them is broken, this rule is skipped and names it: one fault
   * is one broken rule.
   */
  follows?: readonly string[];
  /**
   * Returns if the rule holds. Throws {@link Broken} if it does not, and {@link NotJudged} or {@link NotApplicable} if
   * that cannot be observed. `others` are the verdicts so far, which are complete for a rule with `isLast`.
   */
  check(stage: Stage, others: readonly Verdict[]): Promise<unknown>;
}

/** The result of one rule. */
export interface Verdict {
  rule: Rule;
  status: "passed" | "failed" | "skipped" | "not_applicable" | "checker_failed";
  /** Why the rule failed, or why it could not be judged. */
  reason: string | null;
  ms: number;
  /** For a skipped rule, the id of the rule that is broken by what was seen instead, if there is one. */
  broken?: string | null;
  /** For a rule that is not applicable, the option that was not given, if that is the reason. */
  option?: string | null;
  /** For a failed rule, the severity of what was seen, if it differs from the rule's. */
  severity?: Severity | null;
}

export interface RuleGroup {
  title: string;
  rules: readonly Rule[];
}

/** The observation contradicts the rule. The message is a sentence and contains no secret. */
export class Broken extends Error {
  /** The severity of the rule, unless this observation counts for less. */
  readonly severity: Severity | null = null;
}

/** The observation contradicts a recommendation only: a must-rule that is broken in this way counts as a should-rule. */
export class Discouraged extends Broken {
  override readonly severity = "should";
}

/** Something else has to work before the rule can be judged. The message says what. */
export class NotJudged extends Error {
  /** The id of the rule that demands it and is broken by what was seen; null if no rule does. */
  readonly broken: string | null;

  constructor(because: string, broken: string | null = null) {
    super(broken === null ? because : because.replace(/\.$/, ` (${broken}).`));
    this.broken = broken;
  }
}

/**
 * The rule concerns something that this service does not have, or that was not given to the checker. The message says
 * what.
 */
export class NotApplicable extends NotJudged {
  /** The option or variable of the checker that was not given; null if the service does not have what is judged. */
  readonly option: string | null;

  constructor(because: string, option: string | null = null) {
    super(option === null ? because : because.replace(/\.$/, ` (${option}).`));
    this.option = option;
  }
}

/** Throws {@link Broken} unless `isSo`. */
export function holds(isSo: unknown, otherwise: string): asserts isSo {
  if (!isSo) throw new Broken(otherwise);
}

/** Throws {@link NotApplicable} unless `isSo`; `option` is what has to be given for the rule to apply. */
export function applies(isSo: unknown, because: string, option: string | null = null): asserts isSo {
  if (!isSo) throw new NotApplicable(because, option);
}

/** Throws {@link NotJudged} unless `isSo`; `broken` is the rule that what was seen breaks. */
export function needs(isSo: unknown, because: string, broken: string | null = null): asserts isSo {
  if (!isSo) throw new NotJudged(because, broken);
}
