import { isOverLimit } from "./failure.ts";
import { statement } from "./statement.ts";
import type { Database } from "./types.ts";

// A row would not do: while the disk is full, one that fits into a page that is there is still taken, and of a table's pages
// those that an undone row needed stay. What a query cannot hold in memory is written to new blocks and gone when it ends;
// it needs no right, and stands where the data does unless another tablespace is named for it. This is some 3 MB.
const HOLD_LITTLE = statement("hold_little", `SET LOCAL work_mem = '64kB'`);
const BESIDE_THE_DATA = statement("spill_beside_the_data", `SET LOCAL temp_tablespaces = ''`);
const SPILL = statement("spill", `SELECT count(*)::int AS rows FROM generate_series(1, 200000)`);

/** Has PostgreSQL write some blocks that nobody keeps. Throws its error (53100) where its disk has no room for them. */
export async function tryRoomOnDisk({ transaction }: Pick<Database, "transaction">): Promise<void> {
  try {
    await transaction(async (tx) => {
      for (const each of [HOLD_LITTLE, BESIDE_THE_DATA, SPILL]) await tx.query(each);
    });
  } catch (error) {
    // Where somebody allows queries less than that, it says nothing about the disk.
    if (!isOverLimit(error)) throw error;
  }
}
