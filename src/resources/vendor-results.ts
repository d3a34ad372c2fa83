import { KitError } from "../errors.ts";
import type { Result } from "./answers.ts";
import type { Done, Later, NotYet, Offer, Outcome, Rotated } from "./contract.ts";
import type { Json } from "../values.ts";

// What a vendor's function may return. The types say the same; this holds at run time too, as a wrong config cannot be
// taken back once it was sent.

const broken = (message: string) => new KitError("broken_contract", message);

/** Called with what is left out of a result, because it is no text: the work is done all the same. */
export type NoteOdd = (what: string) => void;

/** The result in what a function returned. Throws a `KitError`. */
export function resultIn(
  offer: Offer,
  name: string,
  outcome: Outcome | NotYet | undefined | null,
  noteOdd: NoteOdd = () => undefined,
): Result {
  // A forgotten `return` would otherwise show as an error in the kit's own code.
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
/** As JSON escapes them: NUL, and half of a surrogate pair. */
const UNSTORABLE = /\\u(0000|d[89a-f])/;

/** Small, since it is stored with the step, and shown to nobody but `retire`. */
function checkedRetires({ retires }: Partial<Rotated>): Json {
  const json = JSON.stringify(retires) as string | undefined;
  if (retires === undefined || json === undefined || json.length > MOST_RETIRES || UNSTORABLE.test(json))
    throw broken(
      `The service's rotate() must return in retires which credential is to be retired: JSON of at most ${MOST_RETIRES} characters, none of them NUL or half of one.`,
    );
  return retires;
}

/** Where no result is asked for, anything else that a function of the vendor's returns is ignored. */
export function isNotYet(outcome: unknown): outcome is Later {
  return (outcome as Partial<Later> | null | undefined)?.later != null;
}

/** The sentence of a `later`, and in how many seconds to call again: 1 to 3,600. */
export function whenAgain({ later, againInSeconds }: NotYet, noteOdd: NoteOdd) {
  const seconds = typeof againInSeconds === "number" ? Math.min(Math.max(againInSeconds, 1), 3_600) : 30;
  const message = textIn("later", later, noteOdd)?.trim() || "The work goes on.";
  return { message, againInSeconds: seconds || 30 };
}

function textIn(member: string, value: unknown, noteOdd: NoteOdd): string | undefined {
  if (value === undefined || value === null || typeof value === "string") return value ?? undefined;
  noteOdd(`${member} of type ${typeof value}`);
  return undefined;
}

/**
 * The platform would refuse anything but declared names and texts that an environment can hold, for good. In anything
 * but a plain object, such as a Map or a promise, no vars would be found, and those of the app would be removed.
 */
function checkedConfig(offer: Offer, config: unknown): Record<string, string> {
  if (Object.prototype.toString.call(config) !== "[object Object]")
    throw broken(`The service must return its config as a plain object of names and texts.`);
  for (const [name, value] of Object.entries(config as object)) checkVar(offer, name, value);
  return { ...(config as Record<string, string>) };
}

/** Throws a `KitError` for a config var that the offer does not declare, or that is no text for it. */
export function checkVar({ configVars }: Offer, name: string, value: unknown): void {
  if (!configVars.includes(name))
    throw broken(`The service set ${name}, which is not among configVars in src/your-service/plans.ts.`);
  // Its type, never the value itself, which may be secret.
  if (typeof value !== "string")
    throw broken(`The service set ${name} to something of type ${typeof value}, and not to a text.`);
  if (value.includes("\0") || !value.isWellFormed())
    throw broken(`The service set ${name} to a text with a NUL or with broken Unicode.`);
}
