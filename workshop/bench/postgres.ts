import pg from "pg";
import { temporaryPostgresql } from "../../dev/postgresql.ts";

export interface Server {
  /** The URL of a database from which others can be created. */
  url: string;
  says: string;
  stop(): Promise<void>;
}

/** Default settings, except for WAL space for a million rows. */
const OURS = { isDurable: true, settings: ["max_wal_size=4GB"] };

/**
 * The PostgreSQL to measure on: the given one, or one of our own that ends with this process. Throws if it does not
 * write durably, because figures without fsync are worthless.
 */
export async function startPostgres(given: string | undefined): Promise<Server> {
  const server = given ? { url: given, stop: async () => undefined } : await temporaryPostgresql(OURS);
  try {
    return { ...server, says: await durably(server.url) };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

async function durably(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    const { rows } = await client.query<{ version: string; durable: string }>(
      `SELECT current_setting('server_version') AS version,
         format('fsync %s, synchronous_commit %s', current_setting('fsync'), current_setting('synchronous_commit')) AS durable`,
    );
    const { version, durable } = rows[0]!;
    if (durable === "fsync on, synchronous_commit on")
      return `PostgreSQL ${version.split(" ")[0]}, ${durable}`;
    throw new Error(`This PostgreSQL does not write durably (${durable}); nothing is measured on it.`);
  } finally {
    await client.end();
  }
}
