import { statement, type Queryable } from "../database/database.ts";

const lockResource = statement("lock_resource_row", `SELECT 1 FROM resources WHERE uuid = $1 FOR UPDATE`);
const lockCredential = statement(
  "lock_credential_row",
  `SELECT 1 FROM credentials WHERE uuid = $1 FOR UPDATE`,
);

/**
 * Locks a resource and its credential until the transaction ends, before the resource is ended for good. A statement
 * sees the database's snapshot of the moment it began: one that had to wait for a plan change or an exchange to commit
 * would miss the step inserted with it, and leave that step behind. After these locks the next statement sees
 * everything.
 *
 * False, and nothing is locked: there is no such resource. A provision may commit right then, so its credential must not
 * be locked alone: all others lock the resource before the credential, and PostgreSQL would end one of them as a
 * deadlock.
 */
export async function lockResourceAndCredential(tx: Queryable, uuid: string): Promise<boolean> {
  const isThere = (await tx.query(lockResource, [uuid])).length > 0;
  if (isThere) await tx.query(lockCredential, [uuid]);
  return isThere;
}
