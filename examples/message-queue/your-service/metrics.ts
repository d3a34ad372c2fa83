import type { Kit } from "../extend/contract.ts";

export const metrics = { pigeon_moves_total: { help: "Queues that the broker has moved" } } as const;

/** Counts these metrics alone: a name that is misspelt does not compile. */
export type OurKit = Kit<typeof metrics>;
