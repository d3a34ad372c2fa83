import { type Amount, numberIn } from "./amounts.ts";
import { Misconfigured } from "./errors.ts";

/** What is on offer. The kit checks requests against it and writes the add-on manifest from it. */
export interface Offer<
  Name extends string = string,
  Var extends string = string,
  Region extends string = string,
> {
  /** By bare name, in the order they are shown. */
  plans: Readonly<Record<Name, Plan>>;
  defaultPlan: NoInfer<Name>;
  /** The plan of review and CI apps. */
  ephemeralPlan: NoInfer<Name>;
  regions: readonly Region[];
  /**
   * Every config var the service ever sets. Setting any other counts as an error: the kit answers "later" and calls
   * again, and nothing reaches the platform.
   */
  configVars: readonly Var[];
  /** What else the add-on asks of the platform, in the platform's words: `log_input` for an app's log lines. */
  requires?: readonly string[];
  /**
   * Seconds that one call of a function may take, 1 to 600; 600 unless given. A longer call is cut off (its `signal` is
   * aborted, its result ignored) and made again like one that failed.
   */
  limits?: Readonly<Partial<Record<LimitedFunction, number>>>;
}

export type LimitedFunction = "provision" | "changePlan" | "finish" | "deprovision" | "rotate" | "retire";

/** The names of the plans of an offer, the retired ones included. `string` for an offer without types. */
export type PlanOf<Sold extends Offer> = Sold extends {
  plans: Readonly<Record<infer Name extends string, Plan>>;
}
  ? Name
  : never;
export type RegionOf<Sold extends Offer> = Sold["regions"][number];
export type ConfigVarOf<Sold extends Offer> = Sold["configVars"][number];

export interface Plan {
  description: string;
  /**
   * A plan that is no longer sold. It is not in the manifest, and neither a provision nor a plan change may ask for it; its
   * customers keep it. A plan stays in the offer for as long as a customer has it.
   */
  retired?: boolean;
  /**
   * What the plan has, as its customers read it on their page, in this order: `{ storage: { bytes: 10e9 }, connections:
   * 1_000, support: "by e-mail" }` is "storage 10 GB, connections 1,000, support by e-mail".
   */
  includes?: Readonly<Record<string, Amount>>;
  /**
   * Set: provisioning this plan always takes longer. The kit answers 202 with this sentence at once and calls
   * `finish`; `provision` is not called.
   */
  later?: string;
}

/**
 * The offer, with its names as types: a default plan that is not among the plans does not compile. With `typeof offer` your
 * service, `kit` and your pages know these names too: a table that is keyed by a misspelt plan does not compile, nor does a
 * region or a config var that is not on offer.
 */
export function defineOffer<const Name extends string, const Var extends string, const Region extends string>(
  offer: Offer<Name, Var, Region>,
): Offer<Name, Var, Region> {
  return offer;
}

/** The plans that can be bought, by name. */
export function plansOnSale({ plans }: Offer): [name: string, plan: Plan][] {
  return Object.entries(plans).filter(([, { retired }]) => !retired);
}

/** Whether a plan can be bought: it is on offer, and not retired. */
export function isOnSale({ plans }: Offer, name: string): boolean {
  return Object.hasOwn(plans, name) && !plans[name]!.retired;
}

/** The names that an app's config vars can have (assumed, as the sandbox has it). */
const CONFIG_VAR = /^_?[A-Za-z][A-Za-z0-9_]*$/;
const OF_A_VAR =
  "a name there is of letters, digits and underscores, and begins with a letter, or an underscore and a letter";

/** The longest that one call of a vendor's function may take, in seconds. */
export const LONGEST_CALL_SECONDS = 600;

/** Throws one {@link Misconfigured} that lists every fault in the offer. */
export function checkOffer(offer: Offer): void {
  const { plans, configVars, limits = {} } = offer;
  const names = Object.keys(plans);
  const onSale = plansOnSale(offer).map(([name]) => name);
  const faults = [
    ...(["defaultPlan", "ephemeralPlan"] as const)
      .filter((member) => !isOnSale(offer, offer[member]))
      .map((member) => `${member} is "${offer[member]}", but the plans are: ${onSale.join(", ")}.`),
    ...names
      .filter((name) => !/^[^\s:]+$/.test(name))
      .map((name) => `plans holds "${name}": a name there is not empty, and without colon or white space.`),
    ...configVars
      .filter((name) => !CONFIG_VAR.test(name))
      .map((name) => `configVars holds "${name}": ${OF_A_VAR}.`),
    ...Object.entries(plans).flatMap(([name, plan]) =>
      Object.entries((plan as Plan).includes ?? {})
        .filter(([, amount]) => !(typeof amount === "string" || numberIn(amount)! >= 0))
        .map(([what]) => `plans.${name}.includes.${what} must be a number that is not negative, or words.`),
    ),
    ...Object.entries(limits)
      .filter(([, seconds]) => !(seconds >= 1 && seconds <= LONGEST_CALL_SECONDS))
      .map(([name, seconds]) => `limits.${name} is ${seconds}: give seconds, 1 to ${LONGEST_CALL_SECONDS}.`),
  ];
  if (faults.length === 0) return;
  throw new Misconfigured(["src/your-service/plans.ts is invalid:", ...faults].join("\n  "));
}

/** An add-on's manifest for the platform. Throws `Misconfigured` for an offer that does not fit together. */
export function addonManifest(addonId: string, offer: Offer) {
  checkOffer(offer);
  const { defaultPlan, ephemeralPlan, regions, configVars, requires = [] } = offer;
  const prefix = commonPrefix(configVars);
  return {
    id: addonId,
    plans: plansOnSale(offer).map(([name, { description }]) => ({ name, description })),
    default_plan: defaultPlan,
    ephemeral_plan: ephemeralPlan,
    regions: [...regions],
    config_vars: [...configVars],
    ...(prefix && { config_vars_prefix: prefix }),
    ...(requires.length > 0 && { requires: [...requires] }),
  };
}

/** The leading words that all names share, leaving each at least one of its own: SHOP for SHOP_URL and SHOP_TOKEN. */
function commonPrefix(names: readonly string[]): string {
  const words = names.map((name) => name.split("_").slice(0, -1));
  const [first = []] = words;
  const end = first.findIndex((word, index) => !words.every((each) => each[index] === word));
  return (end < 0 ? first : first.slice(0, end)).join("_");
}
