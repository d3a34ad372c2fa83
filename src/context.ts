import type { Config } from "./config.ts";
import type { Credentials } from "./credentials/credentials.ts";
import type { Database } from "./database/database.ts";
import type { Extensions, Kit } from "./extend/contract.ts";
import type { Jobs, Wake } from "./jobs/run.ts";
import type { Log } from "./logging/log.ts";
import type { Metrics } from "./metrics/metrics.ts";
import type { Pace } from "./pace.ts";
import type { BrandOfPages } from "./people/brand.ts";
import type { CustomerPage } from "./people/contract.ts";
import type { Entries } from "./people/entries.ts";
import type { PlatformFor } from "./platform/api.ts";
import type { PlatformCalls } from "./platform/call.ts";
import type { TokenEndpoint } from "./platform/oauth.ts";
import type { CurrentStatus } from "./platform/status.ts";
import type { Clocks } from "./processes/clocks.ts";
import type { Presence } from "./processes/presence.ts";
import type { Offer, YourService } from "./resources/contract.ts";
import type { LostSales } from "./resources/lost-sales.ts";
import type { ResourceWork } from "./resources/step-kinds.ts";
import type { Scrubber } from "./secret.ts";
import type { Trace } from "./trace/trace.ts";
import type { Vault } from "./vault/vault.ts";
import type { WorkerPool } from "./work/worker-pool.ts";

/** What a process makes once: the first argument of the functions that do its work. */
export interface Context {
  readonly config: Config;
  readonly pace: Pace;
  /** What the service sells, and your functions that make it. */
  readonly offer: Offer;
  readonly vendor: VendorService;
  readonly customerPage: CustomerPage;
  readonly brand: BrandOfPages;

  readonly log: Log;
  readonly trace: Trace;
  readonly scrubber: Scrubber;
  readonly metrics: Metrics;
  readonly db: Database;
  readonly vault: Vault;
  /** How far other clocks are ahead of this process's clock, and the row by which other processes see this one. */
  readonly clocks: Clocks;
  readonly presence: Presence;

  readonly platformCalls: PlatformCalls;
  readonly platformFor: PlatformFor;
  /** The platform's current status, or the reason why its feed cannot be read. */
  readonly status: () => Promise<CurrentStatus | string>;

  /** The record of sign-ins, sign-outs and refusals. */
  readonly entries: Entries;
  /** The provisions that this process answered with an error. */
  readonly lostSales: LostSales;
  readonly credentials: Credentials;
  /** The pools of calls to the token endpoint: due grants are exchanged, due token pairs refreshed. */
  readonly exchanges: WorkerPool;
  readonly refreshes: WorkerPool;
  /** Runs the steps of resources: `start` for a request, `runDue` for a job (work/runner.ts). */
  readonly work: ResourceWork;

  readonly jobs: Jobs;
  /** The names of the vendor's own jobs. */
  readonly yourJobs: readonly string[];
  /** An error was not caught. Steps that the stop of the process aborts count as failed, because one may be the cause. */
  hasCrashed: boolean;
  /** Makes a job run soon, by its name in jobs/timetable.ts: `ctx.wake.runVendorSteps()` for `run-vendor-steps`. */
  readonly wake: Wake;
}

export interface OpenContext extends Context {
  /** The metrics of all processes together: `store` adds what this process has counted since the last call. */
  readonly totals: { start(): void; store(): Promise<void>; stop(): Promise<void> };
  /** Begins to watch the database. A service calls it, a command does not. */
  watch(): void;
  /**
   * Closes what was opened, in reverse order: no more work is claimed, and the results of calls that were sent are
   * stored. Throws the first failure (such as that of the vendor's `close`) after everything is closed; further ones are
   * logged.
   */
  close(): Promise<void>;
}

type VendorService = YourService & Extensions;

/** Replacements for parts, or wrappers around them: for tests, and for another vendor's service. */
export interface Parts {
  offer: Offer;
  vendor: VendorService | ((kit: Kit) => VendorService);
  customerPage: CustomerPage;
  /** Where log lines go; standard output unless given. */
  logTo: { write(line: string): void };
  wrapDatabase(database: Database): Database;
  /** As of the database's settings. */
  isPatient: boolean;
  pace: Partial<Pace>;
  wrapTokenEndpoint(endpoint: TokenEndpoint): TokenEndpoint;
}
