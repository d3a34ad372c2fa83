import type { Kit } from "../extend/contract.ts";
import type { offer } from "./plans.ts";

export const metrics = { pigeon_moves_total: { help: "Queues that the broker has moved" } } as const;

/** Knows our plans, regions, config vars and metrics by name: one that is misspelt does not compile. */
export type OurKit = Kit<typeof offer, typeof metrics>;
