import type { AddonState } from "../sandbox/index.ts";
import type { Asked } from "./answers.ts";
import type { Freeze } from "./fleet.ts";

/** What the service keeps of a resource, as far as its customer notices. */
export interface Life {
  uuid: string;
  resource: string;
  plan: string;
  appliedPlan: string;
}

/** Resources that are not what their customers were told: not provisioned on both sides, or not of the plan they chose. */
export function wrongLives(
  lives: readonly Life[],
  addons: readonly Pick<AddonState, "id" | "state">[],
  asked: readonly Asked[],
  freezes: readonly Freeze[],
): string[] {
  const states = new Map(addons.map(({ id, state }) => [id, state]));
  const plans = plansOf(asked, freezes);
  return lives.flatMap(({ uuid, resource, plan, appliedPlan }) => {
    const wanted = [...(plans.get(uuid) ?? [])];
    const isThere = resource === "provisioned" && states.get(uuid) === "provisioned";
    return [
      ...(isThere ? [] : [`${uuid}: ${resource} here, ${states.get(uuid)} at the platform`]),
      ...(wanted.includes(plan) ? [] : [`${uuid}: its plan is ${plan}, and should be ${wanted.join(" or ")}`]),
      ...(plan === appliedPlan ? [] : [`${uuid}: its plan is ${plan}, and ${appliedPlan} was made`]),
    ];
  });
} // prettier-ignore

/**
 * The plan of each resource: that of its provision, or of the last change that was answered with success. What was not
 * answered since may have taken effect all the same; and if a process stood still with it, whenever that went on.
 */
function plansOf(asked: readonly Asked[], freezes: readonly Freeze[]): Map<string, Set<string>> {
  const plans = new Map<string, Set<string>>();
  const belated = new Map<string, string[]>();
  for (const { uuid, method, plan, status, isSuccess, fromMs, toMs } of asked) {
    if (plan === null) continue;
    const known = plans.get(uuid);
    if (method === "POST") {
      if (!known) plans.set(uuid, new Set([plan]));
    } else if (isSuccess) plans.set(uuid, new Set([plan, ...(belated.get(uuid) ?? [])]));
    else if (status === null || status >= 500) {
      known?.add(plan);
      if (freezes.some((freeze) => freeze.fromMs <= toMs && freeze.toMs >= fromMs))
        belated.set(uuid, [...(belated.get(uuid) ?? []), plan]);
    }
  }
  return plans;
}
