import { Misconfigured } from "../errors.ts";
import type { Offer } from "./contract.ts";

/** The names that an app's config vars can have (assumed, as the sandbox has it). */
const CONFIG_VAR = /^_?[A-Za-z][A-Za-z0-9_]*$/;
const OF_A_VAR =
  "is of letters, digits and underscores, and begins with a letter, or an underscore and a letter";

/** The longest that one call of a vendor's function may take, in seconds. */
export const LONGEST_CALL_SECONDS = 600;

/** Throws one {@link Misconfigured} that lists every fault in the offer. */
export function checkOffer(offer: Offer): void {
  const { plans, configVars, regions, requires = [], limits = {} } = offer;
  const names = Object.keys(plans);
  const faults = [
    ...(["defaultPlan", "ephemeralPlan"] as const)
      .filter((member) => !Object.hasOwn(plans, offer[member]))
      .map((member) => `${member} is "${offer[member]}", but the plans are: ${names.join(", ")}.`),
    // Without the service: `basic`, never `service:basic`.
    ...wrongNames("plans", names, /^[^\s:]+$/, "is not empty, and without colon or white space"),
    ...wrongNames("regions", regions, /\S/, "is not empty"),
    ...wrongNames("configVars", configVars, CONFIG_VAR, OF_A_VAR),
    ...wrongNames("requires", requires, /\S/, "is not empty"),
    ...Object.entries(limits)
      .filter(([, seconds]) => !(seconds >= 1 && seconds <= LONGEST_CALL_SECONDS))
      .map(([name, seconds]) => `limits.${name} is ${seconds}: give seconds, 1 to ${LONGEST_CALL_SECONDS}.`),
  ];
  if (faults.length === 0) return;
  throw new Misconfigured(["src/your-service/plans.ts needs mending:", ...faults].join("\n  "));
}

const wrongNames = (member: string, names: readonly string[], fits: RegExp, inWords: string) =>
  names
    .filter((name) => !fits.test(name))
    .map((name) => `${member} holds "${name}": a name there ${inWords}.`);
