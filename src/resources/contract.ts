import type { ConfigVarOf, Offer, OptionsOf, PlanMeans, PlanOf, RegionOf } from "../offer.ts";
import type { ResourceApi } from "../platform/api.ts";
import type { Secret } from "../secret.ts";
import type { Json } from "../values.ts";

export type { ConfigVarOf, LimitsOf, Offer, OptionsOf, Plan, PlanOf, RegionOf } from "../offer.ts";

/**
 * The four functions that a vendor writes. Each may be called again for the same step (after a crash, a lost connection
 * or a repeated request). `resource.idempotencyKey` is then the same, and the function must reach the same end state. A
 * thrown `Refusal` is final, except from `deprovision`. After any other error the kit calls the function again until it
 * succeeds. If `provision` or `changePlan` throws another error, or runs for more than 2.8 seconds, the kit answers
 * "later" to the platform; a slow call continues.
 */
export interface YourService<Sold extends Offer = Offer> {
  /** Makes what was bought. There is no platform client yet, because the platform issues tokens only after the answer. */
  provision(resource: VendorResource<Sold>): Promise<Outcome<Sold>>;
  /**
   * Changes what was bought. `resource.plan` is the new plan. It may equal `previousPlan`, because an earlier change that
   * was undone may have been made in part.
   */
  changePlan(resource: VendorResource<Sold>, previousPlan: PlanOf<Sold>): Promise<Outcome<Sold>>;
  /**
   * Completes a provision or plan change that was answered "later", with a client for the platform's API. Do not wait for
   * long work: begin it and answer `later`. The function is then called again; for a provision this ends after 11 hours.
   * After 10 minutes, or the time in `limits` of the offer, `signal` is aborted.
   */
  finish(
    resource: VendorResource<Sold>,
    platform: ResourceApi<ConfigVarOf<Sold>>,
  ): Promise<Done<Sold> | NotYet>;
  /**
   * Removes everything that was made, also after a provision that failed half-way. Like `finish`, it has a limit and may
   * answer `later`. Derive the names of what you make from the uuid: an orphan that only your backend has (`list` of
   * Extensions) has only its uuid and an empty plan. Read here the usage that no job has read yet.
   */
  deprovision(resource: EndedResource<Sold>): Promise<void | NotYet>;
  /** Closes connections and timers when the process stops or could not start. No function is called after it. */
  close?(): Promise<void>;
}

/** One add-on resource, as the vendor's functions see it. */
export interface VendorResource<Sold extends Offer = Offer> extends PlanMeans<Sold> {
  /** The platform's id of the resource, lower case. */
  uuid: string;
  /** The name that customers see; `null` if the platform sent none. */
  name: string | null;
  /** The bare plan name, such as `basic`; one of the offer, which may be retired. */
  plan: PlanOf<Sold>;
  region: RegionOf<Sold> | null;
  /**
   * The options that the customer chose when installing, as the schema in the offer reads them. Without a schema: scalars,
   * whatever their names.
   */
  options: OptionsOf<Sold>;
  /** Whether the resource is suspended. What changes it, such as `changePlan`, must leave it suspended. */
  suspended: Suspended | null;
  /** The same at each call for one step. */
  idempotencyKey: string;
  /**
   * Aborted when the resource was deprovisioned, the call has taken too long, an operator has ended it, or the process
   * stops. If the work is still wanted, the function is called again.
   */
  readonly signal: AbortSignal;
  /** The URL to send log lines to the app's log, for add-ons that requested it. */
  logInputUrl: Secret | null;
  /** Identifies the app's log drain, for add-ons that requested it. */
  logDrainToken: Secret | null;
}

/** Since when a resource is suspended, and why, in the words that its customer reads. */
export interface Suspended {
  since: Date;
  reason: string;
}

/**
 * A resource that has ended, as `deprovision` sees it. The kit keeps its name and its options until the clean-up is done, at
 * most 30 days; then `name` is `null`, and `options` is empty. The plan of an orphan that only your backend has is empty.
 */
export interface EndedResource<Sold extends Offer = Offer> extends Omit<
  VendorResource<Sold>,
  "plan" | "options"
> {
  plan: PlanOf<Sold> | "";
  options: Partial<OptionsOf<Sold>>;
  /** When it was requested, and when it ended. `null` for an orphan, and for a provision that failed at once. */
  createdAt: Date | null;
  endedAt: Date | null;
}

/** The work is done: the app's config vars (the full set), and a sentence for the customer. */
export interface Done<Sold extends Offer = Offer> {
  /**
   * A var that is left out is removed from the app. An empty string sets an empty value. A value with a NUL or broken
   * Unicode is an error.
   */
  config: Readonly<Partial<Record<ConfigVarOf<Sold>, string>>>;
  /**
   * Of a provision it names no config var, because the app may have other names, which the kit cannot know yet; in that of a
   * plan change the kit writes the app's names.
   */
  message?: string;
  /** The URL to which the drain of `logDrainToken` sends the app's log. Counts only in a `provision` within 2.8 seconds. */
  logDrainUrl?: string;
}

/**
 * The work takes longer. The customer reads the sentence `later`, and `finish` is called once the platform can be called.
 * Together with `config` it is an error: the kit answers "later" and calls the function again.
 */
export interface Later {
  later: string;
  /** As of {@link Done}. */
  logDrainUrl?: string;
}

export type Outcome<Sold extends Offer = Offer> = Done<Sold> | Later;

/** The work continues without an error. Operators and the customer's page see the sentence until the work is done. */
export interface NotYet extends Later {
  /** Seconds until the next call; 30 unless given. Less than 1 counts as 1, and more than 3,600 as 3,600. */
  againInSeconds?: number;
}

/** Of a rotation: the new credentials. */
export interface Rotated<Sold extends Offer = Offer> extends Pick<Done<Sold>, "config"> {
  /** Names the old credentials and never contains them: stored as it is, at most 2,000 characters of JSON. */
  retires: Json;
}
