import { spawn } from "node:child_process";
import { once } from "node:events";
import pg from "pg";
import { aVendorsDatabase } from "../support/migrations.ts";
import { program } from "../support/program.ts";
import { eventually } from "../support/world.ts";

let yours: Awaited<ReturnType<typeof aVendorsDatabase>>;
beforeEach(async () => {
  yours = await aVendorsDatabase();
});
afterEach(() => yours.close());

const invalid = () =>
  yours.rows("SELECT indexrelid::regclass::text AS index FROM pg_index WHERE NOT indisvalid");
const finished = () =>
  yours.rows(
    "SELECT migration_name AS name FROM yours._prisma_migrations WHERE finished_at IS NOT NULL ORDER BY 1",
  );

describe("a process that is killed in the middle of", () => {
  /** Starts a migration in a process of its own, waits for a statement like this, and kills it. */
  async function killedIn(like: string, before?: (pid: number) => Promise<void>): Promise<number> {
    const code = `const { migrate } = await import(${JSON.stringify(program("src/database/migrate.ts"))});
      await migrate(${JSON.stringify({ url: yours.url, yours: yours.folder })});`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], { stdio: "inherit" });
    const pid = await eventually(async () => {
      const look = `SELECT pid FROM pg_stat_activity WHERE application_name = 'addon-migrate' AND state = 'active'
        AND datname = current_database() AND query LIKE '${like}%' AND wait_event_type = 'Lock'`;
      return ((await yours.rows(look))[0]?.["pid"] as number | undefined) ?? null;
    });
    await before?.(pid);
    child.kill("SIGKILL");
    await once(child, "exit");
    return pid;
  }

  async function whileLocked(lock: string, work: (other: pg.Client) => Promise<unknown>): Promise<void> {
    const other = new pg.Client(yours.url);
    await other.connect();
    await other.query(`BEGIN; ${lock}`);
    await work(other).finally(() => other.end());
  }

  it.each([
    ["a transaction", "ALTER TABLE teapots ADD COLUMN more int", "ALTER TABLE", "LOCK TABLE yours.teapots"],
    [
      "an index",
      "-- not in a transaction\nCREATE INDEX CONCURRENTLY more ON teapots (id)",
      "CREATE INDEX",
      "LOCK TABLE yours.teapots IN ROW EXCLUSIVE MODE",
    ],
    [
      "an index if there is none",
      "-- not in a transaction\nCREATE INDEX CONCURRENTLY IF NOT EXISTS more ON teapots (id)",
      "CREATE INDEX",
      "LOCK TABLE yours.teapots IN ROW EXCLUSIVE MODE",
    ],
    [
      "a partition's end",
      "-- not in a transaction\nALTER TABLE pots DETACH PARTITION pots_1 CONCURRENTLY",
      "ALTER TABLE",
      "SELECT * FROM yours.pots",
    ],
  ])(
    "%s is followed by a run that completes it, whether PostgreSQL does or not",
    async (_what, script, like, lock) => {
      await yours.write({
        "1_table": `CREATE TABLE teapots (id int); CREATE TABLE pots (id int) PARTITION BY LIST (id);
        CREATE TABLE pots_1 PARTITION OF pots FOR VALUES IN (1)`,
      });
      await yours.run();
      await yours.write({ "2_killed": script });
      // The lock is released: PostgreSQL completes the statement.
      await whileLocked(lock, () => killedIn(like));
      expect(await yours.run()).toMatchObject({ applied: ["yours/2_killed"] });
      expect(await finished()).toEqual([{ name: "1_table" }, { name: "2_killed" }]);
      expect(await invalid()).toEqual([]);
    },
  );

  it("a transaction ends by itself, although it waits for others, and the next run applies the migration", async () => {
    await yours.write({ "1_table": "CREATE TABLE teapots (id int)" });
    await yours.run();
    await yours.write({ "2_killed": "SET LOCAL lock_timeout = 0; ALTER TABLE teapots ADD COLUMN more int" });
    await whileLocked("LOCK TABLE yours.teapots", async (other) => {
      let next: ReturnType<typeof yours.run>;
      const pid = await killedIn("ALTER TABLE", async (holder) => {
        next = yours.run();
        const told = `Process ${holder} of the database (addon-migrate, role `;
        await eventually(() => expect(yours.said).toContainEqual(expect.stringContaining(told)));
      });
      await eventually(async () =>
        expect(await yours.rows(`SELECT 1 FROM pg_stat_activity WHERE pid = ${pid}`)).toEqual([]),
      );
      await other.query("COMMIT");
      expect(await next!).toMatchObject({ applied: ["yours/2_killed"] });
    });
  });

  it.each(["", "IF NOT EXISTS "])(
    "an index %sthat PostgreSQL then gives up is followed by a run that makes it",
    async (unless) => {
      await yours.write({ "1_table": "CREATE TABLE teapots (id int)" });
      await yours.run();
      await yours.write({
        "2_killed": `-- not in a transaction\nCREATE INDEX CONCURRENTLY ${unless}more ON teapots (id)`,
      });
      await whileLocked("LOCK TABLE yours.teapots IN ROW EXCLUSIVE MODE", async () => {
        const pid = await killedIn("CREATE INDEX");
        await yours.rows(`SELECT pg_terminate_backend(${pid}, 5000)`);
      });
      expect(await invalid()).toEqual([{ index: "yours.more" }]);
      expect(await yours.run()).toMatchObject({ applied: ["yours/2_killed"] });
      expect(await invalid()).toEqual([]);
      expect(await yours.rows("SELECT to_regclass('yours.more')::text AS index")).toEqual([
        { index: "yours.more" },
      ]);
    },
  );
});
