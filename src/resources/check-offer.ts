import { Misconfigured } from "../errors.ts";
import type { Offer } from "./contract.ts";

const NAME = { fits: /\S/, inWords: "is not empty" };
/** A plan name without the service: `basic`, never `service:basic`. */
const BARE_NAME = { fits: /^[^\s:]+$/, inWords: "is not empty, and without colon or white space" };
/** The names that an app's config vars can have (assumed, as the sandbox has it). */
const CONFIG_VAR_NAME = {
  fits: /^_?[A-Za-z][A-Za-z0-9_]*$/,
  inWords:
    "is of letters, digits and underscores, and begins with a letter, or with one underscore and a letter",
};

/** The longest that one call of a vendor's function may take, in seconds. */
export const LONGEST_CALL_SECONDS = 600;

/** Throws one {@link Misconfigured} that lists every fault in the offer. */
export function checkOffer({
  plans,
  configVars,
  regions,
  requires = [],
  limits = {},
  ...chosen
}: Offer): void {
  const names = Object.keys(plans);
  const faults = [
    ...(["defaultPlan", "ephemeralPlan"] as const)
      .filter((member) => !Object.hasOwn(plans, chosen[member]))
      .map((member) => `${member} is "${chosen[member]}", but the plans are: ${names.join(", ")}.`),
    ...wrongNames("plans", names, BARE_NAME),
    ...wrongNames("regions", regions, NAME),
    ...wrongNames("configVars", configVars, CONFIG_VAR_NAME),
    ...wrongNames("requires", requires, NAME),
    ...Object.entries(limits)
      .filter(([, seconds]) => !(seconds >= 1 && seconds <= LONGEST_CALL_SECONDS))
      .map(([name, seconds]) => `limits.${name} is ${seconds}: give seconds, 1 to ${LONGEST_CALL_SECONDS}.`),
  ];
  if (faults.length === 0) return;
  throw new Misconfigured(["src/your-service/plans.ts needs mending:", ...faults].join("\n  "));
}

function wrongNames(member: string, names: readonly string[], { fits, inWords }: typeof NAME): string[] {
  return names
    .filter((name) => !fits.test(name))
    .map((name) => `${member} holds "${name}": a name there ${inWords}.`);
}
