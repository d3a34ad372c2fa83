import type { Queryable } from "../database/database.ts";
import type { Pace } from "../pace.ts";
import type { Vault } from "../vault/vault.ts";
import type { Offer, YourService } from "./contract.ts";
import type { Answer, ProvisionAnswers } from "./provision-answers.ts";
import { deprovisioned } from "./refusals.ts";
import type { WithinDeadline } from "./request-deadline.ts";
import { findResource, vendorResource } from "./rows.ts";
import { attempt } from "./steps/attempt.ts";
import type { Step } from "./steps/queue.ts";
import type { StepRunner } from "./steps/runner.ts";
import type { VendorSteps } from "./steps/vendor-steps.ts";
import { resultOrSlow } from "./vendor-time.ts";

/** Decides the answer to a provision that has none yet, or finds the one that another process decided. */
export interface FirstAnswer {
  /** Calls the vendor for a claimed step and decides the answer, within the platform's time limit. */
  decide(step: Step, withinDeadline: WithinDeadline): Promise<Answer>;
  /**
   * The answer that another process stored first. If there is none, the resource was deprovisioned: throws a `Refusal`.
   */
  decidedElsewhere(uuid: string, withinDeadline: WithinDeadline): Promise<Answer>;
}

export function createFirstAnswer(needs: {
  db: Queryable;
  vault: Vault;
  offer: Offer;
  vendor: YourService;
  answers: ProvisionAnswers;
  runner: StepRunner;
  vendorSteps: VendorSteps;
  /** Called when a step that is due at once, or soon, was left to the background. */
  onSettled(): void;
  pace: Pace;
}): FirstAnswer {
  const { db, vault, vendor, answers, runner, vendorSteps, onSettled, pace } = needs;

  async function decide(step: Step, withinDeadline: WithinDeadline): Promise<Answer> {
    const call = runner.holding(step, (wanted) =>
      attempt(needs, step.resource, () =>
        vendor.provision(vendorResource(vault, step.resource, step.key, wanted)),
      ),
    );
    const settle = () =>
      runner.inBackground(
        step,
        call.then((late) => vendorSteps.settle(step, late)),
      );
    const result = await resultOrSlow(call, pace.vendorMs);
    const answer = await withinDeadline(() => answers.decide(step, result));
    if (result.is === "slow") settle();
    else if (result.is === "refused" || result.is === "failed") onSettled();
    if (answer) return answer;
    const standing = await decidedElsewhere(step.resource.uuid, withinDeadline);
    // Another process answered "later" and left the step to this one: the platform must learn the result from the step.
    // Any other answer is our own, whose acknowledgement was lost; storing it settled the step.
    if (result.is !== "slow" && standing.status === 202) settle();
    return standing;
  }

  async function decidedElsewhere(uuid: string, withinDeadline: WithinDeadline): Promise<Answer> {
    const resource = await withinDeadline(() => findResource(db, uuid));
    const answer = resource && answers.given(resource);
    if (answer) return answer;
    throw deprovisioned();
  }

  return { decide, decidedElsewhere };
}
