import { types } from "node:util";
import { KitError, Refusal } from "../../errors.ts";
import type { Done, Later, NotYet, Offer, Outcome } from "../contract.ts";

/** What came of calling one of the vendor's functions. */
export type Attempt =
  | { is: "done"; config: Readonly<Record<string, string>>; message: string | undefined }
  | { is: "later"; message: string; againInSeconds: number }
  | { is: "refused"; refusal: Refusal }
  | { is: "failed"; error: unknown };

/** The vendor's function answered something the contract does not allow. */
export class BrokenContract extends KitError {
  constructor(message: string) {
    super("broken_contract", message);
  }
}

/** The vendor's work goes on, and is to be looked at again: thrown by a step, as everything is that is not its end. */
export class StillUnderWay extends Error {
  readonly againInSeconds: number;

  constructor({ message, againInSeconds }: { message: string; againInSeconds: number }) {
    super(message);
    this.againInSeconds = againInSeconds;
  }
}

/** Calls one of the vendor's functions and says what came of it. Never rejects. */
export async function attempt(offer: Offer, call: () => Promise<Outcome | NotYet>): Promise<Attempt> {
  try {
    const outcome = await call();
    if (isNotYet(outcome)) return { is: "later", ...whenAgain(onlyLater(outcome)) };
    const { config, message } = outcome;
    if (message !== undefined && typeof message !== "string")
      throw new BrokenContract("The service returned a message that is not a text.");
    return { is: "done", config: checkedConfig(offer, config), message };
  } catch (error) {
    return error instanceof Refusal ? { is: "refused", refusal: error } : { is: "failed", error };
  }
}

/** Whether a function of the vendor's has more to do. What else it returns is its own, where nothing is asked for. */
export function isNotYet(outcome: Done | Later | void): outcome is Later {
  return (outcome as Partial<Later> | null | undefined)?.later != null;
}

/** What is done and what is not are two things; with either of them taken, the other would be lost without a word. */
function onlyLater(outcome: Later): Later {
  if ((outcome as Partial<Done>).config == null) return outcome;
  throw new BrokenContract(
    "The service returned both config and later: return later alone until the work is done.",
  );
}

const LEAST_WAIT_SECONDS = 1;
const USUAL_WAIT_SECONDS = 30;
const MOST_WAIT_SECONDS = 3_600;

/** What a function said that is not done, and when it is to be called again. */
export function whenAgain({ later, againInSeconds = USUAL_WAIT_SECONDS }: NotYet) {
  if (typeof later !== "string")
    throw new BrokenContract("The service answered later, but not with a sentence.");
  if (typeof againInSeconds !== "number" || Number.isNaN(againInSeconds))
    throw new BrokenContract("The service answered later with an againInSeconds that is no number.");
  const wait = Math.min(Math.max(againInSeconds, LEAST_WAIT_SECONDS), MOST_WAIT_SECONDS);
  return { message: later, againInSeconds: wait };
}

/** Only declared names, only texts: the platform would refuse the rest, and for a provision that is final. */
function checkedConfig(offer: Offer, config: unknown): Record<string, string> {
  if (!isPlainObject(config)) {
    throw new BrokenContract(
      `The service must return its config as a plain object of names and texts; this was: ${typeOf(config) ?? "nothing"}.${hintFor(config)}`,
    );
  }
  for (const [name, value] of Object.entries(config)) {
    if (!offer.configVars.includes(name)) {
      throw new BrokenContract(
        `The service set ${name}, which is not among configVars in src/your-service/plans.ts.`,
      );
    }
    if (typeof value !== "string") {
      const type = typeOf(value);
      const what = type ? `${/^[aeio]/i.test(type) ? "an" : "a"} ${type}` : String(value);
      throw new BrokenContract(`The service set ${name} to ${what}, and not to a text.${hintFor(value)}`);
    }
  }
  return { ...(config as Record<string, string>) };
}

/** What a value is, never the value itself, which may be secret. Undefined of what is null or undefined. */
function typeOf(value: unknown): string | undefined {
  if (value === null || value === undefined) return undefined;
  if (typeof value !== "object") return typeof value;
  const prototype = Object.getPrototypeOf(value) as { constructor?: { name?: string } } | null;
  return prototype?.constructor?.name ?? "object";
}

function hintFor(value: unknown): string {
  return types.isPromise(value) ? " Is an await missing?" : "";
}

/**
 * In anything else, such as a list, a Map or a promise, no vars are found, and where none are named the app's are taken
 * away. Objects of another context (node:vm) are as plain as ours: no prototype stands behind that of theirs.
 */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
