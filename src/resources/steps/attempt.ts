import { KitError, Refusal } from "../../errors.ts";
import type { Done, Offer, Outcome } from "../contract.ts";

/** What came of calling one of the vendor's functions. */
export type Attempt =
  | { is: "done"; config: Readonly<Record<string, string>>; message: string | undefined }
  | { is: "later"; message: string }
  | { is: "refused"; refusal: Refusal }
  | { is: "failed"; error: unknown };

/** The vendor's function answered something the contract does not allow. */
export class BrokenContract extends KitError {
  constructor(message: string) {
    super("broken_contract", message);
  }
}

/** Calls one of the vendor's functions and says what came of it. Never rejects. */
export async function attempt(offer: Offer, call: () => Promise<Outcome | Done>): Promise<Attempt> {
  try {
    const outcome = await call();
    if ("later" in outcome) return { is: "later", message: String(outcome.later) };
    return { is: "done", config: checkedConfig(offer, outcome.config), message: outcome.message };
  } catch (error) {
    return error instanceof Refusal ? { is: "refused", refusal: error } : { is: "failed", error };
  }
}

/** Only declared names, only texts: the platform would refuse the rest, and for a provision that is final. */
function checkedConfig(offer: Offer, config: unknown): Record<string, string> {
  if (typeof config !== "object" || config === null)
    throw new BrokenContract("The service returned no config object.");
  for (const [name, value] of Object.entries(config)) {
    if (!offer.configVars.includes(name)) {
      throw new BrokenContract(
        `The service set ${name}, which is not among configVars in src/your-service/plans.ts.`,
      );
    }
    if (typeof value !== "string")
      throw new BrokenContract(`The service set ${name} to something that is not a text.`);
  }
  return { ...(config as Record<string, string>) };
}
