// Again on PostgreSQL: the embedded database keeps no plans.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "@jest/globals";
import {
  genericPlanStatement,
  openDatabase,
  statement,
  type Statement,
} from "../../src/database/database.ts";
import { createStepQueue } from "../../src/resources/steps/queue.ts";
import { eventually } from "../support/world.ts";
import { administer, testServerUrl } from "../support/database.ts";
import { anOpenDatabase } from "../support/open-database.ts";

const onPostgresql = testServerUrl ? test : test.skip;

// Four of eight connections are for statements with generic plans; sequential ones always use the same connection.
const opened = anOpenDatabase({ poolSize: 8 });

const stepsOf = `SELECT s.id FROM unnest($1::uuid[]) AS i(uuid) JOIN steps s USING (uuid)`;
const uuids = ["01234567-89ab-4def-8123-456789abcdef"];

test("a statement with a generic plan returns the same rows as any other, on every kind of database", async () => {
  const doubled = genericPlanStatement("doubled", `SELECT n * 2 AS n FROM unnest($1::int[]) AS n`);
  expect(await opened.database.query(doubled, [[1, 2, 3]])).toEqual([{ n: 2 }, { n: 4 }, { n: 6 }]);
});

onPostgresql(
  "a statement with a generic plan keeps its plan, while any other statement is planned for its values each time",
  async () => {
    const plans = `SELECT generic_plans::int AS kept, custom_plans::int AS made FROM pg_prepared_statements WHERE name = $1`;
    const kept = genericPlanStatement("kept_steps", stepsOf);
    const anew = statement("new_steps", stepsOf);
    for (let i = 0; i < 3; i++) for (const each of [kept, anew]) await opened.database.query(each, [uuids]);
    expect(await opened.database.query(genericPlanStatement("busy_plans", plans), ["kept_steps"])).toEqual([
      { kept: 3, made: 0 },
    ]);
    expect(await opened.database.query(statement("other_plans", plans), ["new_steps"])).toEqual([
      { kept: 0, made: 3 },
    ]);
  },
);

onPostgresql("a plan is kept for a second, and then made again for the tables as they are", async () => {
  const plan = async () => {
    await opened.database.query(genericPlanStatement("busy_steps", stepsOf), [uuids]);
    const explain = genericPlanStatement("explained", `EXPLAIN EXECUTE busy_steps('{}')`);
    const rows = await opened.database.query<{ "QUERY PLAN": string }>(explain);
    return rows.map((row) => row["QUERY PLAN"]).join("\n");
  };
  // The planner's statistics of a table that has just been emptied.
  await opened.database.query(statement("forget", `VACUUM ANALYZE steps`));
  await sleep(1_100);
  const forFew = await plan();
  await opened.database.query(
    statement(
      "fill",
      `INSERT INTO steps (uuid, kind) SELECT gen_random_uuid(), 'finish' FROM generate_series(1, 2000)`,
    ),
  );
  expect(await plan()).toBe(forFew);
  await sleep(1_100);
  expect(await plan()).not.toBe(forFew);
});

onPostgresql.each([
  { lane: "vendor", mostly: "discover" },
  { lane: "vendor", mostly: "finish" },
  { lane: "platform", mostly: "finish" },
  { lane: "platform", mostly: "discover" },
] as const)(
  "with thousands due, mostly $mostly, the claim of $lane steps reads its own queue by an index, under a generic plan",
  async ({ lane, mostly }) => {
    await opened.database.query(statement("none_due", `DELETE FROM steps`));
    const due = statement(
      "many_due",
      `INSERT INTO steps (uuid, kind, due_at)
       SELECT gen_random_uuid(), $1, now() - interval '1 minute' FROM generate_series(1, $2::int)`,
    );
    const other = mostly === "finish" ? "discover" : "finish";
    for (const [kind, many] of [
      [mostly, 5_000],
      [other, 20],
    ] as const)
      await opened.database.query(due, [kind, many]);
    await opened.database.query(statement("know_of_them", `VACUUM ANALYZE steps`));
    const asked: Statement[] = [];
    const listening = { query: async (one: Statement) => (asked.push(one), []) };
    const queue = createStepQueue(listening);
    await queue.claim(lane, 4);
    await queue.nextInSeconds(lane);
    const [claim, next] = asked as [Statement, Statement];
    await administer(opened.settings.url!, async (ask) => {
      await ask(`SET plan_cache_mode = force_generic_plan`);
      await ask(`PREPARE claim AS ${claim.text}`);
      for (const question of [`EXECUTE claim(4)`, next.text]) {
        const plan = JSON.stringify(await ask(`EXPLAIN ${question}`));
        expect(plan).toMatch(new RegExp(`Index (Only )?Scan using steps_${lane}_due on steps`));
        expect(plan).not.toMatch(/Seq Scan on steps|Sort|using steps_due/);
      }
    });
  },
);

onPostgresql("a statement with a generic plan that would queue gets an idle connection", async () => {
  const db = await openDatabase({ ...opened.settings, role: "guest", poolSize: 8 });
  try {
    await db.query(statement("opened", `SELECT 1`));
    const slow = Array.from({ length: 8 }, () =>
      db.query(genericPlanStatement("slow", `SELECT pg_sleep(1)`)),
    );
    await eventually(() => expect(db.connections()).toEqual({ inUse: 4, idle: 1, waiting: 4 }));
    const asked = db.query(genericPlanStatement("quick", `SELECT 1 AS n`));
    expect(await Promise.race([asked, ...slow])).toEqual([{ n: 1 }]);
    await Promise.all(slow);
  } finally {
    await db.close();
  }
});

test("a small pool serves all statements", async () => {
  const few = await openDatabase({ ...opened.settings, role: "guest", poolSize: 7 });
  try {
    for (const each of [genericPlanStatement("one", `SELECT 1 AS n`), statement("two", `SELECT 1 AS n`)])
      expect(await few.query(each)).toEqual([{ n: 1 }]);
    expect(few.connections()).toEqual({ inUse: 0, idle: 1, waiting: 0 });
  } finally {
    await few.close();
  }
});

onPostgresql("DATABASE_POOL limits all connections together", async () => {
  const db = await openDatabase({ ...opened.settings, poolSize: 9 });
  try {
    const slow = [
      statement("sleeps", `SELECT pg_sleep(1)`),
      genericPlanStatement("naps", `SELECT pg_sleep(1)`),
    ];
    const asked = Array.from({ length: 6 }, () => slow.map((each) => db.query(each))).flat();
    await eventually(() => expect(db.connections()).toEqual({ inUse: 9, idle: 0, waiting: 3 }));
    await Promise.all(asked);
  } finally {
    await db.close();
  }
});

onPostgresql.each([
  {
    has: "those with generic plans",
    needs: "others",
    first: genericPlanStatement("a", `SELECT 1`),
    then: statement("b", `SELECT 2 AS n`),
  },
  {
    has: "others",
    needs: "those with generic plans",
    first: statement("c", `SELECT 1`),
    then: genericPlanStatement("d", `SELECT 2 AS n`),
  },
])(
  "when $has use all connections that the server allows, they also serve $needs",
  async ({ first, then }) => {
    const url = new URL(opened.settings.url!);
    url.username = `addon_one_${process.pid}`;
    await administer(opened.settings.url!, (ask) =>
      ask(`CREATE ROLE ${url.username} LOGIN CONNECTION LIMIT 1`),
    );
    const db = await openDatabase({ ...opened.settings, url: url.href, poolSize: 8 });
    try {
      await db.query(first);
      expect(await db.query(then)).toEqual([{ n: 2 }]);
      expect(await db.transaction((tx) => tx.query(then))).toEqual([{ n: 2 }]);
    } finally {
      await db.close();
      await administer(opened.settings.url!, (ask) => ask(`DROP ROLE ${url.username}`));
    }
  },
);
