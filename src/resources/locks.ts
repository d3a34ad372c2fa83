import { statement, type Queryable } from "../database/database.ts";

const lockResource = statement("lock_resource_row", `SELECT 1 FROM resources WHERE uuid = $1 FOR UPDATE`);
const lockCredential = statement(
  "lock_credential_row",
  `SELECT 1 FROM credentials WHERE uuid = $1 FOR UPDATE`,
);

/**
 * Takes a resource for oneself until the transaction ends, before it is ended for good. A statement sees the database
 * as it was when it began: one that had to wait for a plan change or an exchange to commit would miss the step that was
 * written with it, and leave it behind. After these locks the next statement sees everything.
 */
export async function lockWhole(tx: Queryable, uuid: string): Promise<void> {
  await tx.query(lockResource, [uuid]);
  await tx.query(lockCredential, [uuid]);
}
