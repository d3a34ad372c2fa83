import { invalid } from "../refusal.ts";
import type { SandboxSettings } from "../settings.ts";

interface PlanNeeds {
  /** Accepts a plan that the manifest does not have. */
  force?: boolean | undefined;
  /** Of the app. For an ephemeral app the requested plan is ignored, and the manifest's plan for such apps is used. */
  environment?: string | null | undefined;
}

/**
 * The plan to install: the requested one, as bare name or as `service:plan`, or the manifest's default. Unknown plans
 * need `force`.
 */
export function choosePlan(
  { addonManifest, addonId }: SandboxSettings,
  wish?: string,
  { force = false, environment = null }: PlanNeeds = {},
): string {
  const plan = wish?.startsWith(`${addonId}:`) ? wish.slice(addonId.length + 1) : wish;
  if (plan !== wish && plan?.trim() === "") throw invalid(`${wish} names no plan.`);
  const isEphemeral = environment !== null && !force;
  if (!addonManifest) return (isEphemeral ? undefined : plan) || "basic";
  const plans = addonManifest.plans.map(({ name }) => name);
  const standard = addonManifest.default_plan ?? plans[0];
  const chosen = isEphemeral ? (addonManifest.ephemeral_plan ?? standard) : plan || standard;
  if (chosen === undefined) throw invalid("The add-on's manifest has no plan.");
  if (!force && !plans.includes(chosen)) {
    throw invalid(
      `The add-on has no plan ${chosen}; its plans are ${plans.join(", ")}. The control API sends it all the same with force.`,
    );
  }
  return chosen;
}
