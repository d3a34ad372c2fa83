import type { OpenContext } from "../../src/context.ts";
import { openDatabase } from "../../src/database/database.ts";
import { checkMigrations } from "../../src/database/migration-comparison.ts";
import { migrations } from "../../src/operator/doctor/installation.ts";
import { kit, kitJson } from "../support/kit.ts";
import { aVendorsDatabase } from "../support/migrations.ts";
import { opened } from "../support/world.ts";

const yours = opened(aVendorsDatabase);
afterEach(() => yours.reset());

const TABLE = "CREATE TABLE teapots (id int);\n-- The end.\n";

it.each([
  ["changed", `${TABLE}-- And more.\n`, ["yours/1_table"], []],
  ["emptied", "", ["yours/1_table"], []],
  ["given the line ends of Windows", TABLE.replaceAll("\n", "\r\n"), [], []],
  ["given a mark of its encoding", `\ufeff${TABLE}`, [], []],
  ["deleted", null, [], ["yours/1_table"]],
])(
  "an applied migration that is %s is found by the next run, which goes on",
  async (_what, script, edited, missing) => {
    await yours.write({ "1_table": TABLE });
    expect(await yours.run()).toEqual({ applied: ["yours/1_table"], edited: [], missing: [] });
    await yours.write({ "1_table": script, "2_more": "CREATE TABLE more (id int)" });
    yours.said.length = 0;
    expect(await yours.run()).toEqual({ applied: ["yours/2_more"], edited, missing });
    const named = [...edited, ...missing];
    expect(yours.said).toEqual(named.map((name) => expect.stringContaining(name)));
  },
);

it("one with the line ends of Windows is the same when Git has given it others", async () => {
  await yours.write({ "1_table": TABLE.replaceAll("\n", "\r\n") });
  await yours.run();
  await yours.write({ "1_table": TABLE });
  expect(await yours.run()).toMatchObject({ edited: [] });
});

it("one that comes before an applied one is applied, and it is said that a new database has another order", async () => {
  await yours.write({ "2_second": TABLE });
  await yours.run();
  await yours.write({ "1_first": "CREATE TABLE first (id int)" });
  expect(await yours.run()).toMatchObject({ applied: ["yours/1_first"] });
  expect(yours.said).toEqual([expect.stringMatching(/yours\/1_first.* in the order of their names/)]);
});

it("kit migrate and kit doctor name the kit's, too, and a start names what the database lacks", async () => {
  const DATABASE_URL = yours.url;
  await yours.rows(
    `UPDATE _prisma_migrations SET checksum = 'x' WHERE migration_name = '20260404000000_who_acted'`,
  );
  await yours.rows(`INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
    VALUES ('1', 'x', '29990101000000_of_a_later_release', now())`);
  const data = {
    applied: [],
    edited: ["20260404000000_who_acted"],
    missing: ["29990101000000_of_a_later_release"],
  };
  expect(await kitJson({ DATABASE_URL }, ["migrate"])).toEqual({ code: 0, data });
  const { code, stderr } = await kit({ DATABASE_URL }, ["migrate"]);
  expect([code, stderr]).toEqual([
    0,
    expect.stringMatching(/20260404000000_who_acted[^]*_of_a_later_release/),
  ]);

  const db = openDatabase({ url: DATABASE_URL, poolSize: 1 });
  await checkMigrations(db);
  const [found] = await migrations({ db } as OpenContext);
  expect(found).toMatchObject({ ok: true, fix: expect.stringContaining("docs/upgrade.md") });
  expect(found!.message).toMatch(/20260404000000_who_acted.*_of_a_later_release/);
  await yours.rows(`DELETE FROM _prisma_migrations WHERE migration_name = '20260404000000_who_acted'`);
  await expect(checkMigrations(db)).rejects.toThrow(
    "The database lacks 1 migration of the kit (20260404000000_who_acted). Run: npm run --silent kit -- migrate",
  );
  await db.close();
});
