import type { EndedResource, RegionOf } from "../resources/contract.ts";
import { inRegion } from "../setting.ts";
import { createBroker } from "./broker.ts";
import type { offer } from "./plans.ts";
import type { YourSettings } from "./settings.ts";

type Ended = Pick<EndedResource<typeof offer>, "uuid" | "region">;

export type Brokers = ReturnType<typeof createBrokers>;

/** A broker in each region that we sell; none knows the queues of another. */
export function createBrokers({ queueApiUrl, queueApiToken }: YourSettings) {
  const brokers = {
    us: createBroker({ queueApiUrl: queueApiUrl.us, queueApiToken }),
    eu: createBroker({ queueApiUrl: queueApiUrl.eu, queueApiToken }),
  };
  return {
    /** The broker of a region. A region that we do not sell is refused. */
    in: (region: RegionOf<typeof offer> | null) => inRegion(brokers, region),
    /** Removes a queue from its broker; one of which the region is not known, from each. */
    async remove({ uuid, region }: Ended, signal: AbortSignal): Promise<void> {
      const holders = region === null ? Object.values(brokers) : [inRegion(brokers, region)];
      await Promise.all(holders.map((broker) => broker.remove(uuid, signal)));
    },
    /** The queues of all brokers. */
    async *list(signal: AbortSignal) {
      for (const broker of Object.values(brokers)) yield* broker.list(signal);
    },
    /** For `kit doctor`: null if all brokers answer. */
    async check(): Promise<string | null> {
      const troubles = await Promise.all(Object.values(brokers).map((broker) => broker.check()));
      return troubles.filter((trouble) => trouble !== null).join(" ") || null;
    },
  };
}
