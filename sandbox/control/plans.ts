import { invalid } from "../refusal.ts";
import type { SandboxSettings } from "../settings.ts";

/** The plan to install: bare or as `service:plan`, or the manifest's default. Unknown ones only with `force`. */
export function choosePlan(
  { addonManifest, addonId }: SandboxSettings,
  wish?: string,
  force = false,
): string {
  const plan = wish?.startsWith(`${addonId}:`) ? wish.slice(addonId.length + 1) : wish;
  if (!addonManifest) return plan || "basic";
  const plans = addonManifest.plans.map(({ name }) => name);
  const chosen = plan || addonManifest.default_plan || plans[0];
  if (chosen === undefined) throw invalid("The add-on's manifest has no plan.");
  if (!force && !plans.includes(chosen)) {
    throw invalid(
      `The add-on has no plan ${chosen}; its plans are ${plans.join(", ")}. With force it is sent all the same.`,
    );
  }
  return chosen;
}
