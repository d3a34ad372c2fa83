import type { Service } from "../extend/contract.ts";
import type { Done, NotYet, VendorResource } from "../resources/contract.ts";
import { createBrokers } from "./brokers.ts";
import { createCustomerPage, createDownloads, createPages, type Place } from "./customer-page.tsx";
import { metrics, type OurKit } from "./metrics.ts";
import type { offer } from "./plans.ts";
import { mountRoutes } from "./routes.ts";
import type { YourSettings } from "./settings.ts";
import { endTrials, isOfTrial } from "./trial.ts";
import { createUsage } from "./usage.ts";

type Queue = VendorResource<typeof offer>;

/** Sells queues of a message broker that has a life of its own: it moves queues, and it is slow and down at times. */
export function createYourService(
  settings: YourSettings,
  kit: OurKit,
): Service<typeof offer, { actions: "move"; places: Place; metrics: typeof metrics }> {
  const brokers = createBrokers(settings, kit);
  const usage = createUsage(kit, brokers);

  async function queue(resource: Queue): Promise<Done<typeof offer> | NotYet> {
    const { uuid, plan, limits, features, options, signal } = resource;
    const wish = { plan, ...limits, ...features, ...options };
    const { isReady, url, key } = await brokers.in(resource.region).put(uuid, wish, signal);
    if (!isReady) return { later: "Your queue is being made; this takes some minutes.", againInSeconds: 10 };
    const message = "Your queue is open: its address is in your app's config vars.";
    return { config: { PIGEON_URL: url, PIGEON_KEY: key }, message };
  }

  return {
    customerPage: createCustomerPage(usage),
    pages: createPages(usage),
    downloads: createDownloads(usage),
    provision: queue,
    async changePlan(resource) {
      const { uuid, plan, suspended } = resource;
      const made = await queue(resource);
      if (isOfTrial(plan, suspended)) await kit.resume(uuid);
      return made;
    },
    finish: queue,

    async deprovision(resource) {
      const { uuid, plan, region, endedAt, signal } = resource;
      // The usage of its last day is billed, too, and the broker forgets it with the queue.
      if (plan !== "" && endedAt !== null) await usage.meterLast({ uuid, plan, region }, endedAt, signal);
      await brokers.remove(resource, signal);
    },

    // For who does not pay, and for whose trial is over.
    async suspend({ uuid, region, signal }) {
      await brokers.in(region).pause(uuid, signal);
    },
    async resume({ uuid, region, signal }) {
      await brokers.in(region).unpause(uuid, signal);
    },

    // What the brokers have, for kit reconcile; and what we keep of one queue, for kit resources export.
    list: brokers.list,
    exportData: usage.of,

    // The broker tells us when it has moved a queue, or found its key in public: the app gets the new address, or key.
    routes: (router) => mountRoutes(router, kit, settings),

    // New keys beside the old ones, which end an hour after the app has the new ones.
    rotation: {
      overlapMinutes: 60,
      async rotate({ uuid, region, idempotencyKey, signal }) {
        const broker = brokers.in(region);
        const { key, replaces } = await broker.addKey(uuid, idempotencyKey, signal);
        const { url } = await broker.find(uuid, signal);
        return { config: { PIGEON_URL: url, PIGEON_KEY: key }, retires: replaces };
      },
      async retire({ uuid, region, signal }, key) {
        await brokers.in(region).removeKey(uuid, String(key), signal);
      },
    },

    // The customer's button: the broker has the work from here on, and calls back.
    actions: {
      move: {
        async run({ uuid, region }, _form, _person, signal) {
          await brokers.in(region).move(uuid, signal);
          return "Your queue is being moved: PIGEON_URL has its new address soon.";
        },
      },
    },

    operatorActions: {
      purge: {
        label: "Purge the queue",
        effect: "Every message that waits in the queue is thrown away, for good.",
        async run({ uuid, region }, signal) {
          const purged = await brokers.in(region).purge(uuid, signal);
          return `${purged?.messages ?? 0} messages were thrown away.`;
        },
      },
    },

    metrics: {
      ...metrics,
      pigeon_metered_queues: {
        type: "gauge",
        help: "Queues metered last night",
        read: usage.queuesYesterday,
      },
    },
    checks: { broker: brokers.check },

    jobs: [
      // Each night, for the days that have ended.
      { name: "meter", at: "10 0 * * *", run: usage.meterAll },
      { name: "end-trials", at: "20 * * * *", run: () => endTrials(kit) },
    ],
  };
}
