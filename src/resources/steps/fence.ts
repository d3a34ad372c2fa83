import type { Step } from "./queue.ts";

/** A claimed step that a batch is to end: only while the lease is its holder's does anything happen. */
export interface Fence {
  uuid: string;
  id: number;
  lease: number;
}

export function fenceOf({ id, lease, resource }: Step): Fence {
  return { uuid: resource.uuid, id, lease };
}

/** In the order of their resources, so that two batches about the same resources never wait for each other. */
export function inLockOrder<Row extends Fence>(rows: readonly Row[]): Row[] {
  return rows.toSorted((one, other) => (one.uuid < other.uuid ? -1 : 1));
}

/** For each row, in order, whether the database answered with its step. */
export function wereOurs(rows: readonly Fence[], answered: readonly { id: number }[]): boolean[] {
  const ids = new Set(answered.map(({ id }) => id));
  return rows.map(({ id }) => ids.has(id));
}
