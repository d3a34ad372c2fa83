import type { ResourceApi } from "../platform/api.ts";
import type { Secret } from "../secret.ts";

/**
 * What a vendor writes: four functions, each given what it may use at that moment. Each may be called again for the
 * same step (a crash, a lost connection, a repeated request): `resource.idempotencyKey` is then the same, and the
 * function must end in the same place. A thrown `Refusal` is a definite no; any other error, or more than 2.8 seconds,
 * turns the answer into "later" and the kit calls again until it works.
 */
export interface YourService {
  /** Makes what was bought. There is no platform client yet: the platform first wants our answer. */
  provision(resource: VendorResource): Promise<Outcome>;
  /**
   * Changes what was bought. `resource.plan` is the new plan. It may equal `previousPlan`, where a change that was taken
   * back may have been half made.
   */
  changePlan(resource: VendorResource, previousPlan: string): Promise<Outcome>;
  /**
   * Completes what was put off, with a client that can reach the platform for this resource. What takes long is looked
   * at, not waited for: begin it, answer `later`, and it is called again, for a provision until 11 hours are over. A call
   * may last 10 minutes; then `signal` says stop.
   */
  finish(resource: VendorResource, platform: ResourceApi): Promise<Done | NotYet>;
  /**
   * Takes everything down. Called after a deprovision, and after a provision that failed half way; it may take as long,
   * and answer `later`, as `finish` may. After a deprovision `resource.name` is null and `resource.options` are empty, for
   * what is a customer's own is forgotten by then; so name what you make after the uuid.
   */
  deprovision(resource: VendorResource): Promise<void | NotYet>;
  /** Lets go of what the functions hold open, such as connections: the process stops, and nothing calls them any more. */
  close?(): Promise<void>;
}

/** One add-on resource, as the vendor's functions see it. */
export interface VendorResource {
  /** The platform's id of the resource, lower case. */
  uuid: string;
  /** The name customers see, if the platform sent one. Null by the time of a `deprovision`. */
  name: string | null;
  /** The bare plan name, such as `basic`. */
  plan: string;
  region: string | null;
  /** What the customer chose when installing; scalars, unknown ones included. Empty by the time of a `deprovision`. */
  options: Readonly<Record<string, unknown>>;
  /** The same at each try of one step. */
  idempotencyKey: string;
  /**
   * Aborted when the work is no longer wanted, for example because the resource was deprovisioned meanwhile, or when the
   * process stops: then another one calls again.
   */
  signal: AbortSignal;
  /** Where the app's log lines can be sent, for add-ons that asked for it. */
  logInputUrl: Secret | null;
  /** Names the app's log drain, for add-ons that asked for it. */
  logDrainToken: Secret | null;
}

/** The work is done: the app's config vars (the full set), and a sentence for the customer. */
export interface Done {
  /** A var that is left out is taken away from the app; one that is an empty text is set, and empty. */
  config: Readonly<Record<string, string>>;
  message?: string;
}

/**
 * The work takes longer: the customer reads this sentence, and `finish` is called once the platform can be reached. Never
 * beside `config`: what is answered with both is refused.
 */
export interface Later {
  later: string;
}

export type Outcome = Done | Later;

/** Nothing is wrong, and the work still goes on. Operators and the customer's page see the sentence until it is done. */
export interface NotYet extends Later {
  /** Seconds until the next call; 30 where nothing is said. Less than 1 counts as 1, and more than 3,600 as 3,600. */
  againInSeconds?: number;
}

/** What is on offer. The kit checks requests against it and writes the add-on manifest from it. */
export interface Offer {
  /** By bare name, in the order they are shown. */
  plans: Readonly<Record<string, Plan>>;
  defaultPlan: string;
  /** The plan of review and CI apps. */
  ephemeralPlan: string;
  regions: readonly string[];
  /** Every config var the service ever sets. Others are refused before they reach the platform. */
  configVars: readonly string[];
  /** What else the add-on asks of the platform, in the platform's words: `log_input` for an app's log lines. */
  requires?: readonly string[];
}

export interface Plan {
  description: string;
  /**
   * Set: provisioning this plan always takes longer. The kit answers 202 with this sentence at once and calls
   * `finish`; `provision` is not called.
   */
  later?: string;
}
