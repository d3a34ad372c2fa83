import { createGroupCommit, type Queryable, type Statement } from "../../database/database.ts";
import type { Step } from "./queue.ts";

/** A claimed step that is to be ended: only while the lease is its holder's does anything happen. */
export interface Fence {
  uuid: string;
  id: number;
  lease: number;
}

export function fenceOf({ id, lease, resource }: Step): Fence {
  return { uuid: resource.uuid, id, lease };
}

/**
 * Ends steps with what they leave behind, all that are ready at the same moment with one `statement`: it is given ids,
 * leases and the other `columns`, and answers the ids and leases of the steps that were still ours. The function it
 * returns says of one step whether it was; two may hold the same one, of which the older has lost it.
 *
 * The rows are in the order of their resources, in which PostgreSQL takes them as long as it looks each up: two batches
 * about the same resources then wait for each other in turn. Where it does not, and they deadlock, the group commit tries
 * row by row.
 */
export function createFencedCommit<Row extends Fence>(
  db: Queryable,
  statement: Statement,
  columns: (rows: readonly Row[]) => unknown[] = () => [],
): (row: Row) => Promise<boolean> {
  return createGroupCommit({
    async write(rows) {
      const ordered = rows.toSorted((one, other) => one.uuid.localeCompare(other.uuid));
      const values = [ordered.map(({ id }) => id), ordered.map(({ lease }) => lease), ...columns(ordered)];
      const ended = await db.query<{ id: number; lease: number }>(statement, values);
      const leases = new Map(ended.map(({ id, lease }) => [id, lease]));
      return rows.map(({ id, lease }) => leases.get(id) === lease);
    },
  });
}
