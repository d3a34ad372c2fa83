import type { PlanOf } from "../resources/contract.ts";
import type { OurKit } from "./metrics.ts";
import type { offer } from "./plans.ts";

const DAY_MS = 86_400_000;
const TRIAL = { plan: "loft", days: 14 } as const;
/** The reason of the suspension, by which a change to another plan ends it: an operator's own stays. */
const IS_OVER = "The 14 days of your trial are over. With the plan tower your queue goes on.";

/** When the trial of a queue ends; null: its plan is none to try. */
export const endOfTrial = (plan: PlanOf<typeof offer>, createdAt: Date) =>
  plan === TRIAL.plan ? new Date(createdAt.getTime() + TRIAL.days * DAY_MS) : null;

/** Suspends the queues whose trial is over. */
export async function endTrials(kit: OurKit): Promise<void> {
  const createdBefore = new Date(Date.now() - TRIAL.days * DAY_MS);
  const over = { plan: TRIAL.plan, state: "provisioned", suspended: false, createdBefore } as const;
  for await (const { uuid } of kit.resources.list(over)) await kit.suspend(uuid, IS_OVER);
}

/** Whether a queue is suspended for its trial, which its new plan ends. */
export const isOfTrial = (plan: PlanOf<typeof offer>, suspended: { reason: string } | null) =>
  plan !== TRIAL.plan && suspended?.reason === IS_OVER;
