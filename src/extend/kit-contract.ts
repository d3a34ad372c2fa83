import type { Logger } from "pino";
import type { Closable, Generated } from "../database/prisma.ts";
import type { YourMetric } from "../metrics/yours.ts";
import type { PlanMeans } from "../offer.ts";
import type { ResourceApi } from "../platform/api.ts";
import type { ConfigVarOf, Offer, OptionsOf, PlanOf, RegionOf, Suspended } from "../resources/contract.ts";
import type { ResourceState } from "../resources/states.ts";

// What `kit` offers to a vendor's service; `contract.ts` has what the service returns.

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
    /**
     * A resource that is provisioned or provisioning; `null` for any other uuid. With a state, one in this state alone, so
     * that `{ state: "deprovisioning" }` finds one whose `deprovision` is not done yet.
     */
    find(uuid: string, filter?: Pick<ResourceFilter, "state">): Promise<KitResource<SoldOf<Typed>> | null>;
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
   * Requests a rotation of a provisioned resource's credentials (`Extensions.rotation`). No rotation is requested if
   * the credentials of an earlier one have not reached the app (`under_way`), or if its old credentials are not retired yet
   * (`overlap`). Throws for a resource that is not provisioned, or that has no working tokens and waits for none.
   */
  rotate(uuid: string): Promise<"asked" | "under_way" | "overlap">;
  /**
   * Requests that a provisioned resource be suspended (`Extensions.suspend`), after what is under way of it. `reason` is a
   * sentence that the customer reads: no secret. If the resource is suspended, or is to be, only the reason changes
   * (`reason_changed`, or `unchanged`), so a job may repeat itself. Throws for a resource that is not provisioned.
   */
  suspend(uuid: string, reason: string): Promise<"asked" | "reason_changed" | "unchanged">;
  /** Requests the end of a suspension, also of one that was only requested. Throws as `suspend` does. */
  resume(uuid: string): Promise<"asked" | "not_suspended">;
  /**
   * Adds to a counter of `Extensions.metrics`. Use few different label values, never a uuid or a name. Never throws:
   * a call with an undeclared metric or an invalid number is logged and not counted.
   */
  count<Name extends CounterOf<Counted>>(metric: Name, ...counted: CountedBy<LabelOf<Counted[Name]>>): void;
  /** Adds a value, such as seconds or bytes, to a histogram of `Extensions.metrics`. Never throws, as `count`. */
  observe<Name extends HistogramOf<Counted>>(
    metric: Name,
    value: number,
    ...labels: LabelsOf<LabelOf<Counted[Name]>>
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

type LabelsOf<Label extends string> = [Label] extends [never]
  ? [labels?: Readonly<Record<string, never>>]
  : string extends Label
    ? [labels?: Readonly<Record<string, string>>]
    : [labels: Readonly<Record<Label, string>>];

type CounterOf<Metrics extends YourMetrics> = {
  [Name in keyof Metrics & string]: Metrics[Name] extends { type: "histogram" | "gauge" } ? never : Name;
}[keyof Metrics & string];

type HistogramOf<Metrics extends YourMetrics> = {
  [Name in keyof Metrics & string]: [Extract<Metrics[Name], { type: "histogram" }>] extends [never]
    ? never
    : Name;
}[keyof Metrics & string];

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
  /** `deprovisioning`: it has ended, and your `deprovision` is not done yet. */
  state: Extract<ResourceState, "provisioning" | "provisioned"> | "deprovisioning";
  /** Since when it is suspended, and why; `null` if it is not. */
  suspended: Suspended | null;
  /** When the platform requested the resource, by the database's clock. */
  createdAt: Date;
  /** When it ended; `null` unless it is `deprovisioning`. */
  endedAt: Date | null;
  /** The app of the add-on, as last read from the platform; `null` before the first time. */
  app: { id: string; name: string } | null;
  /**
   * The names that the config vars of your offer have in that app, as last read from the platform: `EVENTS_URL` for
   * PIGEON_URL where the add-on is attached as EVENTS. Those of the offer before the first time, and once it has ended.
   */
  configVarNames: Readonly<Record<ConfigVarOf<Sold>, string>>;
}

/** Which resources to list; all that is given must hold. */
export interface ResourceFilter<Sold extends Offer = Offer> {
  plan?: PlanOf<Sold> | undefined;
  region?: RegionOf<Sold> | undefined;
  /** Without it, what is `deprovisioning` is left out. */
  state?: KitResource["state"] | undefined;
  /** Only those that are suspended, or only those that are not. */
  suspended?: boolean | undefined;
  /** Only those that were created before this time. */
  createdBefore?: Date | undefined;
  /** Only those that were created at this time or later. */
  createdAfter?: Date | undefined;
}
