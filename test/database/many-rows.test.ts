// Again on PostgreSQL: how a statement finds its rows is its business.

import { describe, expect, it } from "@jest/globals";
import { statement, type Database, type Queryable, type Statement } from "../../src/database/database.ts";
import { readWhole } from "../../src/database/whole-table.ts";
import { expectBoundedPlan } from "../../bench/plan.ts";
import { createPruneCustomers } from "../../src/customer/prune.ts";
import { attention } from "../../src/operator/doctor/credential-checks.ts";
import { tokens } from "../../src/operator/doctor/token-check.ts";
import { recoverAllGrants } from "../../src/operator/grants/recover-grants.ts";
import { listResources } from "../../src/operator/resources.ts";
import { databaseState } from "../../src/metrics/database-state.ts";
import { createClaims } from "../../src/resources/credentials/claims.ts";
import { createMassRefusal, createTokenCounts } from "../../src/resources/credentials/mass-refusal.ts";
import { createCredentialStore } from "../../src/resources/credentials/store.ts";
import { createProvisionFailure } from "../../src/resources/provision-failure.ts";
import { createStepQueue } from "../../src/resources/steps/queue.ts";
import type { Services } from "../../src/services.ts";
import type { Vault } from "../../src/vault/vault.ts";
import { administer, testServerUrl } from "../support/database.ts";
import { anOpenDatabase } from "../support/open-database.ts";

const opened = anOpenDatabase();
const onPostgresql = testServerUrl ? it : it.skip;

const MANY = 20_000;
const run = (text: string) =>
  opened.database.query(statement(`test_${text.length}_${text.slice(0, 20)}`, text));

/** Nearly all rows are in good order, as in production. */
async function fill(many = MANY): Promise<void> {
  await run(`TRUNCATE resources, credentials, customer_sessions`);
  await run(`INSERT INTO resources (uuid, plan, applied_plan, state, created_at)
    SELECT gen_random_uuid(), 'basic', 'basic', 'provisioned', now() - make_interval(secs => n) FROM generate_series(1, ${many}) n`);
  await run(`INSERT INTO credentials (uuid, state, sealed_access_token, sealed_refresh_token, issued_at, expires_at, due_at)
    SELECT uuid, 'active', '\\x01', '\\x01', now(), now() + interval '8 hours', now() + interval '4 hours' FROM resources`);
  await run(`INSERT INTO customer_sessions (id_hash, uuid, expires_at)
    SELECT uuid_send(uuid), uuid, now() + interval '1 hour' FROM resources LIMIT 2000`);
  await run(`ANALYZE resources, credentials, customer_sessions`);
}

/** The statements of `work`, with their values. */
async function askedBy(work: (db: Database) => Promise<unknown>): Promise<[Statement, readonly unknown[]][]> {
  const asked: [Statement, readonly unknown[]][] = [];
  const query: Queryable["query"] = (what, values = []) => {
    asked.push([what, values]);
    return opened.database.query(what, values);
  };
  await work({ ...opened.database, query });
  return asked;
}

/** PostgreSQL's plan for each statement, with the planner settings of the service. */
async function plansOf(asked: [Statement, readonly unknown[]][]): Promise<Map<string, string>> {
  const plans = new Map<string, string>();
  await administer(opened.settings.url!, async (ask) => {
    await ask(`SET plan_cache_mode = force_custom_plan; SET random_page_cost = 1.1`);
    for (const [{ name, text }, values] of asked) {
      await ask(`PREPARE "${name}" AS ${text}`);
      const given = values.map(inSql).join(", ");
      const rows = await ask(`EXPLAIN EXECUTE "${name}"${given && `(${given})`}`);
      await ask(`DEALLOCATE "${name}"`);
      plans.set(name, rows.map((row) => row["QUERY PLAN"]).join("\n"));
    }
  });
  return plans;
}

function inSql(value: unknown): string {
  if (value === null) return "NULL";
  return Array.isArray(value) ? `'{${value.join(",")}}'` : `'${String(value)}'`;
}

const services = (db: Database) => ({ db, config: {} }) as unknown as Services;

describe("queries on large tables", () => {
  onPostgresql.each<[string, (db: Database) => Promise<unknown>]>([
    ["the doctor's look at tokens", (db) => tokens(services(db))],
    ["the doctor's look at what needs attention", (db) => attention(services(db))],
    ["the search for stranded provisions", (db) => createProvisionFailure(db, {} as Vault).failStranded()],
    ["taking back what was put aside", (db) => createCredentialStore(db).reopen(["a"])],
    ["the search for refused tokens", (db) => createTokenCounts(db).refused(100)],
    ["a list of a rare state", (db) => listResources(db, { state: "needs_reauth" })],
    ["the end of customers' sessions", (db) => createPruneCustomers(db)()],
    [
      "the search for grants to recover",
      (db) =>
        recoverAllGrants({
          ...{
            db,
            isOn: true,
            concurrency: 1,
            signal: AbortSignal.timeout(10_000),
            recover: async () => never(),
          },
          credentials: {
            grants: never as never,
            secrets: { current: async () => ({ isRejected: false }) } as never,
          },
        }),
    ],
  ])("%s reads no whole table", async (_, work) => {
    await fill();
    const plans = await plansOf(await askedBy(work));
    expect(plans.size).toBeGreaterThan(0);
    for (const [name, plan] of plans)
      expect([name, plan]).toEqual([name, expect.not.stringMatching(/Seq Scan on (resources|credentials)/)]);
  });

  // PostgreSQL plans a claim by what it counted last, which a burst or an outage makes untrue.
  describe.each([
    ["none waited", "active", "random() * interval '4 hours'"],
    ["none waited, and due times had the order of the rows", "active", "interval '1 second' * nth"],
    ["all were due", "grant_pending", "random() * interval '-1 minute'"],
    ["all waited", "grant_pending", "random() * interval '1 hour'"],
  ])("a claim of grants when %s before", (_, state, wait) => {
    onPostgresql.each([
      ["all that are due, and none that wait", 50],
      ["no more than are due, the most urgent first", 15_000],
    ])("reads %s", async (_, due) => {
      await fill();
      const numbered = `(SELECT uuid, row_number() OVER () AS nth FROM credentials) n WHERE n.uuid = c.uuid`;
      await run(`UPDATE credentials c SET state = '${state}', due_at = now() + ${wait},
        sealed_grant_code = '\\x01', grant_deadline = now() + random() * interval '5 minutes' FROM ${numbered}`);
      await run(`ANALYZE credentials`);
      await run(`UPDATE credentials c SET state = 'grant_pending', grant_deadline = now() + make_interval(secs => nth),
          due_at = now() + CASE WHEN nth > ${due} THEN interval '1 hour' ELSE -random() * interval '1 minute' END
        FROM ${numbered}`);
      let claim!: Statement;
      await createClaims({ query: async (what) => ((claim = what), []) }, () => undefined).grants(64);
      await administer(opened.settings.url!, async (ask) => {
        await ask(`SET plan_cache_mode = force_generic_plan; SET random_page_cost = 1.1`);
        await ask(`PREPARE claim AS ${claim.text}`);
        const [explained] = await ask(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE claim(64)`);
        expectBoundedPlan(claim.name, explained!["QUERY PLAN"], due);
        const [taken] = await ask(
          `SELECT count(*)::int AS rows, (extract(epoch FROM max(grant_deadline) - min(grant_deadline)) + 1)::int AS span
           FROM credentials WHERE leased_until IS NOT NULL`,
        );
        expect(taken).toEqual({ rows: Math.min(due, 64), span: Math.min(due, 64) });
      });
    });
  });

  onPostgresql("the metrics find due work, and work that waits behind it, by indexes", async () => {
    await fill();
    await run(
      `INSERT INTO steps (uuid, kind, due_at) SELECT uuid, 'finish', now() + interval '1 hour' FROM resources`,
    );
    await run(
      `INSERT INTO steps (uuid, kind, due_at) SELECT uuid, 'change_plan', now() FROM resources LIMIT 100`,
    );
    await run(`ANALYZE steps`);
    const plans = await plansOf(await askedBy(databaseState));
    expect(plans.get("metrics_queues")).not.toMatch(/Seq Scan on (steps|credentials)/);
    await run(`TRUNCATE steps`);
  });

  onPostgresql("many resources in one state do not hide the few in the next from the metrics", async () => {
    await fill();
    await run(`UPDATE credentials SET state = 'grant_lost', due_at = NULL
      WHERE uuid IN (SELECT uuid FROM credentials ORDER BY uuid LIMIT 12000)`);
    await run(`UPDATE credentials SET state = 'quarantined', reason = 'integrity', due_at = NULL
      WHERE uuid = (SELECT uuid FROM credentials WHERE state = 'active' LIMIT 1)`);
    const families = await databaseState(opened.database);
    const found = families.find(({ name }) => name === "addon_credentials_needing_attention")!.values;
    expect(found.map(({ labels, value }) => [labels["state"], value]).sort()).toEqual([
      ["grant_lost", 10_000],
      ["quarantined", 1],
    ]);
    expect((await attention(services(opened.database))).message).toBe(
      "10000 resources or more grant_lost, 1 resource quarantined.",
    );
  });

  onPostgresql("many failed resources do not hide the one that a customer waits for", async () => {
    await fill();
    await run(`UPDATE credentials SET state = 'grant_lost', due_at = NULL
      WHERE uuid IN (SELECT uuid FROM resources ORDER BY uuid LIMIT 12001)`);
    await run(
      `UPDATE resources SET state = 'failed' WHERE uuid IN (SELECT uuid FROM resources ORDER BY uuid LIMIT 12000)`,
    );
    expect((await attention(services(opened.database))).message).toBe("1 resource grant_lost.");
  });

  onPostgresql(
    "everything that was quarantined for a missing key is reopened, however many rows",
    async () => {
      await fill();
      await run(`UPDATE credentials SET state = 'quarantined', reason = 'key_missing', due_at = NULL
      WHERE uuid IN (SELECT uuid FROM credentials ORDER BY uuid LIMIT 2500)`);
      await run(`UPDATE credentials SET sealed_access_token = '\\x01' || decode('00112233445566770000', 'hex'), sealed_refresh_token = NULL
      WHERE state = 'quarantined'`);
      const { reopen } = createCredentialStore(opened.database);
      const sizes: number[] = [];
      do sizes.push((await reopen(["0011223344556677"])).length);
      while (sizes.at(-1)! > 0);
      expect(sizes).toEqual([1_000, 1_000, 500, 0]);
      // Rows that cannot be refreshed are not made due.
      expect(await run(`SELECT count(*) AS due FROM credentials WHERE due_at <= now()`)).toEqual([
        { due: 0 },
      ]);
    },
  );

  onPostgresql("waiting steps are examined in turn, a limited number at a time", async () => {
    await fill();
    const [late] = (await run(`SELECT max(uuid::text) AS uuid FROM credentials`)) as { uuid: string }[];
    await run(`UPDATE credentials SET state = 'no_grant', due_at = NULL WHERE uuid <> '${late!.uuid}'`);
    await run(`INSERT INTO steps (uuid, kind) SELECT uuid, 'announce' FROM credentials ORDER BY uuid`);
    const { wake } = createStepQueue(opened.database);
    expect([await wake(), await wake(), await wake(), await wake()]).toEqual([0, 1, 0, 0]);
    await run(`TRUNCATE steps`);
  });

  onPostgresql("a rare state is listed completely and in order, page by page", async () => {
    await fill();
    await run(
      `UPDATE resources SET state = 'failed' WHERE uuid IN (SELECT uuid FROM resources ORDER BY created_at LIMIT 150)`,
    );
    const first = await listResources(opened.database, { state: "failed" });
    const second = await listResources(opened.database, { state: "failed", after: first.next! });
    expect([first.resources.length, second.resources.length, second.next]).toEqual([100, 50, null]);
    const times = [...first.resources, ...second.resources].map(({ createdAt }) => createdAt);
    expect(times).toEqual([...times].sort().reverse());
    expect(new Set([...first.resources, ...second.resources].map(({ uuid }) => uuid)).size).toBe(150);
  });

  onPostgresql("a state that mainly older resources have is found behind the newest ones", async () => {
    await fill();
    await run(`UPDATE credentials c SET state = 'no_grant', due_at = NULL FROM resources r
      WHERE r.uuid = c.uuid AND r.created_at < now() - interval '7500 seconds'`);
    const { resources, next } = await listResources(opened.database, { state: "no_grant" });
    expect([resources.length, next === null]).toEqual([100, false]);
    expect(Date.now() - Date.parse(resources[0]!.createdAt)).toBeLessThan(7_700_000);
  });
});

describe("detection of a wave of refusals by counting", () => {
  const waveOf = (refused: number, all: number) => {
    const asked: number[] = [];
    const count = (rows: number) => async (most: number) => (asked.push(most), Math.min(rows, most));
    const { wave } = createMassRefusal({ refused: count(refused), all: count(all) });
    return { look: wave, asked };
  };

  it.each([
    ["few of few", 4, 4, false],
    ["more than a twentieth", 6, 100, true],
    ["a twentieth", 5, 100, false],
    ["a twentieth of very many", 10_000, 10_000_000, false],
    ["more than anybody loses at once", 10_001, 10_000_000, true],
  ])("depends on how many are refused: %s", async (_, refused, all, isWave) => {
    const { look, asked } = waveOf(refused, all);
    expect((await look()) !== null).toBe(isWave);
    // The count is limited to this.
    expect(Math.max(...asked)).toBeLessThanOrEqual(200_000);
  });

  it("runs once for all who ask at the same time", async () => {
    const { look, asked } = waveOf(50, 100);
    await Promise.all(Array.from({ length: 64 }, look));
    expect(asked).toEqual([10_001, 1_000]);
  });
});

describe("reading a whole table in pieces", () => {
  it("returns every row, on every kind of database", async () => {
    await fill(1_000);
    const count = statement(
      "test_pieces",
      `SELECT count(*)::int AS count FROM credentials WHERE ctid >= $1::tid AND ctid < $2::tid`,
    );
    let met = 0;
    await readWhole(opened.database, async ({ pieces }) => {
      for await (const [piece] of pieces<{ count: number }>("credentials", count)) met += piece!.count;
    });
    expect(met).toBe(1_000);
  });

  onPostgresql(
    "returns each row as of the first piece and once, even if rows move to other pages meanwhile",
    async () => {
      await fill();
      const claims = createClaims(opened.database, () => undefined);
      const uuids = statement(
        "test_uuids",
        `SELECT uuid FROM credentials WHERE ctid >= $1::tid AND ctid < $2::tid`,
      );
      const met: string[] = [];
      await readWhole(opened.database, async ({ pieces }) => {
        for await (const piece of pieces<{ uuid: string }>("credentials", uuids, [], 50)) {
          met.push(...piece.map(({ uuid }) => uuid));
          // A row that is claimed and put off moves to another page.
          await run(
            `UPDATE credentials SET due_at = now() WHERE uuid IN (SELECT uuid FROM credentials ORDER BY random() LIMIT 500)`,
          );
          await claims.refreshes(100);
        }
      });
      expect([met.length, new Set(met).size]).toEqual([MANY, MANY]);
    },
  );
});

function never(): never {
  throw new Error("there is nothing to be asked for");
}
