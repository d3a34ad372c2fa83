import { types } from "node:util";
import { KitError, Refusal } from "../errors.ts";
import { mayQuote } from "../redact.ts";
import type { Done, Later, NotYet, Offer, Outcome, YourService } from "../resources/contract.ts";
import type { ResourceRow } from "../resources/rows.ts";
import { secretsOf } from "../resources/secrets-of.ts";
import type { Vault } from "../vault/vault.ts";

/** Stands in for an empty sentence; it fits a provision, a plan change and a clean-up. */
const NO_SENTENCE = "The work goes on.";

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

/** Thrown by a step while the vendor's work goes on: the step is run again in `againInSeconds`. */
export class StillUnderWay extends Error {
  readonly againInSeconds: number;

  constructor({ message, againInSeconds }: { message: string; againInSeconds: number }) {
    super(message);
    this.againInSeconds = againInSeconds;
  }
}

/**
 * Calls one of the vendor's functions that must return something, and says what came of it. An error may quote the
 * resource's secrets, and is shown without them. Never rejects.
 */
export async function attempt(
  { offer, vault }: { offer: Offer; vault: Vault },
  resource: ResourceRow,
  name: Exclude<keyof YourService, "deprovision" | "close">,
  call: () => Promise<Outcome | NotYet>,
): Promise<Attempt> {
  try {
    const outcome = await call();
    // A forgotten `return` would otherwise show as an error in the kit's own code.
    if (outcome === undefined || outcome === null)
      throw new BrokenContract(
        `The service's ${name}() returned nothing; it must return its config, or later. Is a return missing?`,
      );
    if (isNotYet(outcome)) return { is: "later", ...whenAgain(onlyLater(outcome)) };
    const { config, message } = outcome;
    if (message !== undefined && typeof message !== "string")
      throw new BrokenContract("The service returned a message that is not a text.");
    return { is: "done", config: checkedConfig(offer, config), message };
  } catch (thrown) {
    const error = mayQuote(thrown, secretsOf(vault, resource));
    return error instanceof Refusal ? { is: "refused", refusal: error } : { is: "failed", error };
  }
}

/**
 * Whether a function of the vendor's answered `later`. Where no result is asked for, anything else it returns is
 * ignored.
 */
export function isNotYet(outcome: Done | Later | void): outcome is Later {
  return (outcome as Partial<Later> | null | undefined)?.later != null;
}

/**
 * Throws a {@link BrokenContract} for `later` together with `config`: whichever was taken, the other would be lost
 * silently.
 */
function onlyLater(outcome: Later): Later {
  if ((outcome as Partial<Done>).config == null) return outcome;
  throw new BrokenContract(
    "The service returned both config and later: return later alone until the work is done.",
  );
}

const LEAST_WAIT_SECONDS = 1;
const USUAL_WAIT_SECONDS = 30;
const MOST_WAIT_SECONDS = 3_600;

/**
 * The sentence of a `later`, and in how many seconds to call again: 1 to 3,600. Throws a {@link BrokenContract} for
 * other types.
 */
export function whenAgain({ later, againInSeconds = USUAL_WAIT_SECONDS }: NotYet) {
  if (typeof later !== "string")
    throw new BrokenContract("The service answered later, but not with a sentence.");
  if (typeof againInSeconds !== "number" || Number.isNaN(againInSeconds))
    throw new BrokenContract("The service answered later with an againInSeconds that is no number.");
  const wait = Math.min(Math.max(againInSeconds, LEAST_WAIT_SECONDS), MOST_WAIT_SECONDS);
  return { message: later.trim() === "" ? NO_SENTENCE : later, againInSeconds: wait };
}

/**
 * Only declared names, and only texts that an environment can hold: the platform would refuse anything else, which is
 * final for a provision.
 */
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
    if (value.includes("\0") || !value.isWellFormed())
      throw new BrokenContract(`The service set ${name} to a text with a NUL or with broken Unicode.`);
  }
  return { ...(config as Record<string, string>) };
}

/** The type of a value for a message, never the value itself, which may be secret. Undefined for null and undefined. */
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
 * Whether a value is a plain object. In anything else, such as a list, a Map or a promise, no vars would be found, and
 * those of the app would be removed. Objects of another realm (node:vm) count too: nothing stands behind their
 * prototype either.
 */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
