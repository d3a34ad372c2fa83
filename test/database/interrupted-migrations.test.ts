// Migrations whose process dies, or that cannot lock a table at once. Only PostgreSQL has concurrent sessions.

import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { LockWait } from "../../src/database/lock-waits.ts";
import { applyMigrations } from "../../src/database/migrate.ts";
import { kit } from "../kit/kit.ts";
import { aFreshDatabase, testServerUrl, type FreshDatabase } from "../support/database.ts";
import { startDatabaseProxy } from "../support/database-proxy.ts";

const NAME = "29990101000000_more";
const COLUMN = "ALTER TABLE credentials ADD COLUMN more INT";

(testServerUrl ? describe : describe.skip)("an interrupted or blocked migration", () => {
  let fresh: FreshDatabase;
  let folder: string;
  let client: pg.Client;
  let other: pg.Client;
  beforeEach(async () => {
    fresh = await aFreshDatabase();
    folder = await mkdtemp(path.join(tmpdir(), "addon-migrations-"));
    [client, other] = [new pg.Client(address()), new pg.Client(address())];
    await Promise.all([client.connect(), other.connect()]);
  });
  afterEach(async () => {
    await Promise.all([client.end(), other.end()]);
    await rm(folder, { recursive: true });
    await fresh.close();
  });

  const address = () => ({ connectionString: fresh.settings.url! });

  async function withScript(script: string): Promise<void> {
    await cp("prisma/migrations", folder, { recursive: true });
    await mkdir(path.join(folder, NAME));
    await writeFile(path.join(folder, NAME, "migration.sql"), script);
  }

  async function untilItRuns(beginning = "SELECT pg_sleep"): Promise<number> {
    for (;;) {
      const { rows } = await client.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE query LIKE $1 AND datname = current_database()",
        [`%${beginning}%`],
      );
      if (rows[0]) return rows[0].pid;
      await sleep(20);
    }
  }

  const untilItWaits = async () => {
    const isWaiting = `SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE NOT granted AND application_name = 'addon-migrate' AND datname = current_database()`;
    while ((await other.query(isWaiting)).rowCount === 0) await sleep(20);
  };

  const columns = async () =>
    (await client.query("SELECT 1 FROM information_schema.columns WHERE column_name = 'more'")).rowCount;

  it("that a failover cut off is started again by the next run, also by that of the previous release", async () => {
    await withScript(`SELECT pg_sleep(1); ${COLUMN}`);
    const cutOff = applyMigrations(address(), folder).catch((error: unknown) => error);
    await client.query("SELECT pg_terminate_backend($1)", [await untilItRuns()]);
    expect(await cutOff).toMatchObject({ id: "migration_failed" });
    expect(await applyMigrations(address())).toEqual({ applied: [] });
    expect(await applyMigrations(address(), folder)).toEqual({ applied: [NAME] });
    expect(await columns()).toBe(1);
  }, 30_000);

  it("that PostgreSQL completes after its process died is not applied twice", async () => {
    await withScript(`SELECT pg_sleep(1); ${COLUMN} -- the end`);
    const proxy = await startDatabaseProxy(fresh.settings.url!);
    const cutOff = applyMigrations({ connectionString: proxy.url }, folder).catch((error: unknown) => error);
    await untilItRuns();
    await proxy.close();
    expect(await cutOff).toMatchObject({ id: "migration_failed" });
    expect(await applyMigrations(address(), folder)).toEqual({ applied: [] });
    expect(await columns()).toBe(1);
  }, 30_000);

  it.each([
    ["waits for readers of a table without blocking other statements behind it", COLUMN],
    [
      "does so although a comment, string or function contains COMMIT",
      `-- No COMMIT; none.
       CREATE FUNCTION one() RETURNS TEXT LANGUAGE plpgsql AS $$ BEGIN RETURN '; COMMIT; '; END; $$; ${COLUMN}`,
    ],
    [
      "does so with a function that has an SQL body",
      `CREATE FUNCTION two() RETURNS INT LANGUAGE SQL BEGIN ATOMIC SELECT 2; END; ${COLUMN}`,
    ],
  ])(
    "%s",
    async (_, script) => {
      await withScript(script);
      await other.query("BEGIN; SELECT count(*) FROM credentials");
      let isDone = false;
      const migrating = applyMigrations(address(), folder).finally(() => (isDone = true));
      let longestMs = 0;
      const until = performance.now() + 4_000;
      while (performance.now() < until) {
        const began = performance.now();
        await client.query("SELECT uuid FROM credentials LIMIT 1");
        longestMs = Math.max(longestMs, performance.now() - began);
        await sleep(20);
      }
      expect(longestMs).toBeLessThan(2_500);
      expect(isDone).toBe(false);
      await other.query("COMMIT");
      expect(await migrating).toEqual({ applied: [NAME] });
    },
    30_000,
  );

  it.each([
    ["is one transaction of its own is started again like any other", `BEGIN; ${COLUMN}; COMMIT;`],
    [
      "is several transactions waits, because it could not be started again",
      `BEGIN; CREATE TABLE a (); COMMIT; ${COLUMN};`,
    ],
    ["is several transactions ended by END waits too", `BEGIN; CREATE TABLE a (); END; ${COLUMN};`],
    [
      "hides several transactions behind a quote waits too",
      `BEGIN; CREATE TABLE a (); SELECT E'it\\'s'; COMMIT; ${COLUMN};`,
    ],
  ])(
    "that %s",
    async (_, script) => {
      await withScript(script);
      await other.query("BEGIN; SELECT count(*) FROM credentials");
      const migrating = applyMigrations(address(), folder);
      await sleep(2_500);
      await other.query("COMMIT");
      expect(await migrating).toEqual({ applied: [NAME] });
    },
    30_000,
  );

  it("that PostgreSQL aborts as a deadlock releases its locks and is started again", async () => {
    await withScript(
      "LOCK TABLE steps IN SHARE MODE; LOCK TABLE credentials IN SHARE MODE; CREATE TABLE more ()",
    );
    await client.query("BEGIN; LOCK TABLE credentials IN ROW EXCLUSIVE MODE");
    const migrating = applyMigrations(address(), folder);
    await untilItWaits();
    // It is the migration that waits first, and so PostgreSQL ends it.
    await client.query("LOCK TABLE steps IN ROW EXCLUSIVE MODE");
    await client.query("COMMIT");
    expect(await migrating).toEqual({ applied: [NAME] });
  }, 30_000);

  it("does nothing before it has the table locks that it needs, so that it builds no index in vain", async () => {
    await client.query("CREATE SEQUENCE tries");
    const before = `CREATE INDEX more ON credentials (lease); SELECT nextval('tries')`;
    await withScript(`${before}; DROP INDEX credentials_state_idx; ALTER TABLE steps ADD COLUMN more INT`);
    await other.query("BEGIN; SELECT count(*) FROM steps");
    const migrating = applyMigrations(address(), folder);
    await sleep(4_500);
    await other.query("COMMIT");
    expect(await migrating).toEqual({ applied: [NAME] });
    expect((await client.query<{ tries: string }>("SELECT last_value AS tries FROM tries")).rows).toEqual([
      { tries: "1" },
    ]);
  }, 30_000);

  it.each([
    ["creates tables and indexes", "CREATE TABLE more (); CREATE INDEX one ON credentials (lease)"],
    ["sets how a table is stored", "ALTER TABLE credentials SET (fillfactor = 40)"],
  ])("that only %s does not wait for readers", async (_, script) => {
    await withScript(script);
    await other.query("BEGIN; SELECT count(*) FROM credentials");
    expect(await applyMigrations(address(), folder)).toEqual({ applied: [NAME] });
    await other.query("COMMIT");
  });

  it("that continues after a COMMIT of its own is not started again after a deadlock", async () => {
    await withScript(
      "BEGIN; CREATE TABLE a (); COMMIT; LOCK TABLE steps IN SHARE MODE; LOCK TABLE credentials IN SHARE MODE; SELECT 1",
    );
    await client.query("BEGIN; LOCK TABLE credentials IN ROW EXCLUSIVE MODE");
    const failing = applyMigrations(address(), folder).catch((error: unknown) => error);
    await untilItWaits();
    await client.query("LOCK TABLE steps IN ROW EXCLUSIVE MODE");
    await client.query("COMMIT");
    expect(await failing).toMatchObject({ message: expect.stringContaining("deadlock") });
  }, 30_000);

  it("may contain statements that cannot run in a transaction", async () => {
    await withScript("CREATE INDEX CONCURRENTLY more ON credentials (lease)");
    expect(await applyMigrations(address(), folder)).toEqual({ applied: [NAME] });
  }, 30_000);

  describe("under a role with short statement timeouts, as behind a pooler,", () => {
    beforeEach(async () => {
      const { rows } = await client.query<{ name: string }>("SELECT quote_ident(current_database()) AS name");
      for (const limit of ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"])
        await client.query(`ALTER ROLE CURRENT_USER IN DATABASE ${rows[0]!.name} SET ${limit} = '400ms'`);
    });

    it("may take longer than those timeouts", async () => {
      await withScript(`SELECT pg_sleep(1); ${COLUMN}`);
      expect(await applyMigrations(address(), folder)).toEqual({ applied: [NAME] });
    }, 30_000);

    it.each([
      ["waits with a script of several transactions", `BEGIN; CREATE TABLE a (); COMMIT; ${COLUMN};`],
      [
        "waits with CREATE INDEX CONCURRENTLY, and leaves no invalid index",
        "CREATE INDEX CONCURRENTLY IF NOT EXISTS more ON credentials (lease)",
      ],
    ])(
      "%s",
      async (_, script) => {
        await withScript(script);
        await other.query("BEGIN; LOCK TABLE credentials IN ROW EXCLUSIVE MODE");
        const migrating = applyMigrations(address(), folder);
        await sleep(3_500);
        await other.query("COMMIT");
        expect(await migrating).toEqual({ applied: [NAME] });
        const half = await client.query("SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid");
        expect(half.rows).toEqual([]);
      },
      30_000,
    );
  });

  it("that `prisma migrate` is applying is not taken for an interrupted one", async () => {
    await withScript("CREATE TABLE more (more INT)");
    await other.query("SELECT pg_advisory_lock(72707369)");
    await other.query(
      `INSERT INTO _prisma_migrations (id, checksum, migration_name) VALUES ('prisma', 'none', '${NAME}')`,
    );
    const migrating = applyMigrations(address(), folder);
    await untilItRuns("SELECT pg_%advisory_lock");
    await sleep(500);
    await other.query("CREATE TABLE more (more INT)");
    await other.query("UPDATE _prisma_migrations SET finished_at = now() WHERE id = 'prisma'");
    await other.query("SELECT pg_advisory_unlock(72707369)");
    expect(await migrating).toEqual({ applied: [] });
  }, 30_000);

  it("that waits for all running statements does not wait for another migrator that waits for it", async () => {
    const script = "CREATE INDEX CONCURRENTLY more ON credentials (lease)";
    await withScript(script);
    await other.query("BEGIN; LOCK TABLE credentials IN ROW EXCLUSIVE MODE");
    const first = applyMigrations(address(), folder);
    await untilItRuns(script);
    const second = applyMigrations(address(), folder);
    await untilItRuns("SELECT pg_%advisory_lock");
    await sleep(500);
    await other.query("COMMIT");
    expect(await Promise.all([first, second])).toEqual([{ applied: [NAME] }, { applied: [] }]);
  }, 30_000);

  describe("reports what it waits for", () => {
    const waits: LockWait[] = [];
    const onWait = (wait: LockWait) => void waits.push(wait);
    beforeEach(async () => {
      waits.length = 0;
      await other.query("SET application_name = 'backup'");
    });
    const untilTold = async (upToMs: number) => {
      for (const until = performance.now() + upToMs; performance.now() < until && waits.length === 0;)
        await sleep(20);
      return waits[0];
    };
    const pidOfOther = async () =>
      (await other.query<{ pid: number }>("SELECT pg_backend_pid() AS pid")).rows[0]!.pid;

    it.each([
      ["with retries", COLUMN],
      ["without retries", `BEGIN; CREATE TABLE a (); COMMIT; ${COLUMN};`],
    ])(
      "once: the table that it locks %s, and the process that holds it",
      async (_, script) => {
        await withScript(script);
        await other.query("BEGIN; SELECT count(*) FROM credentials");
        const pid = await pidOfOther();
        const migrating = applyMigrations(address(), folder, onWait);
        expect(await untilTold(2_000)).toMatchObject({
          isForMigration: false,
          lockOn: "credentials",
          holders: [{ pid, name: "backup", state: "idle in transaction", seconds: expect.any(Number) }],
        });
        await sleep(4_000);
        expect(waits).toHaveLength(1);
        await other.query("COMMIT");
        expect(await migrating).toEqual({ applied: [NAME] });
      },
      30_000,
    );

    it("a transaction, when it builds an index concurrently", async () => {
      await withScript("CREATE INDEX CONCURRENTLY more ON credentials (lease)");
      await other.query("BEGIN; LOCK TABLE credentials IN ROW EXCLUSIVE MODE");
      const pid = await pidOfOther();
      const migrating = applyMigrations(address(), folder, onWait);
      expect(await untilTold(2_000)).toMatchObject({ lockOn: null, holders: [{ pid }] });
      await other.query("COMMIT");
      expect(await migrating).toEqual({ applied: [NAME] });
    }, 30_000);

    it("the next cause at once when the first one has ended", async () => {
      await withScript(COLUMN);
      await other.query("BEGIN; SELECT count(*) FROM credentials");
      await other.query("SELECT pg_advisory_lock(x'6164646f6e'::bigint)");
      const migrating = applyMigrations(address(), folder, onWait);
      expect(await untilTold(2_000)).toMatchObject({ isForMigration: true });
      waits.length = 0;
      await other.query("SELECT pg_advisory_unlock(x'6164646f6e'::bigint)");
      expect(await untilTold(3_000)).toMatchObject({ lockOn: "credentials" });
      await other.query("COMMIT");
      expect(await migrating).toEqual({ applied: [NAME] });
    }, 30_000);

    it("another migration, repeated after ten seconds; `kit migrate` prints it on standard error", async () => {
      await other.query("SELECT pg_advisory_lock(x'6164646f6e'::bigint)");
      const migrating = applyMigrations(address(), undefined, onWait);
      const command = kit({ ...fresh.environment }, ["migrate"]);
      expect(await untilTold(2_000)).toMatchObject({
        isForMigration: true,
        holders: [{ pid: await pidOfOther(), name: "backup" }],
      });
      await sleep(11_000);
      expect(waits).toHaveLength(2);
      await other.query("SELECT pg_advisory_unlock_all()");
      expect(await migrating).toEqual({ applied: [] });
      const { code, stdout, stderr } = await command;
      expect(code).toBe(0);
      expect(stdout).toContain("The schema is up to date");
      expect(stderr.replace(/\s+/g, " ")).toContain(
        `Waiting for another migration to end: process ${await pidOfOther()} (backup, idle, for `,
      );
    }, 40_000);
  });
});
