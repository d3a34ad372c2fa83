import { statement, type Database, type Queryable } from "../database/database.ts";
import { Misconfigured } from "../errors.ts";
import { keyIdInSql } from "../vault/key-id-in-sql.ts";
import type { Vault } from "../vault/vault.ts";

/** A key, and in how many rows it sealed something. */
export interface KeyUse {
  keyId: string;
  rows: number;
}

/** Every sealed column, by table. */
export const SEALED_COLUMNS = {
  resources: ["sealed_answer", "sealed_config", "sealed_log_input_url", "sealed_log_drain_token"],
  credentials: ["sealed_grant_code", "sealed_access_token", "sealed_refresh_token"],
  client_secrets: ["sealed_secret"],
  people: ["sealed_access_token", "sealed_refresh_token"],
} as const;

const register = statement(
  "register_key",
  `INSERT INTO sealing_keys (key_id) VALUES ($1) ON CONFLICT DO NOTHING`,
);
const known = statement("known_keys", `SELECT key_id AS "keyId" FROM sealing_keys`);
const forget = statement("forget_key", `DELETE FROM sealing_keys WHERE key_id = $1`);

// A row that two keys sealed parts of counts for both.
const countUses = statement(
  "count_key_use",
  `SELECT key_id AS "keyId", sum(rows)::int AS rows FROM (
     ${Object.entries(SEALED_COLUMNS)
       .map(
         ([table, columns]) => `SELECT key_id, count(*) AS rows FROM ${table}, LATERAL (
           SELECT DISTINCT key_id FROM unnest(ARRAY[${columns.map(keyIdInSql).join(", ")}]) AS key_id
           WHERE key_id IS NOT NULL
         ) used GROUP BY key_id`,
       )
       .join(" UNION ALL ")}
   ) by_table GROUP BY key_id ORDER BY key_id`,
);

/** Counts in how many rows each key sealed something. Reads every row: a minute for many millions. */
export function countKeyUse(db: Database): Promise<KeyUse[]> {
  return db.readWhole<KeyUse>(countUses);
}

/**
 * Checks that everything sealed can be opened, before any row is touched: every key that a row still needs must be in
 * the ring. Throws {@link Misconfigured} with the id and the number of rows of each missing key. Registers the current
 * key.
 */
export async function checkKeys(db: Database, vault: Vault): Promise<void> {
  const absent = (await db.query<{ keyId: string }>(known, [])).filter(
    ({ keyId }) => !vault.keyIds.includes(keyId),
  );
  if (absent.length > 0) {
    const uses = await countKeyUse(db);
    const missing = uses.filter(({ keyId }) => !vault.keyIds.includes(keyId));
    if (missing.length > 0) throw new Misconfigured(missingKeys(missing));
    // No row uses these keys any more: they were retired properly.
    for (const { keyId } of absent) await db.query(forget, [keyId]);
  }
  await registerKey(db, vault);
}

/** Records the current key before it seals anything, so that every later start notices if it is missing. */
export async function registerKey(db: Queryable, vault: Vault): Promise<void> {
  await db.query(register, [vault.keyId]);
}

function missingKeys(missing: readonly KeyUse[]): string {
  const list = missing
    .map(({ keyId, rows }) => `  key ${keyId}: ${rows} ${rows === 1 ? "row" : "rows"}`)
    .join("\n");
  return `What is sealed in the database needs keys that are not among ENCRYPTION_KEY and DECRYPTION_KEYS:\n${list}\nPut the old key into DECRYPTION_KEYS.`;
}
