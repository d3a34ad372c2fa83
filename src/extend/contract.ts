import type { Router } from "express";
import type { Logger } from "pino";
import type { Closable, Generated } from "../database/prisma.ts";
import type { YourMetric } from "../metrics/metrics.ts";
import type { CustomerAction } from "../people/contract.ts";
import type { ResourceApi } from "../platform/api.ts";
import type { Json } from "../values.ts";
import type { NotYet, Offer, Rotated, VendorResource } from "../resources/contract.ts";
import type { ResourceState } from "../resources/states.ts";

export type { Rotated } from "../resources/contract.ts";

/** What `createYourService` may return beside the functions of `YourService`: see docs/extend-it.md. */
export interface Extensions<Sold extends Offer = Offer> {
  /**
   * Mounts routes of your own, behind the kit's limits on requests and in its log. What a route throws is answered as
   * JSON: a `Refusal` with its status, anything else with 500. Who may call them is yours to check; set
   * `response.locals["isAuthenticated"]` for a caller that you know, of whom the log is to take each request. Bodies are
   * not read yet: use `express.json()`, or `express.raw()` for a signature.
   */
  routes?(router: Router): void;
  jobs?: readonly YourJob[];
  /** Counters of your own, by name; {@link Kit.count} adds to them, and `/metrics` shows the sum of all processes. */
  metrics?: YourMetrics;
  /** Lines of `kit doctor`, `your-NAME`: null if all is well, else, or thrown, what is wrong and what to do. */
  checks?: Readonly<Record<string, () => Promise<string | null>>>;
  /** What your customers may do on their page, by name. `page.form(name, …)` of the page shows the form of one. */
  actions?: Readonly<Record<string, CustomerAction>>;
  /** What an operator may do to one resource, by name: a button on its page, and `kit action NAME UUID`. */
  operatorActions?: Readonly<Record<string, OperatorAction>>;
  /**
   * All that your backend has, each by the uuid of its resource, in any order; what else you add is shown to the operator.
   * `kit reconcile` compares it with what we have and with what the platform has: what only your backend has is an
   * orphan, for which your `deprovision` can be called. Read your backend page by page. Throw if you cannot read all of
   * it: a list that ends early would look as if the rest were missing. `signal` is aborted when nobody reads on.
   */
  list?(signal: AbortSignal): AsyncIterable<string | BackendResource>;
  /**
   * What your tables and your backend keep of one resource, for `kit resources export`: the answer to a customer's request
   * for their data. No secrets. Any state, also after its deprovision; null if there is nothing. It has 30 seconds.
   */
  exportData?(uuid: string, signal: AbortSignal): Promise<Json>;
  /** How a customer's credentials are replaced by new ones. Without it, nobody can ask for that. */
  rotation?: Rotation<Sold>;
}

/** Something that your backend has: the uuid of its resource, and what an operator should read of it; no secrets. */
export interface BackendResource {
  readonly uuid: string;
  readonly [about: string]: Json;
}

/**
 * New credentials beside the old ones, which end when the app has had the new ones for a while. Both functions are
 * called like those of `YourService`: again after an error or `later`, as long as `limits` of the offer say, and with
 * the same `resource.idempotencyKey`, which names the rotation in both of them.
 */
export interface Rotation<Sold extends Offer = Offer> {
  /**
   * Makes new credentials beside the old ones; a plan change waits for it. A thrown `Refusal`: these cannot be rotated;
   * nothing changes.
   */
  rotate(resource: VendorResource): Promise<Rotated<Sold> | NotYet>;
  /**
   * Ends the old credentials, which `retires` names, when the overlap is over, or sooner, if an operator asks for the
   * next rotation. An error must not quote them: the kit can no longer redact them. Not called after a deprovision:
   * then `deprovision` takes everything down. A plan change may run beside it.
   */
  retire(resource: VendorResource, retires: Json): Promise<void | NotYet>;
  /** How long the old credentials go on working once the platform has the new ones; 120 unless given. */
  overlapMinutes?: number;
  /** Rotates each resource when its credentials are this old; unless given, only on request. */
  everyDays?: number;
}

/** Each run is in the audit trail. */
export interface OperatorAction {
  /** The text of its button, such as "Move the queue". */
  label: string;
  /** What it does, in whole sentences: shown before the button is pressed. */
  effect: string;
  /**
   * Does it, and says in a sentence without secrets what came of it. Of what it throws, the message of a `Refusal` is
   * shown, anything else logged. `signal` is aborted after ten minutes, and when the process stops.
   */
  run(resource: KitResource, signal: AbortSignal): Promise<string>;
}

/** Run by one process at a time. */
export interface YourJob {
  /** Small letters, digits and hyphens. The database remembers by it when the job is due. */
  name: string;
  /** When, as a cron expression in UTC: `0 3 * * *` is each day at three. Missed runs are made up for by one. */
  at: string;
  /**
   * Must be idempotent: if its process dies, another runs it again. After an error the job is tried again after
   * 1, 2, 4 … minutes, 64 at most. `signal` is aborted when the process stops, and after `mostMinutes`.
   */
  run(signal: AbortSignal): Promise<unknown>;
  /** A longer run is aborted, with an alarm; 60 unless given. */
  mostMinutes?: number;
}

export type YourMetrics = Readonly<Record<string, YourMetric>>;

/**
 * What the kit offers to your service, beside what each of its functions is given. Use it once they are called. As
 * `Kit<typeof metrics>`, with metrics that are `as const`, it counts those alone, with their labels.
 */
export interface Kit<Counted extends YourMetrics = YourMetrics> {
  /** The log of the service. Known secrets are redacted; do not log those of your customers. */
  readonly log: Pick<Logger, "debug" | "info" | "warn" | "error">;
  /** The service's PostgreSQL, through its connections. Name your tables with their schema: `yours.meters`. */
  readonly database: KitDatabase & {
    /** Commits when `work` resolves, rolls back when it throws. Wait for nothing in it but the database. */
    transaction<T>(work: (tx: KitDatabase) => Promise<T>): Promise<T>;
    /**
     * The typed client of the models in your `schema.prisma`, whose tables stand in `yours`:
     * `kit.database.prisma(() => import("./client/client.ts"))`. The kit makes one for each process, on the service's
     * connections. It is for rows found by a key or an index: a statement has three seconds.
     */
    prisma<Client extends Closable>(load: () => Promise<Generated<Client>>): Promise<Client>;
  };
  readonly resources: {
    /** A resource that is provisioned or being made; null for any other uuid. */
    find(uuid: string): Promise<KitResource | null>;
    /** All of them, in the order of their uuids, read page by page. */
    list(): AsyncIterable<KitResource>;
  };
  readonly config: {
    /**
     * Changes config vars of a provisioned resource; null removes one, others stay. When it resolves the change is
     * stored; it reaches the app as soon as the platform can be reached. Throws for a var or a text that the offer does
     * not allow, and for a resource that is not provisioned.
     */
    set(uuid: string, vars: Readonly<Record<string, string | null>>): Promise<void>;
  };
  /**
   * Asks for new credentials of a provisioned resource ({@link Extensions.rotation}). `under_way`, `overlap`: nothing
   * is asked for, as those of an earlier call have not reached the app, or what they replaced is not retired yet.
   * Throws for a resource that is not provisioned, or has no working tokens and gets none.
   */
  rotate(uuid: string): Promise<"asked" | "under_way" | "overlap">;
  /**
   * Adds to a counter of {@link Extensions.metrics}. Label values are few words, never a uuid or a name. Never throws:
   * what is not declared, or is no number to add, is logged and not counted.
   */
  count<Name extends keyof Counted & string>(
    metric: Name,
    labels?: Readonly<Record<LabelOf<Counted[Name]>, string>>,
    by?: number,
  ): void;
  /** The platform, on behalf of one resource. Its calls fail while the resource has no working token. */
  platformFor(uuid: string): ResourceApi;
}

type LabelOf<Metric extends YourMetric> = Metric extends { labels: readonly (infer Label extends string)[] }
  ? Label
  : Metric extends { labels?: undefined }
    ? never
    : string;

export interface KitDatabase {
  /** Runs one statement with `$1`, `$2` … for its values, and gives its rows. */
  query<Row>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
}

/** One add-on resource, as routes and jobs of yours see it. */
export interface KitResource {
  uuid: string;
  name: string | null;
  /** As your service has made it: while a change is under way, the plan before. */
  plan: string;
  region: string | null;
  state: Extract<ResourceState, "provisioning" | "provisioned">;
  /** The app it was installed on, as last seen; null while it is not known. */
  app: { id: string; name: string } | null;
}
