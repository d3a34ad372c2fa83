import { createGroupCommit, type Queryable, type Statement } from "../../database/database.ts";
import type { Step } from "./queue.ts";

/** A claimed step that is to be ended. Nothing happens unless its lease number is still `lease`. */
export interface Fence {
  uuid: string;
  id: number;
  lease: number;
}

export function fenceOf({ id, lease, resource }: Step): Fence {
  return { uuid: resource.uuid, id, lease };
}

/**
 * Ends steps and writes what they leave behind, with one `statement` for all that are ready at the same moment. The
 * statement is given ids, leases and the other `columns`, and returns the ids and leases of the steps that were still
 * ours. The returned function resolves to whether its step was; of two holders of the same step, the older has lost it.
 *
 * The rows are in the order of their resources, in which PostgreSQL locks them as long as its plan looks up each of
 * them: two batches about the same resources then wait for each other in turn. If they deadlock under another plan, the
 * group commit tries row by row.
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
