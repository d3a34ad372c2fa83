import { invalid } from "../refusal.ts";
import type { Manifest } from "./manifest.ts";

/** One add-on of a manifest. */
export interface WantedAddon {
  service: string;
  /** As the manifest names it; null: the service's default. */
  plan: string | null;
  /** The attachment's name, which is free in a new app. */
  as: string;
  options: Record<string, unknown>;
}

/** The add-ons of a manifest in all three forms, each with a name of its own. */
export function wantedAddons({ addons = [] }: Manifest): WantedAddon[] {
  const entries = addons.map((addon) => (typeof addon === "string" ? { plan: addon } : addon));
  const taken = new Set<string>();
  entries.forEach(({ as }, index) => {
    if (as === undefined) return;
    if (taken.has(as))
      throw invalid(`The app manifest cannot be used. /addons/${index}/as is there twice: ${as}.`);
    taken.add(as);
  });
  return entries.map(({ plan: addonAndPlan, as, options }) => {
    const [service, plan] = addonAndPlan.split(":") as [string, string | undefined];
    return { service, plan: plan ?? null, as: as ?? freeName(service, taken), options: options ?? {} };
  });
}

function freeName(service: string, taken: Set<string>): string {
  const base = service
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, "_")
    .replace(/^[^A-Z]/, "ADDON_$&");
  let name = base;
  for (let number = 2; taken.has(name); number++) name = `${base}_${number}`;
  taken.add(name);
  return name;
}
