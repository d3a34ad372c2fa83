// Again on PostgreSQL: the migrations run on both kinds.

import { afterEach, expect, test } from "@jest/globals";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { migrate, MigrationFailed, openDatabase, statement } from "../../src/database/database.ts";
import { applyMigrations } from "../../src/database/migrate.ts";
import { migrationNames } from "../../src/database/migrations-folder.ts";
import { withSchemaEngine } from "../../src/database/schema-engine.ts";
import { kit } from "../kit/kit.ts";
import {
  administer,
  aFreshDatabase,
  anEmbeddedDatabase,
  databaseUrl,
  testServerUrl,
  type FreshDatabase,
} from "../support/database.ts";

const toClose: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});

/** The driver's address of a fresh, migrated database. */
async function anAddress(): Promise<pg.PoolConfig> {
  const fresh = await aFreshDatabase();
  toClose.push(fresh.close);
  const database = await openDatabase(fresh.settings);
  toClose.push(database.close);
  return addressOf(fresh);
}

function addressOf({ settings: { url, dataDir } }: FreshDatabase): pg.PoolConfig {
  if (url) return { connectionString: url };
  return { host: path.join(dataDir, "postgresql"), user: "postgres", database: "postgres" };
}

async function withClient<T>(address: pg.PoolConfig, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(address);
  await client.connect();
  return work(client).finally(() => client.end());
}

test("the embedded database is migrated when it is opened; one that is up to date has nothing pending", async () => {
  const fresh = await aFreshDatabase();
  toClose.push(fresh.close);
  const empty = { ...fresh.settings, dataDir: path.join(fresh.settings.dataDir, "new") };
  const database = await openDatabase(empty);
  toClose.push(database.close);
  expect(await database.pendingMigrations()).toEqual([]);
  expect(await database.query(statement("resources", `SELECT uuid FROM resources`))).toEqual([]);
}, 60_000);

test("a command reports that a service of an older build has the database open, and so does kit migrate", async () => {
  const fresh = await anEmbeddedDatabase();
  toClose.push(fresh.close);
  const older = await openDatabase(fresh.settings);
  toClose.push(older.close);
  const forget = `DELETE FROM _prisma_migrations WHERE migration_name = (SELECT max(migration_name) FROM _prisma_migrations)`;
  await older.query(statement("forget_migration", forget));
  const { code, stderr } = await kit({ ...fresh.environment }, ["migrate"]);
  expect(code).toBe(78);
  expect(stderr.replace(/\s+/g, " ")).toContain(
    "lacks 1 of our migrations. A running service of an older build has it open: stop that, and start this build",
  );
  expect(await older.pendingMigrations()).toHaveLength(1);
}, 60_000);

test("a second migration run finds nothing to do", async () => {
  expect(await applyMigrations(await anAddress())).toEqual({ applied: [] });
});

test("a failed migration is rolled back, and its error is reported", async () => {
  const address = await anAddress();
  const folder = await mkdtemp(path.join(tmpdir(), "addon-migrations-"));
  toClose.push(() => rm(folder, { recursive: true }));
  await cp("prisma/migrations", folder, { recursive: true });
  await mkdir(path.join(folder, "29990101000000_wrong"));
  const sql = `-- first; then\nCREATE TABLE half_done (id INT);\nINSERT INTO half_done VALUES (';');`;
  await writeFile(path.join(folder, "29990101000000_wrong", "migration.sql"), sql);
  const failure = applyMigrations(address, folder);
  await expect(failure).rejects.toThrow(MigrationFailed);
  await expect(failure).rejects.toThrow("invalid input syntax for type integer");
  const { rows } = await withClient(address, (client) =>
    client.query(`SELECT to_regclass('half_done') AS name`),
  );
  expect(rows).toEqual([{ name: null }]);
});

test("a failed migration with a transaction of its own reports its error, and can be repaired", async () => {
  const address = await anAddress();
  const folder = await mkdtemp(path.join(tmpdir(), "addon-migrations-"));
  toClose.push(() => rm(folder, { recursive: true }));
  await cp("prisma/migrations", folder, { recursive: true });
  await mkdir(path.join(folder, "29990101000000_own"));
  const script = path.join(folder, "29990101000000_own", "migration.sql");
  await writeFile(script, "BEGIN; CREATE TABLE own (id INT); INSERT INTO own VALUES ('one'); COMMIT;");
  await expect(applyMigrations(address, folder)).rejects.toThrow("invalid input syntax for type integer");
  await writeFile(script, "BEGIN; CREATE TABLE own (id INT); INSERT INTO own VALUES (1); COMMIT;");
  expect(await applyMigrations(address, folder)).toEqual({ applied: ["29990101000000_own"] });
  expect(await withClient(address, (client) => client.query("SELECT id FROM own"))).toMatchObject({
    rows: [{ id: 1 }],
  });
});

test("a migration that a killed process started is started again", async () => {
  const address = await anAddress();
  const folder = await mkdtemp(path.join(tmpdir(), "addon-migrations-"));
  toClose.push(() => rm(folder, { recursive: true }));
  await cp("prisma/migrations", folder, { recursive: true });
  await mkdir(path.join(folder, "29990101000000_more"));
  const sql = "ALTER TABLE credentials ADD COLUMN more INT -- the end";
  await writeFile(path.join(folder, "29990101000000_more", "migration.sql"), sql);
  await withClient(address, (client) =>
    client.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('killed', 'none', '29990101000000_more')`,
    ),
  );
  expect(await applyMigrations(address, folder)).toEqual({ applied: ["29990101000000_more"] });
  expect(await applyMigrations(address, folder)).toEqual({ applied: [] });
});

test("schema.prisma and the migrations describe the same tables, columns and indexes", async () => {
  const address = await anAddress();
  const content = await readFile("prisma/schema.prisma", "utf8");
  const { stdout: script } = await withSchemaEngine(address, (engine) =>
    engine.diff({
      from: { tag: "empty" },
      to: { tag: "schemaDatamodel", files: [{ path: "schema.prisma", content }] },
      script: true,
      exitCode: null,
      filters: { externalTables: [], externalEnums: [] },
    }),
  );
  const [migrated, drawn] = await withClient(address, async (client) => {
    const before = await describeSchema(client, "public");
    await client.query(`CREATE SCHEMA drawn; SET search_path TO drawn; ${script}; RESET search_path`);
    return [before, await describeSchema(client, "drawn")];
  });
  expect(drawn).toEqual(migrated);
});

/** Every column with its type and default, and every index, as PostgreSQL writes them down. Checks are not compared. */
async function describeSchema(client: pg.Client, schema: string): Promise<string[]> {
  const { rows } = await client.query<{ line: string }>(
    `SELECT format('%s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
              CASE WHEN a.attnotnull THEN 'NOT NULL' END, pg_get_expr(d.adbin, d.adrelid)) AS line
       FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
       JOIN pg_namespace n ON n.oid = c.relnamespace
       LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
      WHERE n.nspname = $1 AND c.relkind = 'r' AND a.attnum > 0 AND c.relname <> '_prisma_migrations'
      UNION ALL
     SELECT indexdef FROM pg_indexes WHERE schemaname = $1 AND tablename <> '_prisma_migrations'
      ORDER BY 1`,
    [schema],
  );
  return rows.map(({ line }) => line.replaceAll(`${schema}.`, ""));
}

(testServerUrl ? test : test.skip)(
  "of five concurrent runs, one applies the migrations and the others find nothing to do",
  async () => {
    const name = `addon_test_migrate_${process.pid}`;
    const server = testServerUrl as string;
    await administer(server, (ask) => ask(`CREATE DATABASE ${name}`));
    toClose.push(() => administer(server, (ask) => ask(`DROP DATABASE ${name}`)));
    const url = databaseUrl(server, name);
    const database = await openDatabase({ url, dataDir: "unused", role: "guest", poolSize: 1 });
    const all = await migrationNames();
    expect(await database.pendingMigrations()).toEqual(all);
    const results = await Promise.all(Array.from({ length: 5 }, () => migrate({ url })));
    expect(results.flatMap(({ applied }) => applied)).toEqual(all);
    expect(await database.pendingMigrations()).toEqual([]);
    await database.close();
  },
);
