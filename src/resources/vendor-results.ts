import { KitError } from "../errors.ts";
import type { Json } from "../values.ts";
import type { Result } from "./answers.ts";
import type { Done, Later, NotYet, Offer, Outcome, Rotated } from "./contract.ts";

// Checks what a vendor's function returned. The types say the same, but a vendor may bypass them, and a wrong config cannot
// be undone once it was sent.

const broken = (message: string) => new KitError("broken_contract", message);

/** Called when a member of a result is not a string. The member is ignored, and the rest of the result counts. */
export type NoteOdd = (what: string) => void;

/** Converts what a vendor's function returned into a result. Throws a `KitError` if it breaks the contract. */
export function resultIn(
  offer: Offer,
  name: string,
  outcome: Outcome | NotYet | undefined | null,
  noteOdd: NoteOdd = () => undefined,
): Result {
  // Without this check a forgotten `return` would be a TypeError in the kit's code.
  if (outcome === undefined || outcome === null)
    throw broken(
      `The service's ${name}() returned nothing; it must return its config, or later. Is a return missing?`,
    );
  const text = (member: "message" | "logDrainUrl") =>
    textIn(member, (outcome as Partial<Done>)[member], noteOdd);
  const logDrainUrl = text("logDrainUrl");
  if (isNotYet(outcome)) {
    if ((outcome as Partial<Done>).config != null)
      throw broken("The service returned both config and later: return later alone until the work is done.");
    return { is: "later", ...whenAgain(outcome, noteOdd), logDrainUrl };
  }
  const config = checkedConfig(offer, outcome.config);
  const done = { is: "done", config, message: text("message"), logDrainUrl } as const;
  return name === "rotate" ? { ...done, retires: checkedRetires(outcome as Partial<Rotated>) } : done;
}

const MOST_RETIRES = 2_000;
/** Matches what JSON escapes and PostgreSQL refuses: NUL, and half of a surrogate pair. */
const UNSTORABLE = /\\u(0000|d[89a-f])/;

/** Limited in size, because it is stored in the step. Only `retire` gets it back. */
function checkedRetires({ retires }: Partial<Rotated>): Json {
  const json = JSON.stringify(retires) as string | undefined;
  if (retires === undefined || json === undefined || json.length > MOST_RETIRES || UNSTORABLE.test(json))
    throw broken(
      `The service's rotate() must return retires, which names the credential to retire: JSON of at most ${MOST_RETIRES} characters, without NUL and without broken Unicode.`,
    );
  return retires;
}

/** Whether a vendor's function answered "later". Of a function without a result, every other value is ignored. */
export function isNotYet(outcome: unknown): outcome is Later {
  return (outcome as Partial<Later> | null | undefined)?.later != null;
}

/** The sentence of an answer "later", and the seconds until the next call: 1 to 3,600. */
export function whenAgain({ later, againInSeconds }: NotYet, noteOdd: NoteOdd) {
  const seconds = typeof againInSeconds === "number" ? Math.min(Math.max(againInSeconds, 1), 3_600) : 30;
  const message = textIn("later", later, noteOdd)?.trim() || "The work continues.";
  return { message, againInSeconds: seconds || 30 };
}

function textIn(member: string, value: unknown, noteOdd: NoteOdd): string | undefined {
  if (value === undefined || value === null || typeof value === "string") return value ?? undefined;
  noteOdd(`${member} of type ${typeof value}`);
  return undefined;
}

/**
 * Checks the config, because the platform refuses other names than the declared ones, and values that an environment
 * variable cannot hold, for good. A Map or a promise is rejected: it has no entries, so all vars of the app would be
 * removed.
 */
function checkedConfig(offer: Offer, config: unknown): Record<string, string> {
  if (Object.prototype.toString.call(config) !== "[object Object]")
    throw broken("The service must return its config as a plain object of names and strings.");
  for (const [name, value] of Object.entries(config as object)) checkVar(offer, name, value);
  return { ...(config as Record<string, string>) };
}

/** Throws a `KitError` for a config var that the offer does not declare, or whose value is not a valid string. */
export function checkVar({ configVars }: Offer, name: string, value: unknown): void {
  if (!configVars.includes(name))
    throw broken(`The service set ${name}, which is not among configVars in src/your-service/plans.ts.`);
  // The message has the type and not the value, which may be secret.
  if (typeof value !== "string")
    throw broken(`The service set ${name} to a value of type ${typeof value}; it must be a string.`);
  if (value.includes("\0") || !value.isWellFormed())
    throw broken(`The service set ${name} to a string with a NUL character or broken Unicode.`);
}
