import { createHash } from "node:crypto";
import type { CustomerPage } from "../customer/contract.ts";
import type { Done, VendorResource, YourService } from "../resources/contract.ts";
import { customerPage } from "./customer-page.tsx";
import { messages } from "./plans.ts";
import type { YourSettings } from "./settings.ts";

/**
 * The sample: a company that sells teapots. Replace the bodies with calls to your own service; keep them safe to call
 * twice (use `resource.idempotencyKey` or `resource.uuid` as the name of what you make). Open nothing before it is
 * needed: commands beside the service make this too.
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
      // The platform can be reached here. Ask it only what you need: this names the teapot after the customer's app.
      const { app } = await platform.addons.own();
      return teapot(resource, `The teapot of ${app.name} has cooled. ${messages.ready}`);
    },

    async deprovision() {
      // Teapots are stateless. Yours will have something to take down here.
    },
  };
}

/**
 * The same resource and plan always get the same teapot, so that a second call changes nothing. A teapot is not worth
 * stealing: your service will make a token that cannot be guessed from the uuid, and keep it.
 */
function teapot({ uuid, plan }: VendorResource, message: string): Done {
  const token = createHash("sha256").update(`teapot of ${uuid}`).digest("hex").slice(0, 40);
  return { config: { TEAPOT_URL: `https://${plan}.teapots.example/${uuid}`, TEAPOT_TOKEN: token }, message };
}
