import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import pg from "pg";
import { openDatabase } from "../../src/database/database.ts";
import { checkMigrations, migrate, MigrationFailed } from "../../src/database/migrate.ts";
import { administer, aFreshDatabase, databaseUrl, testServerUrl } from "../support/database.ts";
import { program } from "../support/program.ts";
import { eventually } from "../support/world.ts";

const FOLDER = "prisma/migrations";
const all = (await readdir(FOLDER)).filter((name) => !name.includes(".")).sort();
/** Without those that a fork has for tables of its own. */
const NONE = "no-such-folder";
const read = (name: string) => readFile(path.join(FOLDER, name, "migration.sql"), "utf8");

/** Another migration, whose script a test writes. */
const NAME = "29990101000000_more";
const COLUMN = "ALTER TABLE credentials ADD COLUMN more INT";
/** The constants of `migrate`, so short that no test waits. */
const patience = { lockMs: 200, stepsBackMs: 50, inAllMs: 20_000 };

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

describe("kit migrate, on an empty database,", () => {
  it("applies all migrations, and records each as prisma migrate does; a second run applies none", async () => {
    const url = await anEmptyDatabase();
    expect(await migrate({ url, yours: NONE })).toEqual({ applied: all });
    const client = await aClient(url);
    const { rows } = await client.query<Record<string, unknown>>(
      'SELECT *, finished_at > started_at AS took FROM _prisma_migrations ORDER BY migration_name COLLATE "C"',
    );
    const hash = (text: string) => createHash("sha256").update(text).digest("hex");
    const scripts = await Promise.all(all.map(read));
    expect(rows).toEqual(
      all.map((name, i) => ({
        id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
        ...{ migration_name: name, checksum: hash(scripts[i]!), applied_steps_count: 1, logs: null },
        ...{ started_at: expect.any(Date), finished_at: expect.any(Date), took: true, rolled_back_at: null },
      })),
    );
    expect(await migrate({ url, yours: NONE })).toEqual({ applied: [] });
  });

  it("run twice at once, applies each migration once: the other run waits, and finds nothing to do", async () => {
    const url = await anEmptyDatabase();
    const client = await aClient(url);
    // `prisma migrate` holds the same lock.
    await client.query("SELECT pg_advisory_lock(72707369)");
    const runs = [1, 2].map(() => migrate({ url, yours: NONE }));
    await eventually(async () => {
      const { rows } = await client.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`,
      );
      expect(rows).toHaveLength(2);
    });
    await client.query("SELECT pg_advisory_unlock(72707369)");
    expect((await Promise.all(runs)).flatMap(({ applied }) => applied)).toEqual(all);
  });

  it("is what a start asks for", async () => {
    const db = openDatabase({ url: await anEmptyDatabase(), poolSize: 1 });
    await expect(checkMigrations(db)).rejects.toMatchObject({
      name: "Misconfigured",
      message: expect.stringMatching(
        /^The database lacks \d+ of our migrations\. Run: npm run --silent kit -- migrate$/,
      ),
    });
    await db.close();
  });
});

it("prisma/schema.prisma names the tables, columns and types that the migrations make", async () => {
  const types: Record<string, string> = {
    ...{ String: "text", Int: "integer", BigInt: "bigint", Float: "double precision", Boolean: "boolean" },
    ...{ Json: "jsonb", Bytes: "bytea", "@db.Uuid": "uuid", "@db.SmallInt": "smallint" },
    "@db.Timestamptz(6)": "timestamp(6) with time zone",
  };
  const text = (await readFile("prisma/schema.prisma", "utf8")).replaceAll(/\/\/.*$/gm, "");
  const drawn = [...text.matchAll(/^model \w+ \{$([^]*?)^\}$/gm)].flatMap(([, body = ""]) => {
    const table = /@@map\("(\w+)"\)/.exec(body)![1]!;
    return [...body.matchAll(/^ +(\w+) +(\w+)(\?|\[\])?( .*)?$/gm)].flatMap(
      ([, field, type, many, more = ""]) => {
        const sqlType = types[/@db\.\S+/.exec(more)?.[0] ?? type!];
        const name = /@map\("(\w+)"\)/.exec(more)?.[1] ?? field;
        return sqlType ? [`${table}.${name} ${sqlType}${{ "?": "", "[]": "[]" }[many!] ?? " NOT NULL"}`] : [];
      },
    );
  });
  const fresh = await aFreshDatabase();
  toClose.push(fresh.close);
  const made = await administer(fresh.settings.url, (ask) =>
    ask(`SELECT concat_ws(' ', relname || '.' || attname, format_type(atttypid, atttypmod),
           CASE WHEN attnotnull THEN 'NOT NULL' END) AS line FROM pg_attribute JOIN pg_class c ON c.oid = attrelid
         WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND relname <> '_prisma_migrations'`),
  );
  expect(drawn.length).toBeGreaterThan(100);
  expect(drawn.sort()).toEqual(made.map(({ line }) => line).sort());
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
    folder = await mkdtemp(path.join(tmpdir(), "addon-migrations-"));
    toClose.push(() => rm(folder, { recursive: true }));
    [client, other] = [await aClient(url), await aClient(url)];
  });

  async function withScript(script: string): Promise<void> {
    await mkdir(path.join(folder, NAME), { recursive: true });
    await writeFile(path.join(folder, NAME, "migration.sql"), script);
  }
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
    await withScript(`CREATE TABLE half_done (id INT);\nINSERT INTO half_done VALUES (';'); -- the end`);
    const failure = await ended(run());
    expect(failure).toBeInstanceOf(MigrationFailed);
    expect(failure).toMatchObject({
      message: `the migration ${NAME} failed: invalid input syntax for type integer: ";"`,
    });
    expect(await one("SELECT to_regclass('half_done') AS name")).toEqual({ name: null });
    expect(await one("SELECT 1 FROM _prisma_migrations WHERE migration_name = $1", [NAME])).toBeUndefined();
    await withScript(`${COLUMN} -- the end`);
    expect(await run()).toEqual(appliedOnce);
    await isDone();
  });

  it("whose process is killed is applied once: PostgreSQL completes it, and the next run waits for that", async () => {
    await withScript(`${COLUMN}; SELECT pg_sleep(0.5)`);
    const code = `const { migrate } = await import(${JSON.stringify(program("src/database/migrate.ts"))});
      await migrate(${JSON.stringify({ url, folder })});`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code]);
    await running("pg_sleep");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await run()).toEqual({ applied: [] });
    await isDone();
  });

  it("that waits for a reader, such as a backup, lets other readers through, and succeeds when that one is done, or fails at last", async () => {
    await withScript(COLUMN);
    const said: string[] = [];
    await other.query("BEGIN; SELECT count(*) FROM credentials");
    const failure = await ended(run({ patience: { ...patience, inAllMs: 300 } }));
    expect(failure).toMatchObject({
      message: `the migration ${NAME} failed: canceling statement due to lock timeout`,
    });
    const migrating = run({ say: (sentence) => void said.push(sentence) });
    let longestMs = 0;
    for (let reads = 0; said.length === 0 || reads < 10; reads += 1) {
      if (said.length === 0) await running("ALTER TABLE");
      const began = performance.now();
      await client.query("SELECT uuid FROM credentials LIMIT 1");
      longestMs = Math.max(longestMs, performance.now() - began);
    }
    expect(longestMs).toBeLessThan(2_000);
    await other.query("COMMIT");
    expect(await migrating).toEqual(appliedOnce);
    expect(said).toEqual([`${NAME}: another session holds what it changes. Trying until it lets go.`]);
    await isDone();
  });

  it("may take longer than the role's statements may", async () => {
    const { name } = (await one("SELECT quote_ident(current_database()) AS name"))!;
    for (const limit of ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"])
      await client.query(`ALTER ROLE CURRENT_USER IN DATABASE ${String(name)} SET ${limit} = '100ms'`);
    await withScript(`SELECT pg_sleep(0.3); ${COLUMN}`);
    expect(await run()).toEqual(appliedOnce);
  });
});
