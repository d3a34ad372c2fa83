import { Misconfigured } from "../errors.ts";
import { statement, type Queryable } from "./statement.ts";

const READ = `SELECT current_setting('server_encoding') AS encoding, to_regclass('_prisma_migrations') IS NOT NULL AS "isOurs"`;
const readEncoding = statement("read_encoding", READ);

/** How a database stores text, where that is not UTF-8; null: it is. */
export async function otherEncoding(db: Queryable): Promise<string | null> {
  const [row] = await db.query<{ encoding: string }>(readEncoding);
  return row!.encoding === "UTF8" ? null : row!.encoding;
}

/** It keeps the bytes it is given, which are UTF-8. It checks none. */
export const KEEPS_BYTES = "SQL_ASCII";

export const encodingInWords = (encoding: string): string =>
  `The database stores text as ${encoding}: a provision with any other character is answered 500, for good.`;

/** An encoding cannot be changed afterwards. */
export const HOW_TO_ENCODE =
  "Make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0 (docs/database.md); what this one holds pg_dump and pg_restore carry over.";

/**
 * Throws {@link Misconfigured} for a database that cannot store every text, before anything is made in it. One that holds
 * our tables already is migrated as it is: it serves most provisions, and would serve none.
 */
export async function refuseOtherEncoding(pool: {
  query(text: string): Promise<{ rows: { encoding: string; isOurs: boolean }[] }>;
}): Promise<void> {
  const { encoding, isOurs } = (await pool.query(READ)).rows[0]!;
  if (encoding === "UTF8" || encoding === KEEPS_BYTES || isOurs) return;
  throw new Misconfigured(`${encodingInWords(encoding)} ${HOW_TO_ENCODE}`);
}
