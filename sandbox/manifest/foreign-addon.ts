import { randomBytes } from "node:crypto";
import type { ForeignAddonRecord } from "../world/records.ts";
import type { Environment } from "./manifest.ts";
import type { WantedAddon } from "./wanted-addons.ts";

/**
 * An add-on of somebody else's service. The sandbox sells only the partner's: it notes what was wanted, and sets the
 * config var that such a service would bring, to an address where nobody answers.
 */
export function foreignAddon(
  { service, plan, as, options }: WantedAddon,
  environment: Environment | null,
): { addon: ForeignAddonRecord; config: Record<string, string> } {
  const name = `${as}_URL`;
  const password = randomBytes(16).toString("hex");
  return {
    // An ephemeral app gets whatever its provider has chosen for such apps, whatever was asked for.
    addon: { service, plan: environment === null ? plan : null, as, options, configVars: [name] },
    config: {
      [name]: `${service.toLowerCase()}://user:${password}@${service.toLowerCase()}.invalid/${as.toLowerCase()}`,
    },
  };
}
