import { Misconfigured } from "../errors.ts";
import { statement, type Queryable } from "./statement.ts";

const READ = `SELECT current_setting('server_encoding') AS encoding, to_regclass('_prisma_migrations') IS NOT NULL AS "isOurs"`;
const readEncoding = statement("read_encoding", READ);

/** The encoding in which a database stores text; null if it is UTF-8. */
export async function otherEncoding(db: Queryable): Promise<string | null> {
  const [row] = await db.query<{ encoding: string }>(readEncoding);
  return row!.encoding === "UTF8" ? null : row!.encoding;
}

/** The encoding that stores the bytes it is given, which are UTF-8, and checks none. */
export const KEEPS_BYTES = "SQL_ASCII";

export const encodingInWords = (encoding: string): string =>
  `The database stores text as ${encoding}: a provision with any other character is answered 500, for good.`;

/** The encoding of a database cannot be changed afterwards, so a new database is needed. */
export const HOW_TO_ENCODE =
  "Make one with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0 (docs/database.md); what this one holds pg_dump and pg_restore carry over.";

/**
 * Throws {@link Misconfigured} for a database that cannot store every text, before anything is created in it. A
 * database that already holds our tables is migrated all the same: it serves most provisions, and without the migration
 * none.
 */
export async function refuseOtherEncoding(pool: {
  query(text: string): Promise<{ rows: { encoding: string; isOurs: boolean }[] }>;
}): Promise<void> {
  const { encoding, isOurs } = (await pool.query(READ)).rows[0]!;
  if (encoding === "UTF8" || encoding === KEEPS_BYTES || isOurs) return;
  throw new Misconfigured(`${encodingInWords(encoding)} ${HOW_TO_ENCODE}`);
}
