import { Refusal } from "../errors.ts";
import type { ChangePlan } from "../resources/change-plan.ts";
import type { Deprovision } from "../resources/deprovision.ts";
import type { Provision } from "../resources/provision.ts";
import type { CallResult, Metrics } from "./metrics.ts";

interface Calls {
  provision: Provision;
  changePlan: ChangePlan;
  deprovision: Deprovision;
}

/** The platform's three calls, each counted by what it came to. */
export function countedCalls({ provision, changePlan, deprovision }: Calls, metrics: Metrics): Calls {
  return {
    provision: (...wish) => counted(provision(...wish), metrics.provision),
    changePlan: (...change) => counted(changePlan(...change), metrics.planChange),
    deprovision: (...wish) => counted(deprovision(...wish), metrics.deprovision),
  };
}

async function counted<Answer extends { status: number } | void>(
  call: Promise<Answer>,
  count: (result: CallResult) => void,
): Promise<Answer> {
  try {
    const answer = await call;
    count(resultOf(answer?.status ?? 204));
    return answer;
  } catch (error) {
    count(error instanceof Refusal ? "refused" : "failed");
    throw error;
  }
}

/** A repeated provision may be given a stored refusal. */
function resultOf(status: number): CallResult {
  if (status >= 300) return "refused";
  return status === 202 ? "later" : "done";
}
