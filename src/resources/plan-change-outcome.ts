import { waitingForDatabase, type Queryable } from "../database/database.ts";
import { Refusal } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Vault } from "../vault/vault.ts";
import type { Offer, YourService } from "./contract.ts";
import type { Patience } from "./patience.ts";
import { inTime } from "./provision.ts";
import { answerBody, type Answer } from "./provision-answers.ts";
import { deprovisioned } from "./refusals.ts";
import { findResource, vendorResource } from "./rows.ts";
import { attempt, type Attempt } from "./steps/attempt.ts";
import type { Step } from "./steps/queue.ts";
import type { StepRunner } from "./steps/runner.ts";
import type { Settlements } from "./steps/settle.ts";
import type { VendorSteps } from "./steps/vendor-steps.ts";

/**
 * After an answer of 202, as long as a step may last: that the platform was told yes must be known before somebody takes
 * the step over, or a refusal in the end would call nobody.
 */
const ACCEPTED_WITHIN_MS = 10 * 60_000;

/**
 * Calls the vendor for a plan change that is begun, and answers what came of it. The step is there and will be finished
 * whatever happens: where its outcome cannot be stored in time the answer is 202, for another would be taken for no
 * change. Throws the vendor's `Refusal`, also where that cannot be stored, or that of a resource that is gone.
 */
export type PlanChangeOutcome = (step: Step, plan: string, patience: Patience) => Promise<Answer>;

export function createPlanChangeOutcome(needs: {
  db: Queryable;
  vault: Vault;
  offer: Offer;
  vendor: YourService;
  runner: StepRunner;
  settlements: Settlements;
  vendorSteps: VendorSteps;
  onSettled(): void;
  log: Log;
}): PlanChangeOutcome {
  const { db, vault, offer, vendor, runner, settlements, vendorSteps, onSettled, log } = needs;

  /**
   * The step is not ours any more: an earlier try of ours settled it and its acknowledgement was lost, or somebody took
   * it over, and will. Only what is gone is answered so.
   */
  async function overtaken(uuid: string, plan: string, ours: Answer, patience: Patience): Promise<Answer> {
    const resource = await patience(() => findResource(db, uuid));
    if (!resource || resource.state === "deprovisioned") throw deprovisioned();
    return resource.plan === plan ? ours : takesLonger(plan);
  }

  /** `end`: the same as `result`, but that of what is slow is still to come. */
  async function store(
    step: Step,
    plan: string,
    {
      result,
      end,
      patience,
    }: { result: Attempt | { is: "slow" }; end: Promise<Attempt>; patience: Patience },
  ): Promise<Answer> {
    const { uuid, appliedPlan } = step.resource;
    switch (result.is) {
      case "done": {
        const isOurs = await patience(() => settlements.done(step, result.config, plan));
        onSettled();
        const ours = { status: 200, body: answerBody({ config: result.config, message: result.message }) };
        return isOurs ? ours : overtaken(uuid, plan, ours, patience);
      }
      case "later": {
        const isOurs = await patience(() => settlements.later(step, plan));
        onSettled();
        const ours = { status: 202, body: answerBody({ message: result.message }) };
        return isOurs ? ours : overtaken(uuid, plan, ours, patience);
      }
      case "refused":
        await patience(() => settlements.keepPlan(step, plan, appliedPlan));
        throw result.refusal;
      case "failed":
      case "slow": {
        if (!(await patience(() => settlements.acceptPlan(step, plan))))
          return overtaken(uuid, plan, takesLonger(plan), patience);
        const accepted = acceptedStep(step, plan);
        runner.inBackground(
          accepted,
          end.then((late) => vendorSteps.settle(accepted, late)),
        );
        return takesLonger(plan);
      }
    }
  }

  /**
   * Goes on storing after the answer, as long as the step is ours and a database may be away for a moment; after that the
   * step is made again. What was accepted is stored first: a refusal in the end calls a person only then.
   */
  function storeLater(step: Step, plan: string, end: Promise<Attempt>): void {
    const accepted = acceptedStep(step, plan);
    const work = runner.holding(accepted, async () => {
      await waitingForDatabase(() => settlements.acceptPlan(step, plan), { upToMs: ACCEPTED_WITHIN_MS });
      const late = await end;
      if (late.is === "failed") throw late.error;
      await waitingForDatabase(() => vendorSteps.settle(accepted, late));
    });
    runner.inBackground(accepted, work);
  }

  /** A refusal is final as it stands. If the step is made again, the same key makes the vendor say the same. */
  function keepLater(step: Step, refused: Attempt): void {
    const work = runner.holding(step, () => waitingForDatabase(() => vendorSteps.settle(step, refused)));
    runner.inBackground(step, work);
  }

  return async (step, plan, patience) => {
    const { resource, requestId } = step;
    const call = runner.holding(step, (signal) =>
      attempt(offer, () =>
        vendor.changePlan(
          { ...vendorResource(vault, resource, { ...step, signal }), plan },
          resource.appliedPlan,
        ),
      ),
    );
    const result = await inTime(call);
    const end = result.is === "slow" ? call : Promise.resolve(result);
    try {
      return await store(step, plan, { result, end, patience });
    } catch (error) {
      if (error instanceof Refusal) throw error;
      log.warn(
        { uuid: resource.uuid, requestId, plan, error },
        "What came of a plan change could not be stored in time; it will be",
      );
      if (result.is === "refused") {
        keepLater(step, result);
        throw result.refusal;
      }
      storeLater(step, plan, end);
      return takesLonger(plan);
    }
  };
}

/** A refusal in the end calls a person only if the resource has this plan, which it has from now on. */
function acceptedStep(step: Step, plan: string): Step {
  return { ...step, resource: { ...step.resource, plan } };
}

function takesLonger(plan: string): Answer {
  return { status: 202, body: answerBody({ message: `The change to ${plan} takes a little longer.` }) };
}
