import type { Stage } from "./stage/stage.ts";

/** A broken must-rule makes a service unfit; a broken should-rule costs it something, sooner or later. */
export type Severity = "must" | "should";

/** One demand of the protocol that can be seen from outside. */
export interface Rule {
  /** Never given to another rule, even when this one goes. */
  id: string;
  /** What holds, as a sentence. */
  title: string;
  /** Where it is written: the platform document's section, or that of docs/assumed.md where the document is silent. */
  section: string;
  severity: Severity;
  /** What to do about it. */
  mend: string;
  /** Watches for longer than a few calls take; such rules are begun first and do not wait for each other. */
  isPatient?: true;
  /** Judges what all others have caused; comes after them. */
  isLast?: true;
  /** Returns where the rule holds; throws {@link Broken} where not, {@link NotJudged} or {@link NotApplicable} where that cannot be seen. */
  check(stage: Stage): Promise<void>;
}

export interface RuleGroup {
  title: string;
  rules: readonly Rule[];
}

/** What was seen is not what the rule demands. The message is a sentence and shows no secret. */
export class Broken extends Error {}

/** Something else has to work first. The message says what. */
export class NotJudged extends Error {}

/** The rule is about something that this service does not have, or that nobody told us. The message says what. */
export class NotApplicable extends NotJudged {}

/** Throws {@link Broken} unless `isSo`. */
export function holds(isSo: unknown, otherwise: string): asserts isSo {
  if (!isSo) throw new Broken(otherwise);
}

/** Throws {@link NotApplicable} unless `isSo`. */
export function applies(isSo: unknown, because: string): asserts isSo {
  if (!isSo) throw new NotApplicable(because);
}

/** Throws {@link NotJudged} unless `isSo`. */
export function needs(isSo: unknown, because: string): asserts isSo {
  if (!isSo) throw new NotJudged(because);
}
