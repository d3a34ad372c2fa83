import type { Database } from "./databases.ts";
import { ENCRYPTION_KEY } from "./bench.ts";
import { codeOf } from "./provisions.ts";
import { Secret } from "../src/secret.ts";
import { createVault } from "../src/vault/vault.ts";

// What was promised against what is there. Rows are counted and, with the key of the bench, everything sealed is opened.

/** Something was answered and is not in the database, or not as it should be. */
export class Missing extends Error {}

/** The resources and credentials of `uuids`, and no others, each with its answer, and with its grant code unless exchanged. */
export async function checkProvisions(
  { ask }: Database,
  uuids: readonly string[],
  status: number,
): Promise<void> {
  const vault = await createVault({ encryptionKey: new Secret(ENCRYPTION_KEY) });
  const rows = await ask<Row>(
    `SELECT r.uuid, r.answer_status AS status, r.sealed_answer AS answer, c.sealed_grant_code AS code
     FROM resources r JOIN credentials c USING (uuid)`,
  );
  expectAll(
    rows.map((row) => row.uuid),
    uuids,
  );
  for (const { uuid, ...row } of rows) {
    const answer =
      row.answer && vault.open({ table: "resources", column: "sealed_answer", uuid }, row.answer).reveal();
    const code =
      row.code && vault.open({ table: "credentials", column: "sealed_grant_code", uuid }, row.code).reveal();
    if (row.status !== status || !answer?.includes(uuid))
      throw new Missing(`${uuid} was answered ${status}, which is not stored`);
    if (code !== codeOf(uuid)) throw new Missing(`The grant code of ${uuid} is not stored`);
  }
}

interface Row {
  uuid: string;
  status: number | null;
  answer: Buffer | null;
  code: Buffer | null;
}

/** Every uuid that was answered is there, and none besides. */
export function expectAll(found: readonly string[], answered: readonly string[]): void {
  const there = new Set(found);
  const missing = answered.filter((uuid) => !there.has(uuid));
  if (missing.length > 0)
    throw new Missing(`${missing.length} of ${answered.length} answered provisions have no row`);
  if (there.size !== answered.length)
    throw new Missing(`${there.size} rows for ${answered.length} answered provisions`);
}
