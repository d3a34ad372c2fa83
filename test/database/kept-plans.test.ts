// Again on PostgreSQL: the embedded database keeps no plans.

import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { batchStatement, openDatabase, statement, type Database } from "../../src/database/database.ts";
import { administer, aFreshDatabase, testServerUrl, type FreshDatabase } from "../support/database.ts";

const onPostgresql = testServerUrl ? test : test.skip;

let fresh: FreshDatabase;
let database: Database;

beforeAll(async () => {
  fresh = await aFreshDatabase();
  // Of four connections two are for batches; one at a time, the same one is asked each time.
  database = await openDatabase({ ...fresh.settings, poolSize: 4 });
});

afterAll(async () => {
  await database.close();
  await fresh.close();
});

const stepsOf = `SELECT s.id FROM unnest($1::uuid[]) AS i(uuid) JOIN steps s USING (uuid)`;
const uuids = ["01234567-89ab-4def-8123-456789abcdef"];

test("a statement for a batch answers like any other, on every kind of database", async () => {
  const doubled = batchStatement("doubled", `SELECT n * 2 AS n FROM unnest($1::int[]) AS n`);
  expect(await database.query(doubled, [[1, 2, 3]])).toEqual([{ n: 2 }, { n: 4 }, { n: 6 }]);
});

onPostgresql("its plan is kept, while any other statement is planned for its values each time", async () => {
  const plans = `SELECT generic_plans::int AS kept, custom_plans::int AS made FROM pg_prepared_statements WHERE name = $1`;
  const kept = batchStatement("kept_steps", stepsOf);
  const anew = statement("new_steps", stepsOf);
  for (let i = 0; i < 3; i++) for (const each of [kept, anew]) await database.query(each, [uuids]);
  expect(await database.query(batchStatement("batch_plans", plans), ["kept_steps"])).toEqual([
    { kept: 3, made: 0 },
  ]);
  expect(await database.query(statement("other_plans", plans), ["new_steps"])).toEqual([
    { kept: 0, made: 3 },
  ]);
});

onPostgresql("a plan is kept for a second, and then made for the tables as they are by then", async () => {
  const plan = async () => {
    await database.query(batchStatement("steps_of_batch", stepsOf), [uuids]);
    const explain = batchStatement("explained", `EXPLAIN EXECUTE steps_of_batch('{}')`);
    const rows = await database.query<{ "QUERY PLAN": string }>(explain);
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  };
  // What PostgreSQL knows of a table that has just been emptied.
  await database.query(statement("forget", `VACUUM ANALYZE steps`));
  await wait(1_100);
  const forFew = await plan();
  await database.query(
    statement(
      "fill",
      `INSERT INTO steps (uuid, kind) SELECT gen_random_uuid(), 'finish' FROM generate_series(1, 20000)`,
    ),
  );
  expect(await plan()).toBe(forFew);
  await wait(1_100);
  expect(await plan()).toMatch(/Index.*steps_uuid_id_idx[^]*Index Cond: \(uuid = i\.uuid\)/);
});

test("with few connections they serve everything", async () => {
  const few = await openDatabase({ ...fresh.settings, role: "guest", poolSize: 1 });
  try {
    const both = [batchStatement("one", `SELECT 1 AS n`), statement("two", `SELECT 2 AS n`)];
    expect(await Promise.all(both.map((each) => few.query(each)))).toEqual([[{ n: 1 }], [{ n: 2 }]]);
    const { inUse, idle } = few.connections();
    expect(inUse + idle).toBe(1);
  } finally {
    await few.close();
  }
});

onPostgresql("DATABASE_POOL is how many there are in all", async () => {
  const db = await openDatabase({ ...fresh.settings, poolSize: 7 });
  try {
    const slow = [
      statement("sleeps", `SELECT pg_sleep(0.3)`),
      batchStatement("naps", `SELECT pg_sleep(0.3)`),
    ];
    const asked = Array.from({ length: 10 }, () => slow.map((each) => db.query(each))).flat();
    await wait(200);
    expect(db.connections()).toMatchObject({ inUse: 7, idle: 0, waiting: 13 });
    await Promise.all(asked);
  } finally {
    await db.close();
  }
});

onPostgresql.each([
  {
    has: "those for batches",
    needs: "others",
    first: batchStatement("a", `SELECT 1`),
    then: statement("b", `SELECT 2 AS n`),
  },
  {
    has: "others",
    needs: "those for batches",
    first: statement("c", `SELECT 1`),
    then: batchStatement("d", `SELECT 2 AS n`),
  },
])("where $has have all that the server allows, they serve as $needs", async ({ first, then }) => {
  const url = new URL(fresh.settings.url!);
  url.username = `addon_one_${process.pid}`;
  await administer(fresh.settings.url!, (ask) => ask(`CREATE ROLE ${url.username} LOGIN CONNECTION LIMIT 1`));
  const db = await openDatabase({ ...fresh.settings, url: url.href, poolSize: 4 });
  try {
    await db.query(first);
    expect(await db.query(then)).toEqual([{ n: 2 }]);
    expect(await db.transaction((tx) => tx.query(then))).toEqual([{ n: 2 }]);
  } finally {
    await db.close();
    await administer(fresh.settings.url!, (ask) => ask(`DROP ROLE ${url.username}`));
  }
});
