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

/**
 * In the order of their resources, in which PostgreSQL takes them as long as it looks each up: two batches about the same
 * resources then wait for each other in turn. Where it does not, and they deadlock, the group commit tries row by row.
 */
export function inLockOrder<Row extends Fence>(rows: readonly Row[]): Row[] {
  return rows.toSorted((one, other) => one.uuid.localeCompare(other.uuid));
}

/** For each row, in order, whether the database answered with its step. */
export function wereOurs(rows: readonly Fence[], answered: readonly { id: number }[]): boolean[] {
  const ids = new Set(answered.map(({ id }) => id));
  return rows.map(({ id }) => ids.has(id));
}
