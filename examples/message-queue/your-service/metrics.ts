import type { Kit } from "../extend/contract.ts";

export const metrics = {
  pigeon_moves_total: { help: "Queues that the broker has moved" },
  pigeon_broker_seconds: {
    type: "histogram",
    help: "Calls to the broker, until it answered",
    labels: ["method"],
    buckets: [0.1, 0.5, 2, 10, 30],
  },
} as const;

/** Counts these metrics alone: a name that is misspelt does not compile. */
export type OurKit = Kit<typeof metrics>;
