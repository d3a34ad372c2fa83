import { createHash } from "node:crypto";
import type { CustomerPage } from "../../../src/people/contract.ts";
import type { Done, VendorResource, YourService } from "../../../src/resources/contract.ts";
import { customerPage } from "./customer-page.tsx";

/**
 * The vendor that the kit is tested with; it stays the same when a fork changes `src/your-service`. In the tests'
 * processes it replaces that folder (compile-programs.js), so its files have the same names.
 */
export const teapots: YourService & { customerPage: CustomerPage } = {
  customerPage,
  provision: async (resource) => teapot(resource, "Your teapot is ready: its address is in TEAPOT_URL."),
  changePlan: async (resource) => teapot(resource, `Your teapot is now ${resource.plan}.`),
  async finish(resource, platform) {
    const { app } = await platform.addons.own();
    return teapot(resource, `The teapot of ${app.name} has cooled.`);
  },
  deprovision: async () => undefined,
};

export const createYourService = () => teapots;

function teapot({ uuid, plan }: VendorResource, message: string): Done {
  const token = createHash("sha256").update(`teapot of ${uuid}`).digest("hex").slice(0, 40);
  return { config: { TEAPOT_URL: `https://${plan}.teapots.example/${uuid}`, TEAPOT_TOKEN: token }, message };
}
