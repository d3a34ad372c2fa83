import { createHash } from "node:crypto";
import type { CustomerPage } from "../customer/contract.ts";
import type { Done, VendorResource, YourService } from "../resources/contract.ts";
import { customerPage } from "./customer-page.tsx";
import { messages } from "./plans.ts";
import type { YourSettings } from "./settings.ts";

/**
 * The sample: a company that sells teapots. Replace the bodies with calls to your own service. They must be idempotent:
 * use `resource.idempotencyKey` or `resource.uuid` as the name of what you make. Open no connection before it is
 * needed: other commands of the kit call this function too.
 */
export function createYourService(_settings: YourSettings): YourService & { customerPage: CustomerPage } {
  return {
    customerPage,

    async provision(resource) {
      return teapot(resource, messages.ready);
    },

    async changePlan(resource) {
      return teapot(resource, messages.changed(resource.plan));
    },

    async finish(resource, platform) {
      // Here `platform` may be called. Ask it only for what you need: this names the teapot after the customer's app.
      const { app } = await platform.addons.own();
      return teapot(resource, `The teapot of ${app.name} has cooled. ${messages.ready}`);
    },

    async deprovision() {
      // Teapots are stateless. Yours will have something to take down here.
    },
  };
}

/**
 * The same resource and plan always get the same teapot, so a second call changes nothing. Nobody would steal a teapot,
 * so its token is derived from the uuid; yours must be random and stored.
 */
function teapot({ uuid, plan }: VendorResource, message: string): Done {
  const token = createHash("sha256").update(`teapot of ${uuid}`).digest("hex").slice(0, 40);
  return { config: { TEAPOT_URL: `https://${plan}.teapots.example/${uuid}`, TEAPOT_TOKEN: token }, message };
}
