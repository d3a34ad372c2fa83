import type { Router } from "express";
import type { Brand } from "../people/brand.ts";
import type {
  CustomerAction,
  CustomerDownload,
  CustomerDownloads,
  CustomerPage,
  CustomerPages,
  CustomerSubPage,
} from "../people/contract.ts";
import type { Done, NotYet, Offer, Rotated, VendorResource, YourService } from "../resources/contract.ts";
import type { Json } from "../values.ts";
import type { KitResource, YourMetrics } from "./kit-contract.ts";

export type { Rotated } from "../resources/contract.ts";
export type { Kit, KitDatabase, KitResource, ResourceFilter, YourMetrics } from "./kit-contract.ts";

/**
 * What `createYourService` returns: the functions of `YourService`, the customer's page, and what it adds of
 * {@link Extensions}. `Named`: names that other files of yours use, which the service then must have.
 * `Service<typeof offer, { actions: "move" }>` has an action `move`, so its page may have a form for that.
 */
export type Service<Sold extends Offer = Offer, Named extends Names = NoNames> = YourService<Sold> &
  Extensions<Sold> & {
    customerPage: CustomerPage<Sold, ActionOf<Named>, PlaceOf<Named>>;
  } & (Named extends { actions: infer Action extends string }
    ? { actions: Readonly<Record<Action, CustomerAction<Sold>>> }
    : unknown) &
  (Named extends { places: infer Place extends string }
    ? { pages: CustomerPages<Sold, ActionOf<Named>, Place>; downloads: CustomerDownloads<Sold, Place> }
    : unknown) &
  (Named extends { metrics: infer Counted } ? { metrics: Counted } : unknown);

/**
 * Names of yours that are used elsewhere: of the customer's actions, of their pages and downloads (which have a dot), and
 * `typeof metrics`.
 */
export interface Names {
  readonly actions?: string;
  readonly places?: string;
  readonly metrics?: YourMetrics;
}
type NoNames = Readonly<Record<never, never>>;
type ActionOf<Named extends Names> = Named extends { actions: infer Action extends string } ? Action : never;
type PlaceOf<Named extends Names> = Named extends { places: infer Place extends string } ? Place : never;

/** What `createYourService` may return beside the functions of `YourService`: see docs/extend-it.md. */
export interface Extensions<Sold extends Offer = Offer> {
  /**
   * Mounts your routes, behind the kit's limits on requests and its request log. An error of a route is answered as JSON:
   * a `Refusal` with its status, any other error with 500. The routes must authenticate their callers. Set
   * `response.locals["isAuthenticated"]` for an authenticated caller, so that each of its requests is logged. Bodies are
   * not parsed: use `express.json()`, or `express.raw()` to verify a signature.
   */
  routes?(router: Router): void;
  jobs?: readonly YourJob[];
  /**
   * Your metrics, by name. {@link Kit.count} adds to counters, {@link Kit.observe} to histograms; `/metrics` shows the sum of
   * all processes. Gauges are read when it is scraped.
   */
  metrics?: YourMetrics;
  /** Checks of `kit doctor`, shown as `your-NAME`. Return `null` if all is well, else what is wrong and what to do. */
  checks?: Readonly<Record<string, () => Promise<string | null>>>;
  /** Name, logo, colour and links of your customers' pages. */
  brand?: Brand;
  /** The actions of your customers on their page, by name. `page.form(name, …)` of the page shows the form of one. */
  actions?: Readonly<Record<string, CustomerAction<Sold>>>;
  /** Further pages of your customers, by name: the menu has them, and `page.link(name, …)` leads to them. */
  pages?: Readonly<Record<string, CustomerSubPage<Sold>>>;
  /** Files for your customers, by file name: `page.link("usage.csv", …)` leads to one. */
  downloads?: Readonly<Record<string, CustomerDownload<Sold>>>;
  /** The actions of an operator on one resource, by name: a button on its page, and `kit action NAME UUID`. */
  operatorActions?: Readonly<Record<string, OperatorAction<Sold>>>;
  /**
   * Lists everything that your backend has, by the uuid of its resource, in any order. Further members are shown to the
   * operator. `kit reconcile` compares the list with the kit's resources and with the platform's. An entry that only your
   * backend has is an orphan, for which your `deprovision` can be called. Read your backend page by page. Throw if a page
   * cannot be read: after a list that ends early, the other resources would count as missing. `signal` is aborted when
   * the list is no longer needed.
   */
  list?(signal: AbortSignal): AsyncIterable<string | BackendResource>;
  /**
   * Returns the data that your tables and your backend store for one resource, without secrets; `null` if there is none.
   * `kit resources export` uses it to answer a customer's request for their data. The resource may be in any state, also
   * deprovisioned. The function has 30 seconds.
   */
  exportData?(uuid: string, signal: AbortSignal): Promise<Json>;
  /** Replaces a customer's credentials by new ones. Without it, credentials cannot be rotated. */
  rotation?: Rotation<Sold>;
  /**
   * Suspends a resource ({@link Kit.suspend}): the customer keeps it, and cannot use it. Both functions are called like those
   * of `YourService`: again after an error or `later`, with the time limit in `limits` of the offer. They return the app's
   * config vars, the full set, or nothing if these stay as they are. `suspend` is called again after a plan change and after a
   * rotation of a suspended resource, which may have made it work. Throw a `Refusal` if the resource cannot be suspended; it
   * then stays as it is.
   */
  suspend?(
    resource: VendorResource<Sold>,
    reason: string,
  ): Promise<Pick<Done<Sold>, "config"> | NotYet | void>;
  /** Ends a suspension. It may be called for a resource whose suspension was given up half-way. A service has both or none. */
  resume?(resource: VendorResource<Sold>): Promise<Pick<Done<Sold>, "config"> | NotYet | void>;
}

/** An entry of your backend: the uuid of its resource, and members to show to the operator, without secrets. */
export interface BackendResource {
  readonly uuid: string;
  readonly [about: string]: Json;
}

/**
 * Rotation of credentials: the app gets new credentials, and the old ones are ended after an overlap. Both functions are
 * called like those of `YourService`: again after an error or `later`, with the time limit in `limits` of the offer, and
 * with the same `resource.idempotencyKey`, which identifies the rotation in both functions.
 */
export interface Rotation<Sold extends Offer = Offer> {
  /**
   * Makes new credentials beside the old ones. A plan change waits for this function. Throw a `Refusal` if the credentials
   * cannot be rotated; the resource then stays as it is.
   */
  rotate(resource: VendorResource<Sold>): Promise<Rotated<Sold> | NotYet>;
  /**
   * Ends the old credentials, which `retires` names, when the overlap is over or an operator requests the next rotation.
   * Errors must not quote the old credentials, because the kit can no longer redact them. The function is not called after
   * a deprovision, which must remove all credentials. A plan change may run at the same time.
   */
  retire(resource: VendorResource<Sold>, retires: Json): Promise<void | NotYet>;
  /** How long the old credentials stay valid after the platform has the new ones; 120 unless given. */
  overlapMinutes?: number;
  /** Rotates each resource when its credentials are this old; unless given, only on request. */
  everyDays?: number;
}

/** An action of an operator on one resource. Each run is recorded in the audit trail. */
export interface OperatorAction<Sold extends Offer = Offer> {
  /** The text of the action's button, such as "Move the queue". */
  label: string;
  /** What the action does, in whole sentences. Shown before the button is pressed. */
  effect: string;
  /**
   * Runs the action and returns a sentence about the result, without secrets. The message of a thrown `Refusal` is shown;
   * other errors are logged. `signal` is aborted after ten minutes, and when the process stops.
   */
  run(resource: KitResource<Sold>, signal: AbortSignal): Promise<string>;
}

/** A scheduled job. One process at a time runs it. */
export interface YourJob {
  /** Small letters, digits and hyphens. The database stores the job's due time under this name. */
  name: string;
  /** A cron expression: `0 3 * * *` is each day at three. It may name days of the month or days of the week, and not both. */
  at: string;
  /**
   * The time zone of `at`, such as `Europe/Berlin`; UTC unless given. A time that a day skips, because the clocks are put
   * forward, is an hour later. Of a time that comes twice, because they are put back, the first one counts; only a job of
   * every hour runs at both.
   */
  timeZone?: string;
  /**
   * What happens to times that passed while no process ran jobs. `once`, unless given: the job runs once for all of them.
   * `each`: it runs for each of them, the oldest first, at most the last 366. `skip`: it does not run for a time that passed
   * more than five minutes ago.
   */
  missed?: "once" | "each" | "skip";
  /**
   * Must be idempotent: if the process dies, another process runs the job again. A job that throws is retried after
   * 1, 2, 4 … minutes, 64 at most. `signal` is aborted when the process stops, and after `mostMinutes`. `dueAt`: the time of
   * `at` that this run is for, the same at each retry of `each`; in the other cases, and if an operator runs the job, the last
   * one that has passed.
   */
  run(signal: AbortSignal, run: { dueAt: Date }): Promise<unknown>;
  /** A longer run is aborted, with an alarm; 60 unless given. */
  mostMinutes?: number;
}
