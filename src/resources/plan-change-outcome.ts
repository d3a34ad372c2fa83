import { retryWhileDatabaseAway, type Queryable } from "../database/database.ts";
import { Refusal } from "../errors.ts";
import type { Log } from "../logging/log.ts";
import type { Pace } from "../pace.ts";
import type { Vault } from "../vault/vault.ts";
import type { Offer, YourService } from "./contract.ts";
import type { WithinDeadline } from "./request-deadline.ts";
import { resultOrSlow } from "./vendor-time.ts";
import { answerBody, type Answer } from "./provision-answers.ts";
import { deprovisioned } from "./refusals.ts";
import { findResource, vendorResource } from "./rows.ts";
import { attempt, type Attempt } from "./steps/attempt.ts";
import type { Step } from "./steps/queue.ts";
import type { StepRunner } from "./steps/runner.ts";
import type { Settlements } from "./steps/settle.ts";
import type { VendorSteps } from "./steps/vendor-steps.ts";

/**
 * How long storing the acceptance of a plan change is tried after an answer of 202: as long as a step may last. It must
 * be stored before another process takes the step over, or the vendor's later refusal would raise no alarm.
 */
const ACCEPTED_WITHIN_MS = 10 * 60_000;

/**
 * Calls the vendor for a plan change that has begun, and answers with its result. The step is stored and will be
 * finished whatever happens: if its outcome cannot be stored in time the answer is 202, since the platform would take
 * any other for "not changed". Throws the vendor's `Refusal`, even if that cannot be stored, or the refusal of a
 * deprovisioned resource (410).
 */
export type PlanChangeOutcome = (step: Step, plan: string, withinDeadline: WithinDeadline) => Promise<Answer>;

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
  pace: Pace;
}): PlanChangeOutcome {
  const { db, vault, vendor, runner, settlements, vendorSteps, onSettled, log, pace } = needs;

  /**
   * The answer when the step is not ours any more: an earlier try of ours settled it and its acknowledgement was lost,
   * or another process took it over and will settle it. Throws a `Refusal` only if the resource is gone.
   */
  async function overtaken(
    uuid: string,
    plan: string,
    ours: Answer,
    withinDeadline: WithinDeadline,
  ): Promise<Answer> {
    const resource = await withinDeadline(() => findResource(db, uuid));
    if (!resource || resource.state === "deprovisioned") throw deprovisioned();
    return resource.plan === plan ? ours : takesLonger(plan);
  }

  /** Stores the result and returns the answer. `end`: the final result; still pending where `result` is `slow`. */
  async function store(
    step: Step,
    plan: string,
    {
      result,
      end,
      withinDeadline,
    }: { result: Attempt | { is: "slow" }; end: Promise<Attempt>; withinDeadline: WithinDeadline },
  ): Promise<Answer> {
    const { uuid, appliedPlan } = step.resource;
    switch (result.is) {
      case "done": {
        const isOurs = await withinDeadline(() => settlements.done(step, result.config, plan));
        onSettled();
        const ours = { status: 200, body: answerBody({ config: result.config, message: result.message }) };
        return isOurs ? ours : overtaken(uuid, plan, ours, withinDeadline);
      }
      case "later": {
        const isOurs = await withinDeadline(() => settlements.later(step, plan));
        onSettled();
        const ours = { status: 202, body: answerBody({ message: result.message }) };
        return isOurs ? ours : overtaken(uuid, plan, ours, withinDeadline);
      }
      case "refused":
        await withinDeadline(() => settlements.keepPlan(step, plan, appliedPlan));
        throw result.refusal;
      case "failed":
      case "slow": {
        if (!(await withinDeadline(() => settlements.acceptPlan(step, plan))))
          return overtaken(uuid, plan, takesLonger(plan), withinDeadline);
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
   * Goes on storing after the 202, as long as the step is ours: the acceptance for up to 10 minutes, then the result
   * for up to 8 s. If that fails, the step runs again. The acceptance is stored first: only then does a later refusal
   * raise an alarm.
   */
  function storeLater(step: Step, plan: string, end: Promise<Attempt>): void {
    const accepted = acceptedStep(step, plan);
    const work = runner.holding(accepted, async () => {
      await retryWhileDatabaseAway(() => settlements.acceptPlan(step, plan), { upToMs: ACCEPTED_WITHIN_MS });
      const late = await end;
      if (late.is === "failed") throw late.error;
      await retryWhileDatabaseAway(() => vendorSteps.settle(accepted, late));
    });
    runner.inBackground(accepted, work);
  }

  /**
   * Goes on storing a refusal that was answered; it is final. If the step runs again, its key is the same, so the
   * vendor refuses again.
   */
  function keepLater(step: Step, refused: Attempt): void {
    const work = runner.holding(step, () => retryWhileDatabaseAway(() => vendorSteps.settle(step, refused)));
    runner.inBackground(step, work);
  }

  return async (step, plan, withinDeadline) => {
    const { resource, requestId } = step;
    const changed = { ...resource, appliedPlan: plan };
    const call = runner.holding(step, (wanted) =>
      attempt(needs, resource, () =>
        vendor.changePlan(vendorResource(vault, changed, step.key, wanted), resource.appliedPlan),
      ),
    );
    const result = await resultOrSlow(call, pace.vendorMs);
    const end = result.is === "slow" ? call : Promise.resolve(result);
    try {
      return await store(step, plan, { result, end, withinDeadline });
    } catch (error) {
      if (error instanceof Refusal) throw error;
      log.warn(
        { uuid: resource.uuid, requestId, plan, error },
        "The outcome of a plan change could not be stored in time; it will be stored later",
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

/**
 * The step with `plan` as its resource's plan, as it is once accepted: only then does a later refusal raise an alarm.
 */
function acceptedStep(step: Step, plan: string): Step {
  return { ...step, resource: { ...step.resource, plan } };
}

function takesLonger(plan: string): Answer {
  return { status: 202, body: answerBody({ message: `The change to ${plan} takes a little longer.` }) };
}
