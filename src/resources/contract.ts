import type { Offer } from "../offer.ts";
import type { ResourceApi } from "../platform/api.ts";
import type { Secret } from "../secret.ts";
import type { Json } from "../values.ts";

export type { Offer, Plan } from "../offer.ts";

/**
 * What a vendor writes: four functions, each given what it may use at that moment. Each may be called again for the
 * same step (after a crash, a lost connection or a repeated request): `resource.idempotencyKey` is then the same, and
 * the function must reach the same end state. A thrown `Refusal` is a definite no, except from `deprovision`; after any
 * other error the kit calls again until it works. While the platform waits for `provision` or `changePlan`, such an
 * error or a call of more than 2.8 seconds makes the kit answer "later"; a slow call goes on.
 */
export interface YourService<Sold extends Offer = Offer> {
  /** Makes what was bought. There is no platform client yet: tokens come only after the platform has our answer. */
  provision(resource: VendorResource): Promise<Outcome<Sold>>;
  /**
   * Changes what was bought; `resource.plan` is the new plan. It may equal `previousPlan`: an earlier change that was
   * taken back may have been made in part.
   */
  changePlan(resource: VendorResource, previousPlan: string): Promise<Outcome<Sold>>;
  /**
   * Completes what was put off, with a client that can reach the platform for this resource. Do not wait for long work:
   * begin it and answer `later`. The function is then called again, for a provision until 11 hours are over. A call may
   * last 10 minutes, or as long as `limits` of the offer say; then `signal` is aborted.
   */
  finish(resource: VendorResource, platform: ResourceApi): Promise<Done<Sold> | NotYet>;
  /**
   * Takes everything down, also after a provision that failed half-way. Like `finish`, it has a limit and may answer
   * `later`. Derive the names of what you make from the uuid: after a deprovision, name and options are erased, and of
   * an orphan that only your backend had (`list` of Extensions) nothing but the uuid is known; its plan is empty.
   */
  deprovision(resource: VendorResource): Promise<void | NotYet>;
  /** Releases what is held open, when the process stops or could not start; no function is called after it. */
  close?(): Promise<void>;
}

/** One add-on resource, as the vendor's functions see it. */
export interface VendorResource {
  /** The platform's id of the resource, lower case. */
  uuid: string;
  /** The name customers see. Null if the platform sent none, and after its deprovision. */
  name: string | null;
  /** The bare plan name, such as `basic`. */
  plan: string;
  region: string | null;
  /** What the customer chose when installing; scalars, unknown ones included. Empty after a deprovision. */
  options: Readonly<Record<string, unknown>>;
  /** The same at each try of one step. */
  idempotencyKey: string;
  /**
   * Aborted when the work is no longer wanted (the resource was deprovisioned), has taken too long, or is cut off by an
   * operator or the end of the process. If it is still wanted, the function is called again.
   */
  readonly signal: AbortSignal;
  /** Where the app's log lines can be sent, for add-ons that asked for it. */
  logInputUrl: Secret | null;
  /** Names the app's log drain, for add-ons that asked for it. */
  logDrainToken: Secret | null;
}

/** The work is done: the app's config vars (the full set), and a sentence for the customer. */
export interface Done<Sold extends Offer = Offer> {
  /**
   * A var that is left out is removed from the app; an empty string sets an empty value. A NUL or broken Unicode counts
   * as an error.
   */
  config: Readonly<Partial<Record<Sold["configVars"][number], string>>>;
  message?: string;
  /** Of a `provision` within 2.8 seconds: where the drain that `logDrainToken` names is to send the app's log lines. */
  logDrainUrl?: string;
}

/**
 * The work takes longer: the customer reads this sentence, and `finish` is called once the platform can be reached.
 * Never return it together with `config`: that counts as an error, so the kit answers "later" and calls again.
 */
export interface Later {
  later: string;
  /** As of {@link Done}. */
  logDrainUrl?: string;
}

export type Outcome<Sold extends Offer = Offer> = Done<Sold> | Later;

/** The work goes on, and nothing is wrong. Operators and the customer's page see the sentence until it is done. */
export interface NotYet extends Later {
  /** Seconds until the next call; 30 unless given. Less than 1 counts as 1, and more than 3,600 as 3,600. */
  againInSeconds?: number;
}

/** Of a rotation: the new credentials. */
export interface Rotated<Sold extends Offer = Offer> extends Pick<Done<Sold>, "config"> {
  /** Names the old credentials and never contains them: stored as it is, at most 2,000 characters of JSON. */
  retires: Json;
}
