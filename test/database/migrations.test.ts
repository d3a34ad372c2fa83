import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { differences, tablesIn } from "../../dev/compare-schema.ts";
import { modelsOf } from "../../dev/models.ts";
import { openDatabase } from "../../src/database/database.ts";
import { migrate } from "../../src/database/migrate.ts";
import { checkMigrations } from "../../src/database/migration-comparison.ts";
import { listResources } from "../../src/operator/resource-list.ts";
import { showResource } from "../../src/operator/resources.ts";
import { administer, aFreshDatabase, databaseUrl, testServerUrl } from "../support/database.ts";
import { harmfulTo } from "../support/expanding.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually } from "../support/world.ts";

const FOLDER = "prisma/migrations";
const all = (await readdir(FOLDER)).filter((name) => !name.includes(".")).sort();
/** Without those that a fork has for tables of its own. */
const NONE = "no-such-folder";
const read = (name: string) => readFile(path.join(FOLDER, name, "migration.sql"), "utf8");

const statementsIn = (script: string) => script.replace(/^--.*$/gm, "").match(/;/g)!.length;
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Another migration, whose script a test writes. */
const NAME = "29990101000000_more";
const COLUMN = "ALTER TABLE credentials ADD COLUMN more INT";
/** The constants of `migrate`, so short that no test waits. */
const patience = { lockMs: 200, stepsBackMs: 50, inAllMs: 20_000, pollMs: 20 };

const toClose: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});

async function anEmptyDatabase(): Promise<string> {
  const name = `addon_test_empty_${process.pid}`;
  await administer(testServerUrl(), (ask) => ask(`CREATE DATABASE ${name} TEMPLATE template0`));
  toClose.push(() => administer(testServerUrl(), (ask) => ask(`DROP DATABASE ${name}`)));
  return databaseUrl(testServerUrl(), name);
}

async function aClient(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  toClose.push(() => client.end());
  return client;
}

/** A folder of migrations that has this one, until the test is over. */
async function aFolderWith(script: string): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "addon-migrations-"));
  toClose.push(() => rm(folder, { recursive: true }));
  await mkdir(path.join(folder, NAME));
  await writeFile(path.join(folder, NAME, "migration.sql"), script);
  return folder;
}

describe("kit migrate, on an empty database,", () => {
  it("applies all migrations, and records each as prisma migrate does; a second run applies none", async () => {
    const url = await anEmptyDatabase();
    expect(await migrate({ url, yours: NONE })).toMatchObject({ applied: all });
    const client = await aClient(url);
    const { rows } = await client.query<Record<string, unknown>>(
      'SELECT *, finished_at > started_at AS took FROM _prisma_migrations ORDER BY migration_name COLLATE "C"',
    );
    const scripts = await Promise.all(all.map(read));
    expect(rows).toEqual(
      all.map((name, i) => ({
        id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
        ...{ migration_name: name, checksum: sha256(scripts[i]!), logs: null },
        // Outside a transaction each statement is a step.
        applied_steps_count: scripts[i]!.startsWith("-- not in a transaction")
          ? statementsIn(scripts[i]!)
          : 1,
        ...{ started_at: expect.any(Date), finished_at: expect.any(Date), took: true, rolled_back_at: null },
      })),
    );
    expect(await migrate({ url, yours: NONE })).toMatchObject({ applied: [] });
  });

  it("run twice at once, applies each migration once: the other run waits, and finds nothing to do", async () => {
    const url = await anEmptyDatabase();
    const client = await aClient(url);
    // `prisma migrate` holds the same lock.
    await client.query("SELECT pg_advisory_lock(72707369)");
    const said: string[] = [];
    const say = (sentence: string) => void said.push(sentence);
    const runs = [1, 2].map(() => migrate({ url, yours: NONE, patience, say }));
    await eventually(() => expect(said).toHaveLength(2));
    await client.query("SELECT pg_advisory_unlock(72707369)");
    expect((await Promise.all(runs)).flatMap(({ applied }) => applied).sort()).toEqual(all);
  });

  it("is what a start asks for", async () => {
    const db = openDatabase({ url: await anEmptyDatabase(), poolSize: 1 });
    await expect(checkMigrations(db)).rejects.toMatchObject({
      name: "Misconfigured",
      message: expect.stringMatching(
        new RegExp(
          `^The database lacks ${all.length} migrations of the kit \\(${all[0]}, .* ${all.length - 5} more\\)` +
            `.*\\. Run: npm run --silent kit -- migrate$`,
        ),
      ),
    });
    await db.close();
  });
});

// During a rolling release the previous build still runs on the schema of the newer one. So a migration only adds;
// what becomes unnecessary is removed by a later release.
describe("migrations", () => {
  /** The migrations that databases in production have had; a fork adds its own after them. */
  const landed: Record<string, string> = {
    "20260101000000_resources_and_credentials": "3458da0c9edf0fc2",
    "20260201000000_people_and_sessions": "cc22cfbecf9abfad",
    "20260301000000_most_urgent_grants_first": "14a2ae3b511ce217",
    "20260401000000_metrics_and_request_ids": "f3d9a6051f47a03a",
    "20260402000000_sign_on_of_customers": "8efc6e264d7b0716",
    "20260403000000_operator_pages": "5f8444cf17770542",
    "20260404000000_who_acted": "c3e42330c7b64d86",
    "20260405000000_room_beside_credentials": "94fc8ec49847a08c",
    "20260406000000_names_that_fit_an_index": "f9ffc1d57e19ecd2",
    "20260407000000_attention_by_uuid": "54494d2b8b559e3b",
    "20260407000000_lanes_of_steps": "27eeb63c1e3ea356",
    "20260407000001_what_fails": "0912ef7420f7a311",
    "20260407000002_tokens_nobody_refreshes": "48e96fbb57e5b0cc",
  };

  it("are unchanged since they landed, and all listed here up to the last that did", async () => {
    const last = Object.keys(landed).sort().at(-1)!;
    const found = all.filter((name) => name <= last).map(async (name) => [name, sha256(await read(name))]);
    const hashes = (await Promise.all(found)).map(([name, hash]) => [name, hash!.slice(0, 16)]);
    expect(Object.fromEntries(hashes)).toEqual(landed);
  });

  it("after the first are compatible with the build before them", async () => {
    expect(all.length).toBeGreaterThan(1);
    for (const name of all.slice(1)) expect([name, ...harmfulTo(await read(name))]).toEqual([name]);
  });

  it.each([
    `DROP TABLE "events"`,
    `ALTER TABLE "events" DROP COLUMN "detail"`,
    `ALTER TABLE "events" RENAME COLUMN "detail" TO "details"`,
    `ALTER TABLE "events" ADD COLUMN "who" TEXT NOT NULL`,
    `ALTER TABLE "events" ALTER COLUMN "detail" SET NOT NULL`,
    `ALTER TABLE "events" ADD CONSTRAINT "few" CHECK ("id" < 9)`,
    `CREATE UNIQUE INDEX "one" ON "events"("uuid")`,
    `UPDATE "events" SET "detail" = '{}'`,
  ])("are checked for changes that break the build before them: %s", (sql) => {
    expect(harmfulTo(`CREATE TABLE "fine" ("id" INT);\n${sql};`)).toEqual([sql]);
  });
});

it("prisma/schema.prisma describes the tables that the migrations make", async () => {
  const fresh = await aFreshDatabase();
  toClose.push(fresh.close);
  const models = modelsOf(await readFile("prisma/schema.prisma", "utf8"));
  const side = { file: "prisma/schema.prisma", schema: "public", migrations: FOLDER };
  const tables = await tablesIn(await aClient(fresh.settings.url), "public");
  expect(tables.flatMap(({ columns }) => columns).length).toBeGreaterThan(100);
  expect(differences(models, tables, side)).toEqual([]);
});

describe("a migration", () => {
  let url: string;
  let folder: string;
  let client: pg.Client;
  let other: pg.Client;
  beforeEach(async () => {
    const fresh = await aFreshDatabase();
    toClose.push(fresh.close);
    url = fresh.settings.url;
    [client, other] = [await aClient(url), await aClient(url)];
  });

  const run = (more: Partial<Parameters<typeof migrate>[0]> = {}) =>
    migrate({ url, folder, patience, ...more });
  const appliedOnce = { applied: [NAME] };
  const ended = (work: Promise<unknown>) => work.catch((error: unknown) => error);

  const one = async (text: string, values: unknown[] = []) =>
    (await client.query<Record<string, unknown>>(text, values)).rows[0];
  /** The process of the server that runs a migration's statement like this. */
  const running = (like: string) =>
    eventually(async () => {
      const look = `SELECT pid FROM pg_stat_activity WHERE application_name = 'addon-migrate' AND state = 'active'
        AND datname = current_database() AND query LIKE $1`;
      return (await one(look, [`%${like}%`]))?.["pid"] ?? null;
    });
  const isDone = async () => {
    expect(await one("SELECT count(*)::int AS columns FROM pg_attribute WHERE attname = 'more'")).toEqual({
      columns: 1,
    });
    const finished = `SELECT count(*)::int AS finished FROM _prisma_migrations WHERE migration_name = $1 AND finished_at IS NOT NULL`;
    expect(await one(finished, [NAME])).toEqual({ finished: 1 });
  };

  it("that fails leaves nothing, and names itself and the fault; the next run begins it again", async () => {
    folder = await aFolderWith(
      `CREATE TABLE half_done (id INT);\nINSERT INTO half_done VALUES (';'); -- the end`,
    );
    const failure = await ended(run());
    expect(failure).toMatchObject({
      id: "migration_failed",
      message: expect.stringMatching(
        new RegExp(
          `^the migration ${NAME} failed: invalid input syntax for type integer: ";"\\. ` +
            `\\S*/${NAME}/migration\\.sql, line 2: INSERT INTO half_done VALUES \\(';'\\)\\.$`,
        ),
      ),
    });
    expect(await one("SELECT to_regclass('half_done') AS name")).toEqual({ name: null });
    expect(await one("SELECT 1 FROM _prisma_migrations WHERE migration_name = $1", [NAME])).toBeUndefined();
    folder = await aFolderWith(`${COLUMN} -- the end`);
    expect(await run()).toMatchObject(appliedOnce);
    await isDone();
  });

  it("that waits for a reader, such as a backup, lets other readers through, and succeeds when that one is done, or fails at last", async () => {
    folder = await aFolderWith(COLUMN);
    const said: string[] = [];
    await other.query("BEGIN; SELECT count(*) FROM credentials");
    const failure = await ended(run({ patience: { ...patience, inAllMs: 300 } }));
    expect(failure).toMatchObject({
      message: expect.stringContaining(
        `the migration ${NAME} failed: canceling statement due to lock timeout`,
      ),
    });
    const migrating = run({ say: (sentence) => void said.push(sentence) });
    // No reader waits for longer, by the server's clock.
    await client.query("SET statement_timeout = '2s'");
    for (let reads = 0; said.length === 0 || reads < 10; reads += 1) {
      if (said.length === 0) await running("ALTER TABLE");
      await client.query("SELECT uuid FROM credentials LIMIT 1");
    }
    await client.query("RESET statement_timeout");
    await other.query("COMMIT");
    expect(await migrating).toMatchObject(appliedOnce);
    const waits = `${NAME}: another session holds locks on its tables. Retrying until they are free.`;
    expect(said.filter((sentence) => sentence === waits)).toHaveLength(1);
    await isDone();
  });

  it("may take longer than the role's statements may", async () => {
    const { name } = (await one("SELECT quote_ident(current_database()) AS name"))!;
    for (const limit of ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"])
      await client.query(`ALTER ROLE CURRENT_USER IN DATABASE ${String(name)} SET ${limit} = '2s'`);
    folder = await aFolderWith(`SELECT pg_sleep(2.5); ${COLUMN}`);
    expect(await run()).toMatchObject(appliedOnce);
  });
});

it("a build keeps working, and can be started again, after a later one has migrated the database", async () => {
  // Loading what operators read with stops this process for seconds, so it comes before the service.
  const unused = await aFreshDatabase();
  toClose.push(unused.close);
  const loading = openDatabase(unused.settings);
  await listResources(loading, {});
  await loading.close();
  const life = await aLifecycle();
  toClose.push(life.close);
  const { db } = life.world;
  // Every prepared statement on its connections has been used.
  const before = await life.settled();
  await life.control.changePlan(before, "premium");
  await life.control.deprovision(await life.settled("dedicated"));
  await listResources(db, {});
  await showResource(db, before);

  // What a later build may add: columns of every table, one of them NOT NULL, an index, and another table.
  const tables = await life.world.rows<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_prisma_migrations'`,
  );
  const script = tables.map(
    ({
      name,
    }) => `ALTER TABLE "${name}" ADD COLUMN "later" TEXT, ADD COLUMN "later_always" INTEGER NOT NULL DEFAULT 7;
      CREATE INDEX "${name}_later_idx" ON "${name}"("later");\n`,
  );
  const folder = await aFolderWith(`${script.join("")}CREATE TABLE "later_things" ("id" INT NOT NULL);`);
  expect(harmfulTo(await readFile(path.join(folder, NAME, "migration.sql"), "utf8"))).toEqual([]);
  const url = life.world.environment["DATABASE_URL"]!;
  expect(await migrate({ url, folder })).toMatchObject({ applied: [NAME] });

  for (const start of ["still running", "started again"]) {
    if (start === "started again") await life.world.restart();
    const uuid = await life.settled();
    for (const each of [before, uuid]) {
      const { generation } = (await life.credential(each))!;
      await life.world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = $1`, [each]);
      life.world.service.services.jobs.wake("refresh-tokens");
      await life.becomes(each, { state: "active", generation: generation + 1 });
    }
    expect((await life.control.changePlan(uuid, "premium")).response.status).toBe(200);
    expect((await life.control.redeliver(uuid)).response.status).toBe(200);
    expect((await listResources(db, {})).resources.map((each) => each.uuid)).toContain(uuid);
    expect(await showResource(db, uuid)).toMatchObject({ plan: "premium" });
    expect((await life.control.deprovision(uuid)).response.status).toBe(204);
  }
  expect((await life.control.deprovision(before)).response.status).toBe(204);
  expect(life.world.logged()).not.toMatch(/"level":"error"/);
});
