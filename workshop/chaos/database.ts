import pg from "pg";

/** Queries the database directly, bypassing the proxy. */
export type Ask = <Row extends object = Record<string, unknown>>(text: string) => Promise<Row[]>;

export interface ChaosDatabase {
  url: string;
  ask: Ask;
  close(): Promise<void>;
}

/** Creates an empty database on the server, and drops it at the end. */
export async function createDatabase(serverUrl: string): Promise<ChaosDatabase> {
  const name = `chaos_${process.pid}_${Date.now()}`;
  await administer(serverUrl, `CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const pool = new pg.Pool({ connectionString: url.href, max: 2 });
  pool.on("error", () => undefined);
  return {
    url: url.href,
    ask: async <Row extends object>(text: string) => (await pool.query<Row>(text)).rows,
    async close() {
      await pool.end();
      await administer(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

async function administer(serverUrl: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(text).finally(() => client.end());
}
