import type { Stage } from "./stage/stage.ts";

/** A broken must-rule makes a service unfit; a broken should-rule makes it worse, but not unfit. */
export type Severity = "must" | "should";

/** One demand of the protocol that can be observed from outside. */
export interface Rule {
  /** Never reused, even if the rule is removed. */
  id: string;
  /** What must hold, as a sentence. */
  title: string;
  /** The section that demands it: of the platform document, or of docs/assumed.md if the document is silent. */
  section: string;
  severity: Severity;
  /** How to correct the service. */
  mend: string;
  /** Watches for longer than a few calls take; such rules begin first and run in parallel. */
  isPatient?: true;
  /** Judges what all other rules have caused, so it comes after them. */
  isLast?: true;
  /**
   * Returns if the rule holds. Throws {@link Broken} if it does not, and {@link NotJudged} or {@link NotApplicable} if
   * that cannot be observed.
   */
  check(stage: Stage): Promise<unknown>;
}

export interface RuleGroup {
  title: string;
  rules: readonly Rule[];
}

/** The observation contradicts the rule. The message is a sentence and contains no secret. */
export class Broken extends Error {}

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
export class NotApplicable extends NotJudged {}

/** Throws {@link Broken} unless `isSo`. */
export function holds(isSo: unknown, otherwise: string): asserts isSo {
  if (!isSo) throw new Broken(otherwise);
}

/** Throws {@link NotApplicable} unless `isSo`. */
export function applies(isSo: unknown, because: string): asserts isSo {
  if (!isSo) throw new NotApplicable(because);
}

/** Throws {@link NotJudged} unless `isSo`; `broken` is the rule that what was seen breaks. */
export function needs(isSo: unknown, because: string, broken: string | null = null): asserts isSo {
  if (!isSo) throw new NotJudged(because, broken);
}
