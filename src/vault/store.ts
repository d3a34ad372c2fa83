import { retryWhileUnreachable, statement, type Database, type Queryable } from "../database/database.ts";
import { Misconfigured } from "../errors.ts";
import { CannotDecrypt, SEALED_COLUMNS, keyIdInSql, type Vault } from "./vault.ts";

export interface KeyUse {
  keyId: string;
  rows: number;
}

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
 * Every key that a row still needs must be in the ring; `lost` are the keys of rows that need none any more. Throws
 * {@link Misconfigured} with the id and the number of rows of each missing key. Registers the current key.
 */
export async function checkKeys(db: Database, vault: Vault, lost: (string | null)[] = []): Promise<void> {
  const absent = (await db.query<{ keyId: string }>(known, [])).filter(
    ({ keyId }) => !vault.keyIds.includes(keyId),
  );
  if (absent.length > 0) {
    const uses = await countKeyUse(db);
    const isNeeded = ({ keyId, rows }: KeyUse) => rows > lost.filter((each) => each === keyId).length;
    const missing = uses.filter((use) => !vault.keyIds.includes(use.keyId) && isNeeded(use));
    const list = missing.map(({ keyId, rows }) => `  key ${keyId}: ${rows} ${rows === 1 ? "row" : "rows"}`);
    if (missing.length > 0)
      throw new Misconfigured(
        `What is sealed in the database needs keys that are not among ENCRYPTION_KEY and DECRYPTION_KEYS:\n${list.join("\n")}\nPut the old key into DECRYPTION_KEYS.`,
      );
    // No row uses these keys any more: they were retired properly.
    for (const { keyId } of absent) await db.query(forget, [keyId]);
  }
  await registerKey(db, vault);
}

/** Records the current key before it seals anything, so that every later start notices if it is missing. */
export async function registerKey(db: Queryable, vault: Vault): Promise<void> {
  await db.query(register, [vault.keyId]);
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
type Row = { uuid: string; owner?: string } & Partial<Record<Column, Buffer | null>>;
/** The old ciphertext of a column and the new one; null: nothing to reseal. */
type Change = { old: Buffer; fresh: Uint8Array } | null;

const STATEMENTS = { resources: statementsFor("resources"), credentials: statementsFor("credentials") };

/**
 * Reseals one table in one pass, until `signal` is aborted. `onRows` is called after each page with its number of rows,
 * `onUnopened` for each sealed value that does not open, which is left as it is. Returns how many rows were stored with
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

  function resealed(row: Row, column: Column): Change {
    const old = row[column];
    if (!old) return null;
    // A person's pair is bound to the table where it stood first.
    const context = { table: row.owner === "person" ? "people" : table, column, uuid: row.uuid };
    try {
      return { old, fresh: vault.seal(context, vault.open(context, old)) };
    } catch (error) {
      if (!(error instanceof CannotDecrypt)) throw error;
      how.onUnopened(error);
      return null;
    }
  }

  async function storePage(rows: { uuid: string; changes: Change[] }[]): Promise<number> {
    const of = (part: "old" | "fresh", index: number) =>
      rows.map(({ changes }) => changes[index]?.[part] ?? null);
    const values = columns.flatMap((_, index) => [of("old", index), of("fresh", index)]);
    const stored = await db.query<{ isWhole: boolean }>(store, [rows.map(({ uuid }) => uuid), ...values]);
    return stored.filter(({ isWhole }) => isWhole).length;
  }

  const read = (...after: string[]) =>
    retryWhileUnreachable(() =>
      db.query<Row>(after.length > 0 ? nextPage : firstPage, [vault.keyId, ...after]),
    );
  const result = { resealed: 0, passedOver: 0 };
  for (let rows = await read(); rows.length > 0 && !how.signal.aborted;) {
    const changed = rows
      .map((row) => ({ uuid: row.uuid, changes: columns.map((column) => resealed(row, column)) }))
      .filter(({ changes }) => changes.some((change) => change !== null));
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
  const columns: readonly string[] = SEALED_COLUMNS[table];
  const stale = columns.map(
    (column) => `CASE WHEN ${keyIdInSql(column)} <> $1 THEN ${column} END AS ${column}`,
  );
  const owner = table === "credentials" ? "owner," : "";
  const values = columns.map((_, index) => `$${2 * index + 2}::bytea[], $${2 * index + 3}::bytea[]`);
  const names = columns.map((column) => `old_${column}, new_${column}`);
  const kept = (column: string) =>
    `${column} = CASE WHEN t.${column} = i.old_${column} THEN i.new_${column} ELSE t.${column} END`;
  const isDone = (column: string) => `(i.new_${column} IS NULL OR t.${column} = i.new_${column})`;
  const page = (name: string, after: string) =>
    statement(
      `${name}_${table}`,
      `SELECT uuid, ${owner} ${stale.join(", ")} FROM ${table} ${after} ORDER BY uuid LIMIT ${PAGE_SIZE}`,
    );
  return {
    firstPage: page("reseal_first_page_of", ""),
    nextPage: page("reseal_next_page_of", "WHERE uuid > $2"),
    store: statement(
      `reseal_${table}`,
      `WITH incoming AS MATERIALIZED (
         SELECT * FROM unnest($1::uuid[], ${values.join(", ")}) AS i(uuid, ${names.join(", ")})
       ), free AS MATERIALIZED (
         SELECT t.uuid FROM ${table} t JOIN incoming USING (uuid) FOR NO KEY UPDATE OF t SKIP LOCKED
       )
       UPDATE ${table} t SET ${columns.map(kept).join(", ")}
       FROM incoming i JOIN free USING (uuid) WHERE t.uuid = i.uuid
       RETURNING (${columns.map(isDone).join(" AND ")}) IS TRUE AS "isWhole"`,
    ),
  };
}
