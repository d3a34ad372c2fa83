import type { Credential, SealingKey } from "../database/client/client.ts";
import type { Database } from "../database/database.ts";
import { retryWhileUnreachable } from "../database/retry.ts";
import { columnsOf, type Queryable, type RowOf, statement } from "../database/statement.ts";
import { Misconfigured } from "../errors.ts";
import { CannotDecrypt, keyIdInSql, SEALED_COLUMNS, type Vault } from "./vault.ts";

type Key = Pick<SealingKey, "keyId">;

export interface KeyUse extends Key {
  rows: number;
}

const KEY = columnsOf<SealingKey>()("k", "keyId");
const register = statement<Key>("register_key").sql(
  `INSERT INTO sealing_keys (key_id) VALUES (:keyId) ON CONFLICT DO NOTHING`,
);
const known = statement<object, RowOf<typeof KEY>>("known_keys").sql(`SELECT ${KEY} FROM sealing_keys k`);
const forget = statement<Key>("forget_key").sql(`DELETE FROM sealing_keys WHERE key_id = :keyId`);

// A row with parts that two keys sealed counts for both.
const countUses = statement<object, KeyUse>("count_key_use").sql(
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
  return db.readWhole(countUses);
}

/**
 * Checks that every key that a row needs is in the ring, and registers the current key. `lost`: the keys of rows that are
 * given up. Throws {@link Misconfigured} with the id and the number of rows of each missing key.
 */
export async function checkKeys(db: Database, vault: Vault, lost: (string | null)[] = []): Promise<void> {
  const absent = (await db.query(known)).filter(({ keyId }) => !vault.keyIds.includes(keyId));
  if (absent.length > 0) {
    const uses = await countKeyUse(db);
    const isNeeded = ({ keyId, rows }: KeyUse) => rows > lost.filter((each) => each === keyId).length;
    const missing = uses.filter((use) => !vault.keyIds.includes(use.keyId) && isNeeded(use));
    const list = missing.map(({ keyId, rows }) => `  key ${keyId}: ${rows} ${rows === 1 ? "row" : "rows"}`);
    if (missing.length > 0)
      throw new Misconfigured(
        `What is sealed in the database needs keys that are not among ENCRYPTION_KEY and DECRYPTION_KEYS:\n${list.join("\n")}\nPut the old key into DECRYPTION_KEYS.`,
      );
    // No row needs these keys: they were retired properly.
    for (const key of absent) await db.query(forget, key);
  }
  await registerKey(db, vault);
}

/** Records the current key before it seals anything, so that every later start notices if it is missing. */
export async function registerKey(db: Queryable, vault: Vault): Promise<void> {
  await db.query(register, { keyId: vault.keyId });
}

// The long part of key rotation: reseals every sealed value with the current key. Written for speed, since it reads
// every row: pages of 500 by primary key, opened and sealed in memory, stored with one statement a page while the next
// one is read; row by row it took 29 times as long. Values sealed with the current key already do not leave the
// database, so resuming after a stop costs little.
//
// It runs beside the service. A column is replaced only if it still holds the exact ciphertext that was opened: a token
// refreshed meanwhile is never overwritten by its dead predecessor. Rows locked by other transactions are skipped:
// waiting while holding locks can lead to a deadlock, whose victim might be a store of fresh tokens.

const PAGE_SIZE = 500;

type Table = "resources" | "credentials";
type Column = (typeof SEALED_COLUMNS)[Table][number];
/** Ciphertexts of other keys than the current one. Only a credential has an owner. */
type Row = Pick<Credential, "uuid"> & Partial<Pick<Credential, "owner"> & Record<Column, Buffer | null>>;
/** Of each column of the table, the old ciphertext and the new one; null: nothing to reseal. */
type Resealed = Pick<Credential, "uuid"> & {
  [member: `old_${string}` | `new_${string}`]: Uint8Array | null;
};

const STATEMENTS = { resources: statementsFor("resources"), credentials: statementsFor("credentials") };

/**
 * Reseals one table in one pass, until `signal` is aborted. `onRows` is called after each page with its number of rows,
 * `onUnopened` for each sealed value that cannot be decrypted; such a value stays as it is. Returns how many rows were stored with
 * all their changes, and how many were locked or changed meanwhile: these need another round.
 */
export async function reseal(
  { db, vault }: { db: Queryable; vault: Vault },
  table: Table,
  how: {
    signal: AbortSignal;
    onRows(rows: number): void;
    onUnopened(error: CannotDecrypt): void;
  },
): Promise<{ resealed: number; passedOver: number }> {
  const columns: readonly Column[] = SEALED_COLUMNS[table];
  const { firstPage, nextPage, store } = STATEMENTS[table];
  const { keyId } = vault;

  function fresh(row: Row, column: Column): Uint8Array | null {
    const old = row[column];
    if (!old) return null;
    // A person's pair is bound to the table where it stood first.
    const context = { table: row.owner === "person" ? "people" : table, column, uuid: row.uuid };
    try {
      return vault.seal(context, vault.open(context, old));
    } catch (error) {
      if (!(error instanceof CannotDecrypt)) throw error;
      how.onUnopened(error);
      return null;
    }
  }

  /** An empty list if nothing of the row is to be stored. */
  function resealed(row: Row): Resealed[] {
    const changed: Resealed = { uuid: row.uuid };
    let isChanged = false;
    for (const column of columns) {
      const value = fresh(row, column);
      changed[`old_${column}`] = value && row[column]!;
      changed[`new_${column}`] = value;
      isChanged ||= value !== null;
    }
    return isChanged ? [changed] : [];
  }

  const storePage = async (rows: Resealed[]) =>
    (await db.query(store, { rows })).filter(({ isWhole }) => isWhole).length;

  const read = (after?: string) =>
    retryWhileUnreachable(() =>
      after === undefined ? db.query(firstPage, { keyId }) : db.query(nextPage, { keyId, after }),
    );
  const result = { resealed: 0, passedOver: 0 };
  for (let rows = await read(); rows.length > 0 && !how.signal.aborted;) {
    const changed = rows.flatMap(resealed);
    // Storing a page twice is harmless: the second time no column holds the old ciphertext.
    const storing = changed.length > 0 ? retryWhileUnreachable(() => storePage(changed)) : 0;
    const [stored, next] = await Promise.all([storing, read(rows.at(-1)!.uuid)]);
    result.resealed += stored;
    result.passedOver += changed.length - stored;
    how.onRows(rows.length);
    rows = next;
  }
  return result;
}

function statementsFor(table: Table) {
  const columns: readonly Column[] = SEALED_COLUMNS[table];
  const owner = table === "credentials" ? ["t.owner"] : [];
  const stale = columns.map(
    (column) => `CASE WHEN ${keyIdInSql(`t.${column}`)} <> current.key_id THEN t.${column} END AS ${column}`,
  );
  const selected = ["t.uuid", ...owner, ...stale].join(", ");
  const kept = (column: string) =>
    `${column} = CASE WHEN t.${column} = i.old_${column} THEN i.new_${column} ELSE t.${column} END`;
  const isDone = (column: string) => `(i.new_${column} IS NULL OR t.${column} = i.new_${column})`;
  const pairs = columns.flatMap((column) => [`old_${column}`, `new_${column}`]);
  return {
    firstPage: statement<Key, Row>(`reseal_first_page_of_${table}`).sql(
      `SELECT ${selected} FROM ${table} t, (SELECT :keyId::text AS key_id) AS current
       ORDER BY t.uuid LIMIT ${PAGE_SIZE}`,
    ),
    nextPage: statement<Key & { after: string }, Row>(`reseal_next_page_of_${table}`).sql(
      `SELECT ${selected} FROM ${table} t, (SELECT :keyId::text AS key_id) AS current
       WHERE t.uuid > :after ORDER BY t.uuid LIMIT ${PAGE_SIZE}`,
    ),
    store: statement<{ rows: Resealed[] }, { isWhole: boolean }>(`reseal_${table}`, {
      uuid: "uuid",
      ...Object.fromEntries(pairs.map((pair) => [pair, "bytea"] as const)),
    }).sql(
      `WITH incoming AS MATERIALIZED (
         SELECT * FROM :rows AS i
       ), free AS MATERIALIZED (
         SELECT t.uuid FROM ${table} t JOIN incoming USING (uuid) FOR NO KEY UPDATE OF t SKIP LOCKED
       )
       UPDATE ${table} t SET ${columns.map(kept).join(", ")}
       FROM incoming i
       -- A join of the two lists would compare each row with each. Because of IS TRUE it looks them up in a hash table.
       WHERE t.uuid = i.uuid AND (i.uuid IN (SELECT uuid FROM free)) IS TRUE
       RETURNING (${columns.map(isDone).join(" AND ")}) IS TRUE AS "isWhole"`,
    ),
  };
}
