import { type Config, readConfig, type SettingName } from "../../src/config.ts";
import type { Parts } from "../../src/context.ts";
import type { Environment } from "../../src/environment.ts";
import { offer as yourOffer } from "../../src/your-service/plans.ts";
import { teapots } from "./teapots/index.ts";
import { offer } from "./teapots/plans.ts";
import { yourSettings } from "./teapots/settings.ts";

/** What makes this process's service another vendor's: its parts, and the reading of its settings. */
interface Seller {
  parts: Partial<Parts> & Pick<Parts, "offer">;
  config(environment: Environment): Config;
}

/** The parts of a service that sells teapots, whatever `src/your-service` sells. */
export const teapotParts = { offer, vendor: teapots, customerPage: teapots.customerPage };

export function teapotConfig(environment: Environment, only?: readonly SettingName[]): Config {
  return readConfig(environment, only, yourSettings);
}

export const sellers: Record<"teapots" | "yours", Seller> = {
  teapots: { parts: teapotParts, config: teapotConfig },
  yours: { parts: { offer: yourOffer }, config: readConfig },
};
