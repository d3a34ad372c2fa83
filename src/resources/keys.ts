import { statement, type Database, type Queryable } from "../database/database.ts";
import { IN_PIECE, readWhole } from "../database/whole-table.ts";
import { Misconfigured } from "../errors.ts";
import type { Vault } from "../vault/vault.ts";

/** How many rows a key sealed something in. */
export interface KeyUse {
  keyId: string;
  rows: number;
}

/** Every sealed column, by table. `key` identifies the row in the additional data; see `Place`. */
export const SEALED_COLUMNS = {
  resources: {
    key: "uuid",
    columns: ["sealed_answer", "sealed_config", "sealed_log_input_url", "sealed_log_drain_token"],
  },
  credentials: { key: "uuid", columns: ["sealed_grant_code", "sealed_access_token", "sealed_refresh_token"] },
  client_secrets: { key: "version", columns: ["sealed_secret"] },
  people: { key: "uuid", columns: ["sealed_access_token", "sealed_refresh_token"] },
} as const;

/** The key id stands in the envelope behind the version byte. */
export const keyIdIn = (column: string) => `encode(substring(${column} FROM 2 FOR 8), 'hex')`;

const register = statement(
  "register_key",
  `INSERT INTO sealing_keys (key_id) VALUES ($1) ON CONFLICT DO NOTHING`,
);
const known = statement("known_keys", `SELECT key_id AS "keyId" FROM sealing_keys`);
const forget = statement("forget_key", `DELETE FROM sealing_keys WHERE key_id = $1`);

// A row that two keys sealed parts of counts for both. The rows of a piece are first counted by what keys they have, of
// which there are a handful, and only then told apart.
const countOf = (table: string, columns: readonly string[]) => {
  const names = columns.map((_, index) => `key_${index}`);
  return statement(
    `count_keys_of_${table}`,
    `SELECT key_id AS "keyId", sum(rows)::int AS rows FROM (
       SELECT ${columns.map((column, index) => `${keyIdIn(column)} AS ${names[index]}`).join(", ")}, count(*) AS rows
       FROM ${table} WHERE ${IN_PIECE} GROUP BY ${names.join(", ")}
     ) by_keys, LATERAL (
       SELECT DISTINCT key_id FROM unnest(ARRAY[${names.join(", ")}]) AS key_id WHERE key_id IS NOT NULL
     ) used GROUP BY key_id`,
  );
};
const counts = Object.entries(SEALED_COLUMNS).map(([table, { columns }]) => ({
  table,
  count: countOf(table, columns),
}));

/** How many rows each key sealed something in. Reads every row, piece by piece: seconds, of many millions a minute. */
export function countKeyUse(db: Database): Promise<KeyUse[]> {
  return readWhole(db, async (tables) => {
    const uses = new Map<string, number>();
    for (const { table, count } of counts)
      for await (const piece of tables.pieces<KeyUse>(table, count))
        for (const { keyId, rows } of piece) uses.set(keyId, (uses.get(keyId) ?? 0) + rows);
    return [...uses].map(([keyId, rows]) => ({ keyId, rows })).sort(byKeyId);
  });
}

const byKeyId = (one: KeyUse, other: KeyUse) => (one.keyId < other.keyId ? -1 : 1);

/**
 * Makes sure that everything sealed can be opened, before a row is touched: every key that ever sealed must be in the
 * ring. Throws {@link Misconfigured} with the id and the number of rows of each missing key.
 */
export async function checkKeys(db: Database, vault: Vault): Promise<void> {
  const absent = (await db.query<{ keyId: string }>(known, [])).filter(
    ({ keyId }) => !vault.keyIds.includes(keyId),
  );
  if (absent.length > 0) {
    const uses = await countKeyUse(db);
    const missing = uses.filter(({ keyId }) => !vault.keyIds.includes(keyId));
    if (missing.length > 0) throw new Misconfigured(missingKeys(missing));
    // Nothing is left of these keys: they were retired in good order.
    for (const { keyId } of absent) await db.query(forget, [keyId]);
  }
  await registerKey(db, vault);
}

/** Notes that the current key seals; before it seals anything, so that its absence is noticed ever after. */
export async function registerKey(db: Queryable, vault: Vault): Promise<void> {
  await db.query(register, [vault.keyId]);
}

function missingKeys(missing: readonly KeyUse[]): string {
  const list = missing
    .map(({ keyId, rows }) => `  key ${keyId}: ${rows} ${rows === 1 ? "row" : "rows"}`)
    .join("\n");
  return `What is sealed in the database needs keys that are not among ENCRYPTION_KEY and DECRYPTION_KEYS:\n${list}\nPut the old key into DECRYPTION_KEYS.`;
}
