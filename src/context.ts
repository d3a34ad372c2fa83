import type { Database } from "./database/database.ts";
import type { Log } from "./logging/log.ts";
import type { Scrubber } from "./logging/scrubber.ts";
import type { Pace } from "./pace.ts";
import type { Answers } from "./resources/answers.ts";
import type { Offer, YourService } from "./resources/contract.ts";
import type { PlatformFor } from "./resources/platform-for.ts";
import type { ProvisionStore } from "./resources/provision-store.ts";
import type { Vault } from "./vault/vault.ts";
import type { StepQueue } from "./work/queue.ts";
import type { Settlements } from "./work/settle.ts";
import type { Work } from "./work/step.ts";

/** What is made once and used by everything that happens to a resource: the first argument of each such function. */
export interface Context {
  readonly db: Database;
  readonly vault: Vault;
  readonly offer: Offer;
  readonly vendor: YourService;
  readonly platformFor: PlatformFor;
  readonly scrubber: Scrubber;
  readonly log: Log;
  readonly pace: Pace;
  readonly provisions: ProvisionStore;
  readonly answers: Answers;
  readonly steps: StepQueue;
  readonly settlements: Settlements;
  readonly work: Work;
}
