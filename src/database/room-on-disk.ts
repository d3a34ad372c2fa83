import { isOverLimit } from "./failure.ts";
import { statement } from "./statement.ts";
import type { Database } from "./types.ts";

// Writing a row would prove nothing: a full disk still takes one that fits into an existing page, and the pages added
// for a row stay after its rollback. What a query cannot hold in memory is written to new blocks and gone when the
// query ends; that needs no right, and is on the disk of the data unless a tablespace for it is named. This query
// writes some 3 MB.
const HOLD_LITTLE = statement("hold_little", `SET LOCAL work_mem = '64kB'`);
const BESIDE_THE_DATA = statement("spill_beside_the_data", `SET LOCAL temp_tablespaces = ''`);
const SPILL = statement("spill", `SELECT count(*)::int AS rows FROM generate_series(1, 200000)`);

/** Makes PostgreSQL write some temporary blocks. Throws its error (53100) if its disk has no room for them. */
export async function tryRoomOnDisk({ transaction }: Pick<Database, "transaction">): Promise<void> {
  try {
    await transaction(async (tx) => {
      for (const each of [HOLD_LITTLE, BESIDE_THE_DATA, SPILL]) await tx.query(each);
    });
  } catch (error) {
    // If a query may not write that much (`temp_file_limit`), this says nothing about the disk.
    if (!isOverLimit(error)) throw error;
  }
}
