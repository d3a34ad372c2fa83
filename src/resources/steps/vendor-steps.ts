import type { Queryable } from "../../database/database.ts";
import type { Log } from "../../logging/log.ts";
import type { Vault } from "../../vault/vault.ts";
import type { PlatformFor } from "../platform-for.ts";
import type { Offer, YourService } from "../contract.ts";
import type { ProvisionAnswers } from "../provision-answers.ts";
import { findResource, vendorResource } from "../rows.ts";
import { attempt, isNotYet, StillUnderWay, whenAgain, type Attempt } from "./attempt.ts";
import { isOfPlanChange } from "./of-plan-change.ts";
import type { Step, StepQueue } from "./queue.ts";
import type { Settlements } from "./settle.ts";
import type { Wanted } from "./wanted.ts";

export interface VendorSteps {
  provision(step: Step, wanted: Wanted): Promise<void>;
  changePlan(step: Step, wanted: Wanted): Promise<void>;
  finish(step: Step, wanted: Wanted): Promise<void>;
  cleanUp(step: Step, wanted: Wanted): Promise<void>;
  /**
   * Settles a step with the `result` of a call that began while the platform waited, after the request was answered.
   */
  settle(step: Step, result: Attempt): Promise<void>;
}

/**
 * The steps that call the vendor's functions when no request waits any more. Each throws in order to be tried again.
 */
export function createVendorSteps(needs: {
  db: Queryable;
  offer: Offer;
  vendor: YourService;
  vault: Vault;
  platformFor: PlatformFor;
  answers: ProvisionAnswers;
  settlements: Settlements;
  queue: StepQueue;
  log: Log;
}): VendorSteps {
  const { db, vendor, vault, platformFor, answers, settlements, queue, log } = needs;

  async function settle(step: Step, result: Attempt): Promise<void> {
    const { uuid, state, appliedPlan } = step.resource;
    const { requestId } = step;
    const isChange = step.kind === "change_plan";
    const plan = isChange ? (step.detail.plan ?? appliedPlan) : appliedPlan;
    if (result.is === "failed") throw result.error;
    if (result.is === "done") return void (await settlements.done(step, result.config, plan));
    if (result.is === "later") {
      if (step.kind === "finish") throw new StillUnderWay(result);
      return void (await settlements.later(step, plan));
    }
    const error = result.refusal;
    // A plan change may run while the provision before it is not yet announced: its refusal does not fail the
    // provision.
    const isOfChange = isChange || isOfPlanChange(step);
    if (state === "provisioning" && !isOfChange) {
      log.error(
        { alarm: "provision_failed", uuid, requestId, error },
        "The service refused what it had put off",
      );
      return void (await settlements.fail(step));
    }
    const kept = isChange ? appliedPlan : (step.detail.previousPlan ?? appliedPlan);
    const told = { uuid, requestId, plan, kept, error };
    // Stored first, so that it is logged once: what cannot be stored is tried again.
    await settlements.keepPlan(step, plan, kept);
    // The resource has another plan: the platform was not told yes because the process died first, or has asked for
    // another since.
    if (step.resource.plan !== plan) log.warn(told, "The service refused a plan that nobody waits for");
    else log.error({ alarm: "plan_change_refused", ...told }, "The service refused an accepted plan");
  }

  return {
    settle,

    async provision(step, wanted) {
      const result = await attempt(needs, step.resource, () =>
        vendor.provision(vendorResource(vault, step.resource, step.key, wanted)),
      );
      if (step.resource.answerStatus !== null) return settle(step, result);
      // Never answered: the process that held the request died. Decide as it would have; a repeated request gets the
      // answer.
      if (await answers.decide(step, result)) return;
      // A repeated request was answered "later" meanwhile: the platform must learn the result from the step. Any other
      // answer has ended the step.
      const standing = await findResource(db, step.resource.uuid);
      if (standing?.state === "provisioning" && standing.answerStatus === 202) await settle(step, result);
    },

    async changePlan(step, wanted) {
      const { appliedPlan } = step.resource;
      const { plan = appliedPlan } = step.detail;
      const resource = vendorResource(vault, { ...step.resource, appliedPlan: plan }, step.key, wanted);
      const call = () => vendor.changePlan(resource, appliedPlan);
      await settle(step, await attempt(needs, step.resource, call));
    },

    async finish(step, wanted) {
      const resource = vendorResource(vault, step.resource, step.key, wanted);
      const call = () => vendor.finish(resource, platformFor(resource.uuid));
      await settle(step, await attempt(needs, step.resource, call));
    },

    async cleanUp(step, wanted) {
      const outcome = await vendor.deprovision(vendorResource(vault, step.resource, step.key, wanted));
      if (isNotYet(outcome)) throw new StillUnderWay(whenAgain(outcome));
      await queue.finish(step);
    },
  };
}
