import { randomBytes } from "node:crypto";
import pg from "pg";
import { migrate } from "../src/database/migrate.ts";
import { readChosenEnvironment } from "../src/environment.ts";
import { temporaryPostgresql } from "./postgresql.ts";

/** A migrated, empty database that `remove` removes. */
export interface TemporaryDatabase {
  url: string;
  remove(): Promise<void>;
}

/**
 * A database for a demonstration or a check: on the server of `DATABASE_URL` if that is set, with a name of its own, so
 * that what is kept there is not touched; otherwise on a PostgreSQL that is started for the purpose. Throws
 * `Misconfigured` where there is neither, and PostgreSQL's own error if the role may not create databases.
 */
export async function temporaryDatabase(yours?: string): Promise<TemporaryDatabase> {
  const serverUrl = readChosenEnvironment()["DATABASE_URL"];
  const { url, remove } = serverUrl ? await createOn(serverUrl) : await ownServer();
  await migrate({ url, ...(yours && { yours }) }).catch(async (error: unknown) => {
    await remove();
    throw error;
  });
  return { url, remove };
}

async function ownServer(): Promise<TemporaryDatabase> {
  const { url, stop } = await temporaryPostgresql();
  return { url, remove: stop };
}

async function createOn(serverUrl: string): Promise<TemporaryDatabase> {
  const name = `addon_${randomBytes(6).toString("hex")}`;
  await run(serverUrl, `CREATE DATABASE ${name}`);
  const url = Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  return { url, remove: () => run(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`) };
}

async function run(url: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(text).finally(() => client.end());
}
