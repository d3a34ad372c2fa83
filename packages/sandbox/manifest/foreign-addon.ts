import { randomBytes } from "node:crypto";
import type { ForeignAddonRecord } from "../world/records.ts";
import type { Environment } from "./manifest.ts";
import type { WantedAddon } from "./wanted-addons.ts";

/**
 * An add-on of another service than the partner's. The sandbox does not sell it: it records the request, and sets the
 * config var that such a service would set, with an address that does not exist.
 */
export function foreignAddon(
  { service, plan, as, options }: WantedAddon,
  environment: Environment | null,
): { addon: ForeignAddonRecord; config: Record<string, string> } {
  const name = `${as}_URL`;
  const password = randomBytes(16).toString("hex");
  return {
    // An ephemeral app gets the plan its provider chose for such apps, whatever plan was requested.
    addon: { service, plan: environment === null ? plan : null, as, options, configVars: [name] },
    config: {
      [name]: `${service.toLowerCase()}://user:${password}@${service.toLowerCase()}.invalid/${as.toLowerCase()}`,
    },
  };
}
