import { createHash } from "node:crypto";
import type { Kit, Service } from "../extend/contract.ts";
import type { Done, VendorResource } from "../resources/contract.ts";
import { brand } from "./brand.ts";
import { customerPage } from "./customer-page.tsx";
import { addonId, messages, type offer } from "./plans.ts";
import type { YourSettings } from "./settings.ts";

/**
 * A sample that delivers an address and a token. Replace the bodies with calls to your own service. They must be
 * idempotent: use `resource.idempotencyKey` or `resource.uuid` as the name of what you make. Open no connection before it is
 * needed: other commands of the kit call this function too.
 */
export function createYourService(_settings: YourSettings, _kit: Kit<typeof offer>): Service<typeof offer> {
  return {
    brand,
    customerPage,

    async provision(resource) {
      return product(resource, messages.ready);
    },

    async changePlan(resource) {
      return product(resource, messages.changed(resource.plan));
    },

    async finish(resource, platform) {
      // Here `platform` may be called. Ask it only for what you need: this names the customer's app.
      const { app } = await platform.addons.own();
      return product(resource, `Made for ${app.name}. ${messages.ready}`);
    },

    async deprovision() {
      // The sample made nothing. Yours will have something to take down here.
    },
  };
}

/**
 * The same resource and plan always get the same answer, so a second call changes nothing. The token opens nothing, so it
 * is derived from the uuid; yours must be random and stored.
 */
function product({ uuid, plan }: VendorResource<typeof offer>, message: string): Done<typeof offer> {
  const token = createHash("sha256").update(`token of ${uuid}`).digest("hex").slice(0, 40);
  const config = { TEAPOT_URL: `https://${plan}.${addonId}.example/${uuid}`, TEAPOT_TOKEN: token };
  return { config, message };
}
