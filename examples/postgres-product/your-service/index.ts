import { Refusal } from "../errors.ts";
import type { Kit, Service } from "../extend/contract.ts";
import type { Done, VendorResource } from "../resources/contract.ts";
import { createCustomerPage } from "./customer-page.tsx";
import { later, type offer } from "./plans.ts";
import { createProduct } from "./product.ts";
import type { YourSettings } from "./settings.ts";

type Drawer = Pick<VendorResource<typeof offer>, "uuid" | "limits">;

/** Sells drawers: small databases in a PostgreSQL of ours. */
export function createYourService(
  settings: YourSettings,
  kit: Kit<typeof offer>,
): Service<typeof offer, { actions: "rotate" }> {
  const product = createProduct(settings);

  /** Makes the drawer or adapts it to the plan; a second call for the same resource changes nothing. */
  async function drawer({ uuid, limits }: Drawer, message: string): Promise<Done<typeof offer>> {
    await product.make(uuid, limits.connections);
    return { config: { DRAWER_URL: await product.urlOf(uuid) }, message };
  }

  return {
    customerPage: createCustomerPage(product),
    close: product.close,

    async provision(resource) {
      return drawer(resource, "Your drawer is open: its address is in your app's config vars.");
    },

    async changePlan(resource) {
      const { uuid, plan, limits } = resource;
      const [used, room] = [await product.megabytes(uuid), limits.megabytes];
      if (used > room) {
        throw new Refusal(`Your drawer holds ${used} MB, and ${plan} has ${room} MB. Make room first.`);
      }
      if (plan === "reserved") return { later };
      return drawer(resource, `Your drawer is ${plan} now; DRAWER_URL stays as it is.`);
    },

    // It needs nothing of the platform, so it works for a resource without tokens, too.
    async finish(resource) {
      return drawer(resource, "Your drawer is open: its address is in your app's config vars.");
    },

    async deprovision({ uuid, signal }) {
      await product.drop(uuid, signal);
    },

    // A leaked address is one command, and each drawer gets another one by itself every quarter of a year.
    rotation: {
      everyDays: 90,
      async rotate({ uuid, limits, idempotencyKey }) {
        const retires = await product.addLogin(uuid, idempotencyKey, limits.connections);
        return { config: { DRAWER_URL: await product.urlOf(uuid) }, retires };
      },
      async retire({ uuid }, logins) {
        for (const login of logins as string[]) await product.removeLogin(uuid, login);
      },
    },

    // The same as a button of the customer's.
    actions: {
      rotate: {
        async run({ uuid }) {
          return (await kit.rotate(uuid)) === "asked"
            ? "DRAWER_URL gets another password now; the one before works for two hours more."
            : "DRAWER_URL has got another password, or is getting one; the next can be had when the one before has ended.";
        },
      },
    },

    // Our operators read in the morning which drawers hold more than their plan has. Later in the day that is of no use.
    jobs: [
      {
        name: "measure",
        at: "30 2 * * *",
        timeZone: "America/New_York",
        missed: "skip",
        async run(signal) {
          for await (const { uuid, limits } of kit.resources.list({ state: "provisioned" })) {
            if (signal.aborted) return;
            const [used, room] = [await product.megabytes(uuid), limits.megabytes];
            if (used > room) kit.log.warn({ uuid, used, room }, "A drawer holds more than its plan has");
          }
        },
      },
    ],
  };
}
