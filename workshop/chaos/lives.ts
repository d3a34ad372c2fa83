import type { AddonState } from "../../packages/sandbox/index.ts";
import type { Asked } from "./answers.ts";
import type { Freeze } from "./fleet.ts";

/** What the service stores of a resource, as far as its customer notices. */
export interface Life {
  uuid: string;
  resource: string;
  plan: string;
}

/**
 * Resources that differ from what their customers were told: not provisioned on both sides, or not on the chosen plan.
 */
export function wrongLives(
  lives: readonly Life[],
  addons: readonly Pick<AddonState, "id" | "state">[],
  asked: readonly Asked[],
  freezes: readonly Freeze[],
): string[] {
  const states = new Map(addons.map(({ id, state }) => [id, state]));
  const plans = plansOf(asked, freezes);
  return lives.flatMap(({ uuid, resource, plan }) => {
    const wanted = [...(plans.get(uuid) ?? [])];
    const isThere = resource === "provisioned" && states.get(uuid) === "provisioned";
    return [
      ...(isThere ? [] : [`${uuid}: ${resource} here, ${states.get(uuid)} at the platform`]),
      ...(wanted.includes(plan) ? [] : [`${uuid}: its plan is ${plan}, and should be ${wanted.join(" or ")}`]),
    ];
  });
} // prettier-ignore

/**
 * The possible plans of each resource: the plan of its provision, or of the last change that was answered with success.
 * A later change without such an answer may have taken effect too. If a process was frozen during it, it may take
 * effect at any later time, even after the next success.
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
