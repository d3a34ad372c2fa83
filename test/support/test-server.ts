import { temporaryPostgresql } from "../../dev/postgresql.ts";
import { migrate } from "../../src/database/migrate.ts";
import { administer, databaseUrl } from "./database.ts";

/**
 * Starts a PostgreSQL for a test run, unless TEST_DATABASE_URL names one, and makes there the migrated, empty database
 * that each test file copies. The processes that this one starts find both in their environment. Returns what ends it.
 */
export async function startTestServer(): Promise<() => Promise<void>> {
  const given = process.env["TEST_DATABASE_URL"];
  const own = given ? null : await temporaryPostgresql();
  const url = given ?? own!.url;
  const template = `addon_template_${process.pid}`;
  await administer(url, (ask) => ask(`CREATE DATABASE ${template}`));
  await migrate({ url: databaseUrl(url, template) });
  Object.assign(process.env, { TEST_SERVER_URL: url, TEST_TEMPLATE: template });
  return own ? own.stop : () => administer(url, async (ask) => void (await ask(`DROP DATABASE ${template}`)));
}
