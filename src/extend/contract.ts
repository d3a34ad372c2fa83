import type { Router } from "express";
import type { Logger } from "pino";
import type { ResourceApi } from "../platform/api.ts";
import type { ResourceState } from "../resources/states.ts";

/**
 * What `createYourService` may return beside the functions of `YourService`: a product with a life of its own. Each part
 * is described in docs/extend-it.md.
 */
export interface Extensions {
  /**
   * Mounts routes of your own, at paths that the kit does not use. They stand behind the kit's limits on requests and
   * in its log; what a route throws is answered as JSON: a `Refusal` with its status, anything else with 500. Who may
   * call them is yours to check. Bodies are not read yet: use `express.json()`, or `express.raw()` for a signature.
   */
  routes?(router: Router): void;
  /** Work at set times, done by one process at a time. */
  jobs?: readonly YourJob[];
  /** Counters of your own, by name; {@link Kit.count} adds to them, and `/metrics` shows the sum of all processes. */
  metrics?: Readonly<Record<string, { help: string; labels?: readonly string[] }>>;
  /**
   * Lines of `kit doctor`, by name, each shown as `your-NAME`: null if all is well, else a sentence on what is wrong and
   * what to do. What a check throws is its sentence.
   */
  checks?: Readonly<Record<string, () => Promise<string | null>>>;
}

/** Work that is done again and again, by whichever process comes first. */
export interface YourJob {
  /** Small letters, digits and hyphens. The database remembers by it when the job is due. */
  name: string;
  /** When, as a cron expression in UTC: `0 3 * * *` is each day at three. A time that nobody was up for is made up for. */
  at: string;
  /**
   * Does the work. It must bear to be done twice: a process that dies leaves it to another. An error is logged, and the
   * job is tried again after 1, 2, 4 … minutes, 64 at most. `signal` is aborted when the process stops, and after
   * `mostMinutes`.
   */
  run(signal: AbortSignal): Promise<unknown>;
  /** A run that takes longer is given up, with an alarm; 60 unless given. */
  mostMinutes?: number;
}

/** What the kit offers to your service, beside what each of its functions is given. Use it once they are called. */
export interface Kit {
  /** The log of the service. Known secrets are redacted; do not log those of your customers. */
  readonly log: Pick<Logger, "debug" | "info" | "warn" | "error">;
  /** The service's PostgreSQL, through its connections. Name your tables with their schema: `yours.meters`. */
  readonly database: KitDatabase & {
    /** Commits when `work` resolves, rolls back when it throws. Wait for nothing in it but the database. */
    transaction<T>(work: (tx: KitDatabase) => Promise<T>): Promise<T>;
  };
  readonly resources: {
    /** A resource that is provisioned or being made; null for any other uuid. */
    find(uuid: string): Promise<KitResource | null>;
    /** All of them, in the order of their uuids, read page by page. */
    list(): AsyncIterable<KitResource>;
  };
  readonly config: {
    /**
     * Changes config vars of a provisioned resource at any time; null removes one, others stay. When it resolves the
     * change is stored; it reaches the app as soon as the platform can be reached. Throws for a var that the offer does
     * not declare, for a text that no environment can hold, and for a resource that is not provisioned.
     */
    set(uuid: string, vars: Readonly<Record<string, string | null>>): Promise<void>;
  };
  /** Adds to a counter of {@link Extensions.metrics}. Label values must be few words of yours, never a uuid or a name. */
  count(metric: string, labels?: Readonly<Record<string, string>>, by?: number): void;
  /** The platform, on behalf of one resource. Its calls fail while the resource has no working token. */
  platformFor(uuid: string): ResourceApi;
}

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
