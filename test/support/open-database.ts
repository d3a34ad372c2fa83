import { type Database, type DatabaseSettings, openDatabase } from "../../src/database/database.ts";
import { aFreshDatabase } from "./database.ts";

/**
 * A fresh database that is open while the tests of this file or `describe` run. Call it where hooks are declared, and
 * read the result only in tests. `change` overrides settings; `limited` gives its address other limits than the service's.
 */
export function anOpenDatabase(
  change: Partial<DatabaseSettings> = {},
  limited: (url: string) => string = (url) => url,
): {
  readonly database: Database;
  readonly settings: DatabaseSettings;
} {
  const opened = {} as { database: Database; settings: DatabaseSettings };
  let remove = () => Promise.resolve();
  beforeAll(async () => {
    const fresh = await aFreshDatabase();
    remove = fresh.close;
    opened.settings = { ...fresh.settings, url: limited(fresh.settings.url), ...change };
    opened.database = openDatabase(opened.settings);
  });
  afterAll(async () => {
    await opened.database.close();
    await remove();
  });
  return opened;
}
