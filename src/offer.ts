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

export interface Plan {
  description: string;
  /**
   * Set: provisioning this plan always takes longer. The kit answers 202 with this sentence at once and calls
   * `finish`; `provision` is not called.
   */
  later?: string;
}

/**
 * The offer, with its names as types: a default plan that is not among the plans does not compile, and with
 * `YourService<typeof offer>` neither does a config var that is not on offer. Any text finds a plan, or nothing: a
 * resource may have one that is no longer sold.
 */
export function defineOffer<const Name extends string, const Var extends string, const Region extends string>(
  offer: Offer<Name, Var, Region>,
): Offer<Name, Var, Region> & Pick<Offer, "plans"> {
  return offer;
}
