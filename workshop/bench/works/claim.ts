import { claimGrants, claimRefreshes } from "../../../src/credentials/queue.ts";
import { openDatabase } from "../../../src/database/database.ts";
import type { Queryable, Statement } from "../../../src/database/statement.ts";
import type { Bench } from "../bench.ts";
import { Missing } from "../books.ts";
import { median } from "../contest.ts";
import type { Database } from "../databases.ts";
import { expectBoundedPlan } from "../plan.ts";
import { fill } from "../seed.ts";
import type { Work } from "./work.ts";

const BATCH = 256;
const FEW = 10_000;
const DUE = 8_000;

/**
 * Compares a claim of due work among a million resources with one among ten thousand, with as much due work in both.
 */
export const claim: Work = {
  name: "claim",
  async measure(bench) {
    const sides = [];
    const many = bench.rows(100_000, 1_000_000);
    for (const size of [FEW, many]) sides.push(await createSide(bench, size));
    const rounds = Math.floor(DUE / BATCH);
    const ms: number[][] = [[], []];
    for (let round = 0; round < rounds; round++)
      for (const side of round % 2 === 0 ? [0, 1] : [1, 0]) ms[side]!.push(await sides[side]!.claim());
    for (const side of sides) await side.close();
    const [small, large] = ms.map(median) as [number, number];
    return [
      {
        work: `claim ${BATCH} of ${DUE.toLocaleString("en")} due among ${many.toLocaleString("en")}`,
        unit: "ms",
        floor: { name: `among ${FEW.toLocaleString("en")}`, value: small },
        subject: large,
        ratio: large / small,
        target: { atMost: 1.3 },
      },
    ];
  },
};

async function createSide(bench: Bench, size: number) {
  const database = await bench.databases.create();
  await fill(database, size);
  const service = openDatabase({ url: database.url, poolSize: 8 });
  await makeDue(database, "grant_pending");
  // Grants are claimed by urgency: unless the due ones are a large part of the table, the planner sorts all of them, so
  // a claim may read as many as are due.
  await expectPlan(database, "grants", DUE);
  await makeDue(database, "active");
  await expectPlan(database, "refreshes", BATCH);
  return {
    async claim(): Promise<number> {
      const startedAt = performance.now();
      const rows = await claimRefreshes(service, BATCH, ["resource"]);
      const ms = performance.now() - startedAt;
      if (rows.length !== BATCH) throw new Missing(`${rows.length} of ${BATCH} due rows were claimed`);
      await store(
        database,
        rows.map(({ uuid }) => uuid),
      );
      return ms;
    },
    async close() {
      await service.close();
      await database.drop();
    },
  };
}

async function makeDue({ ask }: Database, state: string): Promise<void> {
  await ask(
    `UPDATE credentials SET state = $2, due_at = now() - random() * interval '1 hour',
       grant_deadline = now() + random() * interval '1 hour'
     WHERE uuid IN (SELECT uuid FROM credentials ORDER BY uuid LIMIT $1)`,
    [DUE, state],
  );
  await ask("VACUUM ANALYZE");
}

/**
 * Stores the claimed rows as done, as a worker does before it claims many more: otherwise each claim would skip over
 * all earlier ones.
 */
async function store({ ask }: Database, uuids: string[]): Promise<void> {
  await ask(
    `UPDATE credentials SET due_at = now() + interval '4 hours', leased_until = NULL WHERE uuid = ANY($1::uuid[])`,
    [uuids],
  );
}

/**
 * Checks the plan of the service's own statement, planned as PostgreSQL does for a prepared one: without the value of
 * its limit.
 */
async function expectPlan({ ask }: Database, what: "grants" | "refreshes", atMost: number): Promise<void> {
  let seen!: Statement;
  let values: string[] = [];
  const listening: Queryable = {
    query: async (asked, ...given) => {
      seen = asked as Statement;
      values = asked
        .bind(...given)
        .map((value) => (Array.isArray(value) ? `'{${value.join(",")}}'` : String(value)));
      return [] as never;
    },
  };
  await (what === "grants" ? claimGrants(listening, BATCH) : claimRefreshes(listening, BATCH, ["resource"]));
  const { name, text } = seen;
  await ask("SET plan_cache_mode = force_generic_plan");
  await ask(`PREPARE seen_${name} AS ${text}`);
  // EXPLAIN ANALYZE executes the claim, which changes rows: so it is rolled back.
  await ask("BEGIN");
  const [row] = await ask<{ "QUERY PLAN": unknown }>(
    `EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE seen_${name}(${values.join(", ")})`,
  );
  await ask("ROLLBACK");
  expectBoundedPlan(name, row!["QUERY PLAN"], atMost);
}
