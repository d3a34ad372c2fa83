import { type Amount, numberIn, type Price } from "./amounts.ts";
import { Misconfigured } from "./errors.ts";
import { faultsInOptions, inJsonSchema, type Options, type OptionsSchema } from "./options.ts";

/** What is on offer. The kit checks requests against it and writes the add-on manifest from it. */
export interface Offer<
  Name extends string = string,
  Var extends string = string,
  Region extends string = string,
  Limit extends string = string,
  Feature extends string = string,
  Chosen extends Options = Options,
> {
  /** By bare name, in the order they are shown. */
  plans: Readonly<Record<Name, Plan<Limit, Feature>>>;
  defaultPlan: NoInfer<Name>;
  /** The plan of review and CI apps. */
  ephemeralPlan: NoInfer<Name>;
  regions: readonly Region[];
  /**
   * Every config var the service ever sets. Setting any other counts as an error: the kit answers "later" and calls
   * again, and nothing reaches the platform.
   */
  configVars: readonly Var[];
  /**
   * What a plan includes, made of its limits and features, so that no number is written twice. `includes` of a plan is
   * added, or takes the place of what has the same name.
   */
  includes?(
    limits: Readonly<Record<Limit, number>>,
    features: Readonly<Record<Feature, boolean>>,
  ): Readonly<Record<string, Amount>>;
  /**
   * What a customer may choose when installing, as an object of zod. The platform sends texts, so a number is
   * `z.coerce.number()`, and yes or no `z.stringbool()`. What does not fit is refused before anything is made. Without it,
   * all options are passed as they came.
   */
  options?: OptionsSchema<Chosen>;
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

/** What a plan allows, by the names that all plans of the offer have. */
export type LimitsOf<Sold extends Offer> =
  Sold extends Offer<string, string, string, infer Limit, string, Options>
    ? Readonly<Record<Limit, number>>
    : never;
export type FeaturesOf<Sold extends Offer> =
  Sold extends Offer<string, string, string, string, infer Feature, Options>
    ? Readonly<Record<Feature, boolean>>
    : never;
export type OptionsOf<Sold extends Offer> = Sold extends { options?: OptionsSchema<infer Chosen> }
  ? Chosen
  : never;

export interface Plan<Limit extends string = string, Feature extends string = string> {
  description: string;
  /** For the manifest and the customer's page. A price that is changed must be changed at the platform, too. */
  price?: Price;
  /**
   * What the plan allows: `{ messagesPerDay: 1_000 }`. Your functions, jobs and pages read it as `resource.limits`. Each plan
   * has the same names.
   */
  limits?: Readonly<Record<Limit, number>>;
  /** What the plan has, or has not: `{ backups: true }`, read as `resource.features`. Each plan has the same names. */
  features?: Readonly<Record<Feature, boolean>>;
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
 * The offer, with its names as types: a default plan that is not among the plans does not compile, nor does a plan that
 * lacks a limit or a feature of the others. With `typeof offer` your service, `kit` and your pages know these names too: a
 * table that is keyed by a misspelt plan does not compile, nor does a region or a config var that is not on offer.
 */
export function defineOffer<
  const Name extends string,
  const Var extends string,
  const Region extends string,
  const Limit extends string = never,
  const Feature extends string = never,
  Chosen extends Options = Options,
>(
  offer: Offer<Name, Var, Region, Limit, Feature, Chosen> & { plans: Record<Name, Complete<Limit, Feature>> },
): Offer<Name, Var, Region, Limit, Feature, Chosen> {
  return offer;
}

/** What each plan must have, since one has it. */
type Complete<Limit extends string, Feature extends string> = (IsNamed<Limit> extends true
  ? { limits: Record<Limit, number> }
  : unknown) &
  (IsNamed<Feature> extends true ? { features: Record<Feature, boolean> } : unknown);

/** False: no plan has one, or an offer whose names are any texts. */
type IsNamed<Name extends string> = [Name] extends [never] ? false : string extends Name ? false : true;

/** What the plan of a resource means to your code. */
export interface PlanMeans<Sold extends Offer = Offer> {
  /** What the plan allows, as `limits` of the offer say. Of a plan that is missing from the offer: the highest of all plans. */
  limits: LimitsOf<Sold>;
  /** What the plan has. Of a plan that is missing from the offer: what any plan has. */
  features: FeaturesOf<Sold>;
}

/** The limits and features of a plan. */
export function meaningOf({ plans }: Offer, name: string): PlanMeans {
  const plan = Object.hasOwn(plans, name) ? plans[name]! : generousOf(Object.values(plans));
  return { limits: plan.limits ?? NONE, features: plan.features ?? NONE };
}

const NONE = {};

/**
 * For a resource whose plan was taken out of the offer, which `kit doctor` reports: a page or a job that goes through all
 * resources must not fail of it, and its customer must not get less than was bought.
 */
function generousOf(plans: readonly Plan[]): Pick<Plan, "limits" | "features"> {
  const limits: Record<string, number> = {};
  const features: Record<string, boolean> = {};
  for (const plan of plans) {
    for (const [name, limit] of Object.entries(plan.limits ?? {}))
      limits[name] = Math.max(limits[name] ?? limit, limit);
    for (const [name, has] of Object.entries(plan.features ?? {})) features[name] = features[name] || has;
  }
  return { limits, features };
}

/** What a plan includes, as its customers read it. */
export function includedIn(
  offer: Offer,
  { limits = {}, features = {}, includes }: Plan,
): [name: string, amount: Amount][] {
  return Object.entries({ ...offer.includes?.(limits, features), ...includes });
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
    ...Object.entries(plans).flatMap(([name, plan]) => faultsInPlan(offer, `plans.${name}`, plan)),
    ...faultsInOptions(offer.options),
    ...Object.entries(limits)
      .filter(([, seconds]) => !(seconds >= 1 && seconds <= LONGEST_CALL_SECONDS))
      .map(([name, seconds]) => `limits.${name} is ${seconds}: give seconds, 1 to ${LONGEST_CALL_SECONDS}.`),
  ];
  if (faults.length === 0) return;
  throw new Misconfigured(["src/your-service/plans.ts is invalid:", ...faults].join("\n  "));
}

function faultsInPlan(offer: Offer, at: string, plan: Plan): string[] {
  const { price, limits = {} } = plan;
  const names = (member: "limits" | "features") =>
    [...new Set(Object.values(offer.plans).flatMap((each) => Object.keys(each[member] ?? {})))].filter(
      (name) => !Object.hasOwn(plan[member] ?? {}, name),
    );
  return [
    ...includedIn(offer, plan)
      .filter(([, amount]) => !(typeof amount === "string" || numberIn(amount)! >= 0))
      .map(([what]) => `${at}.includes.${what} must be a number that is not negative, or words.`),
    ...(price && !(Number.isSafeInteger(price.cents) && price.cents >= 0 && price.unit)
      ? [`${at}.price must have cents, a whole number from 0, and a unit such as "month".`]
      : []),
    ...Object.entries(limits)
      .filter(([, limit]) => !(limit >= 0))
      .map(
        ([name, limit]) =>
          `${at}.limits.${name} is ${limit}: give a number that is not negative, or Infinity.`,
      ),
    ...(["limits", "features"] as const).flatMap((member) =>
      names(member).map((name) => `${at}.${member} lacks ${name}, which other plans have.`),
    ),
  ];
}

/** An add-on's manifest for the platform. Throws `Misconfigured` for an offer that does not fit together. */
export function addonManifest(addonId: string, offer: Offer) {
  checkOffer(offer);
  const { defaultPlan, ephemeralPlan, regions, configVars, options, requires = [] } = offer;
  const prefix = commonPrefix(configVars);
  return {
    id: addonId,
    plans: plansOnSale(offer).map(([name, { description, price }]) => ({
      name,
      description,
      ...(price && { price }),
    })),
    default_plan: defaultPlan,
    ephemeral_plan: ephemeralPlan,
    regions: [...regions],
    config_vars: [...configVars],
    ...(prefix && { config_vars_prefix: prefix }),
    ...(options && { options: inJsonSchema(options) }),
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
