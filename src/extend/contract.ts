import type { Router } from "express";
import type { Logger } from "pino";
import type { Closable, Generated } from "../database/prisma.ts";
import type { YourMetric } from "../metrics/metrics.ts";
import type { PlanMeans } from "../offer.ts";
import type { Brand } from "../people/brand.ts";
import type { CustomerAction, CustomerPage } from "../people/contract.ts";
import type { ResourceApi } from "../platform/api.ts";
import type {
  ConfigVarOf,
  NotYet,
  Offer,
  OptionsOf,
  PlanOf,
  RegionOf,
  Rotated,
  VendorResource,
  YourService,
} from "../resources/contract.ts";
import type { ResourceState } from "../resources/states.ts";
import type { Json } from "../values.ts";

export type { Rotated } from "../resources/contract.ts";

/**
 * What `createYourService` returns: the functions of `YourService`, the customer's page, and what it adds of
 * {@link Extensions}. `Named`: names that other files of yours use, which the service then must have.
 * `Service<typeof offer, { actions: "move" }>` has an action `move`, so its page may have a form for that.
 */
export type Service<Sold extends Offer = Offer, Named extends Names = NoNames> = YourService<Sold> &
  Extensions<Sold> & {
    customerPage: CustomerPage<Sold, ActionOf<Named>>;
  } & (Named extends { actions: infer Action extends string }
    ? { actions: Readonly<Record<Action, CustomerAction<Sold>>> }
    : unknown) &
  (Named extends { metrics: infer Counted } ? { metrics: Counted } : unknown);

/** Names of yours that are used elsewhere: of the customer's actions, and `typeof metrics` of the counters. */
export interface Names {
  readonly actions?: string;
  readonly metrics?: YourMetrics;
}
type NoNames = Readonly<Record<never, never>>;
type ActionOf<Named extends Names> = Named extends { actions: infer Action extends string } ? Action : never;

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
  /** Your counters, by name. {@link Kit.count} adds to them; `/metrics` shows the sum of all processes. */
  metrics?: YourMetrics;
  /** Checks of `kit doctor`, shown as `your-NAME`. Return `null` if all is well, else what is wrong and what to do. */
  checks?: Readonly<Record<string, () => Promise<string | null>>>;
  /** Name, logo, colour and links of your customers' pages. */
  brand?: Brand;
  /** The actions of your customers on their page, by name. `page.form(name, …)` of the page shows the form of one. */
  actions?: Readonly<Record<string, CustomerAction<Sold>>>;
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

export type YourMetrics = Readonly<Record<string, YourMetric>>;

/**
 * What the kit offers to your service, in addition to the arguments of each function. Do not use it before the first call
 * of one of your functions. `Kit<typeof offer, typeof metrics>` has the plans, regions and config vars of the offer as types,
 * and counts those metrics (`as const`) alone; `Kit<typeof offer>` is for a service without metrics.
 */
export interface Kit<
  Typed extends Offer | YourMetrics = Offer,
  Counted extends YourMetrics = Typed extends Offer ? YourMetrics : Typed,
> {
  /** The log of the service. The kit redacts the secrets that it knows; do not log those of your customers. */
  readonly log: Pick<Logger, "debug" | "info" | "warn" | "error">;
  /** The service's PostgreSQL, on its connections. Name your tables with their schema: `yours.meters`. */
  readonly database: KitDatabase & {
    /** Commits when `work` resolves, rolls back when it throws. `work` must wait only for the database. */
    transaction<T>(work: (tx: KitDatabase) => Promise<T>): Promise<T>;
    /**
     * The typed client of the models in your `schema.prisma`, whose tables are in the schema `yours`:
     * `kit.database.prisma(() => import("./client/client.ts"))`. The kit makes one client for each process, on the
     * service's connections. Use it for rows found by a key or an index: a statement has three seconds.
     */
    prisma<Client extends Closable>(load: () => Promise<Generated<Client>>): Promise<Client>;
  };
  readonly resources: {
    /** A resource that is provisioned or provisioning; `null` for any other uuid. */
    find(uuid: string): Promise<KitResource<SoldOf<Typed>> | null>;
    /**
     * The provisioned and provisioning resources, or those of them that the filter wants, ordered by uuid. They are read page
     * by page; no connection is held between two pages.
     */
    list(filter?: ResourceFilter<SoldOf<Typed>>): AsyncIterable<KitResource<SoldOf<Typed>>>;
  };
  readonly config: {
    /**
     * Changes config vars of a provisioned resource. The value `null` removes a var; other vars stay. Resolves when the
     * change is stored; the app gets it as soon as the platform is reachable. Throws for a var or a value that the offer
     * does not allow, and for a resource that is not provisioned.
     */
    set(uuid: string, vars: VarsOf<ConfigVarOf<SoldOf<Typed>>>): Promise<void>;
  };
  /**
   * Requests a rotation of a provisioned resource's credentials ({@link Extensions.rotation}). No rotation is requested if
   * the credentials of an earlier one have not reached the app (`under_way`), or if its old credentials are not retired yet
   * (`overlap`). Throws for a resource that is not provisioned, or that has no working tokens and waits for none.
   */
  rotate(uuid: string): Promise<"asked" | "under_way" | "overlap">;
  /**
   * Adds to a counter of {@link Extensions.metrics}. Use few different label values, never a uuid or a name. Never throws:
   * a call with an undeclared metric or an invalid number is logged and not counted.
   */
  count<Name extends keyof Counted & string>(
    metric: Name,
    ...counted: CountedBy<LabelOf<Counted[Name]>>
  ): void;
  /** The platform, on behalf of one resource. Its calls fail while the resource has no working token. */
  platformFor(uuid: string): ResourceApi<ConfigVarOf<SoldOf<Typed>>>;
}

/** The offer of a {@link Kit}; in forks that gave it their metrics alone, any. */
type SoldOf<Typed> = Typed extends Offer ? Typed : Offer;

type VarsOf<Var extends string> = string extends Var
  ? Readonly<Record<string, string | null>>
  : Readonly<Partial<Record<Var, string | null>>>;

/** A metric with labels needs each of them; one without takes none. */
type CountedBy<Label extends string> = [Label] extends [never]
  ? [labels?: Readonly<Record<string, never>>, by?: number]
  : string extends Label
    ? [labels?: Readonly<Record<string, string>>, by?: number]
    : [labels: Readonly<Record<Label, string>>, by?: number];

type LabelOf<Metric extends YourMetric> = Metric extends { labels: readonly (infer Label extends string)[] }
  ? Label
  : "labels" extends keyof Metric
    ? string
    : never;

export interface KitDatabase {
  /** Runs one statement with `$1`, `$2` … for its values, and returns its rows. */
  query<Row>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** One add-on resource, as your routes and jobs see it. */
export interface KitResource<Sold extends Offer = Offer> extends PlanMeans<Sold> {
  uuid: string;
  name: string | null;
  /** The plan that your service has made; during a plan change the previous plan. */
  plan: PlanOf<Sold>;
  /** A plan change was requested and is not done yet. */
  isChangingPlan: boolean;
  region: RegionOf<Sold> | null;
  /** The options that the customer chose when installing; empty if the schema in the offer does not allow them any more. */
  options: Partial<OptionsOf<Sold>>;
  state: Extract<ResourceState, "provisioning" | "provisioned">;
  /** When the platform requested the resource, by the database's clock. */
  createdAt: Date;
  /** The app of the add-on, as last read from the platform; `null` before the first time. */
  app: { id: string; name: string } | null;
}

/** Which resources to list; all that is given must hold. */
export interface ResourceFilter<Sold extends Offer = Offer> {
  plan?: PlanOf<Sold> | undefined;
  region?: RegionOf<Sold> | undefined;
  state?: KitResource["state"] | undefined;
  /** Only those that were created before this time. */
  createdBefore?: Date | undefined;
  /** Only those that were created at this time or later. */
  createdAfter?: Date | undefined;
}
