import type { Database } from "../database/database.ts";
import type { Log } from "../logging/log.ts";
import type { Scrubber } from "../logging/scrubber.ts";
import type { Pace } from "../pace.ts";
import type { Vault } from "../vault/vault.ts";
import { createChangePlan, type ChangePlan } from "./change-plan.ts";
import type { Offer, YourService } from "./contract.ts";
import { createDeprovision, type Deprovision } from "./deprovision.ts";
import { createProvisionFailure } from "./provision-failure.ts";
import { createPlanChangeOutcome } from "./plan-change-outcome.ts";
import type { PlatformFor } from "./platform-for.ts";
import { createProvision, type Provision } from "./provision.ts";
import { createProvisionAnswers } from "./provision-answers.ts";
import { createProvisionStore } from "./provision-store.ts";
import { createPlatformSteps } from "./steps/platform-steps.ts";
import { requireResults } from "./steps/require-results.ts";
import { createStepQueue, type StepQueue } from "./steps/queue.ts";
import { createStepRunner, type StepRunner } from "./steps/runner.ts";
import { createSettlements } from "./steps/settle.ts";
import { secretsOf } from "./secrets-of.ts";
import { createVendorSteps } from "./steps/vendor-steps.ts";
import { createResourceMutex } from "./resource-mutex.ts";

/** One add-on resource from provision to deprovision: the platform's three calls, and the steps that follow them. */
export interface Lifecycle {
  provision: Provision;
  changePlan: ChangePlan;
  deprovision: Deprovision;
  queue: StepQueue;
  runner: StepRunner;
  /** Fails put-off provisions whose grant was lost: that of `uuid`, or all that are found. */
  failStranded(uuid?: string): Promise<void>;
}

export function createLifecycle(needs: {
  db: Database;
  vault: Vault;
  offer: Offer;
  vendor: YourService;
  platformFor: PlatformFor;
  scrubber: Scrubber;
  /** Whether more grants are due than can be exchanged at once. */
  areGrantsQueued(): boolean;
  /** Called when a step may have fallen due. */
  onSettled(): void;
  log: Log;
  pace: Pace;
}): Lifecycle {
  const { db, vault, log, pace } = needs;
  const queue = createStepQueue(db);
  const settlements = createSettlements(db, vault);
  const answers = createProvisionAnswers(db, vault, log, pace);
  const failure = createProvisionFailure(db, vault);
  const vendor = requireResults(needs.vendor);
  const vendorSteps = createVendorSteps({ ...needs, vendor, answers, settlements, queue });
  const platformSteps = createPlatformSteps({ ...needs, ...failure, settlements, queue });
  const handlers = {
    provision: vendorSteps.provision,
    finish: vendorSteps.finish,
    change_plan: vendorSteps.changePlan,
    clean_up: vendorSteps.cleanUp,
    announce: platformSteps.announce,
    discover: platformSteps.discover,
    report_failure: platformSteps.reportFailure,
  };
  const runner = createStepRunner({
    ...{ queue, handlers, log, pace },
    areGrantsQueued: needs.areGrantsQueued,
    scrubber: needs.scrubber,
    secretsOf: ({ resource }) => secretsOf(vault, resource),
    onEnd: needs.onSettled,
  });
  const shared = { ...needs, vendor, runner, vendorSteps, runExclusive: createResourceMutex(pace) };
  return {
    provision: createProvision({ ...shared, store: createProvisionStore(db, vault, pace), answers, queue }),
    changePlan: createChangePlan({
      ...shared,
      outcomeOf: createPlanChangeOutcome({ ...shared, settlements }),
    }),
    deprovision: createDeprovision(shared),
    queue,
    runner,
    failStranded: failure.failStranded,
  };
}
