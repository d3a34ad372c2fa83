import type { OpenContext } from "../../src/context.ts";
import { claimGrants } from "../../src/credentials/queue.ts";
import { reopenSome } from "../../src/credentials/store.ts";
import type { Database } from "../../src/database/database.ts";
import { positional, type Queryable, type Statement } from "../../src/database/statement.ts";
import { findOldCredentials } from "../../src/extend/store.ts";
import { stateOfCredentials, stateOfCustomers, stateOfWork } from "../../src/metrics/store.ts";
import { readBusiness } from "../../src/operator/business.ts";
import { attention, steps, tokens } from "../../src/operator/doctor/work.ts";
import { listEvents } from "../../src/operator/events.ts";
import { listLost } from "../../src/operator/lost-sales.ts";
import { listResources } from "../../src/operator/resource-list.ts";
import { resourcesToTake } from "../../src/operator/store.ts";
import { PACE, type Pace } from "../../src/pace.ts";
import { pruneCustomers } from "../../src/people/customer-store.ts";
import { prunePeople } from "../../src/people/store.ts";
import { failStranded } from "../../src/resources/end-store.ts";
import { wakeSteps } from "../../src/resources/late-steps.ts";
import { takeDownRefused } from "../../src/resources/refused-provisions.ts";
import { takeLooks } from "../../src/resources/step-store.ts";
import { insertProvisions } from "../../src/resources/store.ts";
import { reseal } from "../../src/vault/store.ts";
import type { Vault } from "../../src/vault/vault.ts";
import { expectBoundedPlan } from "../../workshop/bench/plan.ts";
import { administer, forTests } from "../support/database.ts";
import { anOpenDatabase } from "../support/open-database.ts";

const opened = anOpenDatabase({}, forTests);
const MANY = 16_000;
const run = <Row = unknown>(text: string) =>
  opened.database.query<Row>(positional(`test_${text.length}_${text.slice(0, 20)}`, text));
const services = (db: Database) => ({ db, config: {}, jobs: { names: [] } }) as unknown as OpenContext;

describe("among many rows, nearly all in good order,", () => {
  beforeEach(async () => {
    await run(`TRUNCATE resources, credentials, customer_sessions, steps`);
    await run(`INSERT INTO resources (uuid, plan, applied_plan, state, created_at)
      SELECT gen_random_uuid(), 'basic', 'basic', 'provisioned', now() - make_interval(secs => n) FROM generate_series(1, ${MANY}) n`);
    await run(`INSERT INTO credentials (uuid, state, sealed_access_token, sealed_refresh_token, issued_at, expires_at, due_at)
      SELECT uuid, 'active', '\\x01', '\\x01', now(), now() + interval '8 hours', now() + interval '4 hours' FROM resources`);
    await run(`INSERT INTO customer_sessions (id_hash, uuid, expires_at)
      SELECT uuid_send(uuid), uuid, now() + interval '1 hour' FROM resources LIMIT 2000`);
    await run(
      `INSERT INTO steps (uuid, kind, due_at) SELECT uuid, 'finish', now() + interval '1 hour' FROM resources LIMIT 5000`,
    );
    await run(`ANALYZE resources, credentials, customer_sessions, steps`);
  });
  const set = (table: string, change: string, most: number, order = "uuid") =>
    run(
      `UPDATE ${table} SET ${change} WHERE uuid IN (SELECT uuid FROM resources ORDER BY ${order} LIMIT ${most})`,
    );

  /** The planner settings with which the service connects, as SQL. */
  async function settingsOfTheService(): Promise<string> {
    const rows = await run<{ name: string; setting: string }>(
      `SELECT name, setting FROM pg_settings WHERE source = 'client' AND name ~ '^(enable|plan|random)_'`,
    );
    return rows.map(({ name, setting }) => `SET ${name} = '${setting}'`).join(";");
  }

  /** PostgreSQL's plan of each statement of `work`, with the planner settings of the service. */
  async function plansOf(work: (db: Database) => Promise<unknown>): Promise<[string, string][]> {
    const byKey = await settingsOfTheService();
    const asked: [Statement, readonly unknown[], string][] = [];
    const watched =
      (settings: string, query: Queryable["query"]): Queryable["query"] =>
      (what, ...values) => {
        asked.push([what, what.bind(...values), settings]);
        return query(what, ...values);
      };
    const { query, readWhole, planned } = opened.database;
    const forItsValues = "SET plan_cache_mode = force_custom_plan; SET random_page_cost = 1.1";
    await work({
      ...opened.database,
      query: watched(byKey, query),
      readWhole: watched(forItsValues, readWhole),
      planned: (begun, ms) =>
        planned((tx) => begun({ query: watched(forItsValues, (...of) => tx.query(...of)) }), ms),
    });
    const element = (each: unknown) =>
      Buffer.isBuffer(each) ? `"\\\\x${each.toString("hex")}"` : (each ?? "NULL");
    const inSql = (value: unknown) =>
      value === null
        ? "NULL"
        : Array.isArray(value)
          ? `'{${value.map(element).join(",")}}'`
          : `'${String(value)}'`;
    return administer(opened.settings.url, async (ask) => {
      const plans: [string, string][] = [];
      for (const [{ name, text }, values, settings] of asked) {
        await ask(`RESET ALL; ${settings}`);
        await ask(`PREPARE "${name}" AS ${text}`);
        const rows = await ask(
          `EXPLAIN EXECUTE "${name}"${values.length > 0 ? `(${values.map(inSql).join()})` : ""}`,
        );
        await ask(`DEALLOCATE "${name}"`);
        plans.push([name, rows.map((row) => row["QUERY PLAN"]).join("\n")]);
      }
      return plans;
    });
  }

  it("no look of the service, of the doctor or of the metrics reads a whole table", async () => {
    for (const work of [
      (db: Database) => tokens(services(db), () => stateOfWork(db, [])),
      (db: Database) => attention(services(db)),
      (db: Database) => reopenSome(db, ["a"]),
      (db: Database) => listResources(db, { state: "needs_reauth" }),
      (db: Database) => listResources(db, { state: "failed" }),
      (db: Database) => listEvents(db, { type: "failed" }, 25),
      (db: Database) => prunePeople({ db }).then(() => pruneCustomers({ db })),
      (db: Database) => stateOfCredentials(db),
      (db: Database) => stateOfCustomers(db),
      (db: Database) => readBusiness(db),
      (db: Database) => steps(services(db)),
      (db: Database) => takeLooks(db),
      (db: Database) => findOldCredentials(db, 90),
      (db: Database) => failStranded({ ...services(db), vault: {} as Vault }),
      (db: Database) => takeDownRefused({ ...services(db), pace: PACE }),
      (db: Database) => listLost(db, null, true),
    ]) {
      const plans = await plansOf(work);
      expect(plans).not.toEqual([]);
      for (const [name, plan] of plans)
        expect([name, plan]).toEqual([
          name,
          expect.not.stringMatching(/Seq Scan on (resources|credentials|steps|events)/),
        ]);
    }
  });

  it("a batch finds its rows by key or in a hash table, and compares no row with each other", async () => {
    const vault = { keyId: "current", open: () => "", seal: () => Buffer.of(1) } as unknown as Vault;
    const afterOnePage = new AbortController();
    const how = {
      signal: afterOnePage.signal,
      onRows: () => afterOnePage.abort(),
      onUnopened: () => undefined,
    };
    const plans = [
      ...(await plansOf((db) => insertProvisions({ db, vault, pace: { exchangeAfterMs: 0 } as Pace }, []))),
      ...(await plansOf((db) => reseal({ db, vault }, "credentials", how))),
    ];
    expect(plans.map(([name]) => name)).toEqual(expect.arrayContaining(["provision", "reseal_credentials"]));
    for (const [name, plan] of plans)
      expect([name, plan]).toEqual([name, expect.not.stringMatching(/Join Filter/)]);
  });

  it("what goes through all that waits for ever, or is lost, may take minutes", async () => {
    const refused = () => Promise.reject(new Error("It has a time limit of seconds."));
    const db: Database = { ...opened.database, query: refused };
    expect(await wakeSteps(db)).toBe(0);
    await failStranded({ ...services(db), vault: {} as Vault });
  });

  // PostgreSQL plans a claim by what it counted last, which a burst or an outage makes untrue.
  it.each([
    ["active", "interval '1 second' * nth", 15_000],
    ["grant_pending", "random() * interval '-1 minute'", 50],
  ])(
    "a claim of grants when all were %s, due at now() + %s, reads each grant once at most, also if %i are due, the most urgent first",
    async (state, wait, due) => {
      const numbered = `(SELECT uuid, row_number() OVER () AS nth FROM credentials) n WHERE n.uuid = c.uuid`;
      await run(`UPDATE credentials c SET state = '${state}', due_at = now() + ${wait},
      sealed_grant_code = '\\x01', grant_deadline = now() + random() * interval '5 minutes' FROM ${numbered}`);
      await run(`ANALYZE credentials`);
      await run(`UPDATE credentials c SET state = 'grant_pending', grant_deadline = now() + make_interval(secs => nth),
        due_at = now() + CASE WHEN nth > ${due} THEN interval '1 hour' ELSE -random() * interval '1 minute' END
      FROM ${numbered}`);
      let claim!: Statement;
      await claimGrants({ query: async (what, ..._) => ((claim = what as Statement), [] as never) }, 64);
      await administer(opened.settings.url, async (ask) => {
        await ask(await settingsOfTheService());
        await ask(`PREPARE claim AS ${claim.text}`);
        const [explained] = await ask(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE claim(64, 0)`);
        expectBoundedPlan(claim.name, explained!["QUERY PLAN"], MANY);
        const [taken] = await ask(
          `SELECT count(*)::int AS rows, (extract(epoch FROM max(grant_deadline) - min(grant_deadline)) + 1)::int AS span
         FROM credentials WHERE leased_until IS NOT NULL`,
        );
        expect(taken).toEqual({ rows: Math.min(due, 64), span: Math.min(due, 64) });
      });
    },
  );

  it("many resources in one state hide neither the few in the next, nor the one that a customer waits for", async () => {
    await set("credentials", "state = 'grant_lost', due_at = NULL", 12_001);
    await set("credentials", "state = 'quarantined', reason = 'integrity', due_at = NULL", 1);
    const found = await stateOfWork(opened.database, []);
    const counts = found
      .filter(({ sample }) => sample === "addon_credentials_needing_attention")
      .map(({ labels, value }) => [labels["state"], value]);
    expect(counts.sort()).toEqual([["grant_lost", 10_000], ["quarantined", 1]]); // prettier-ignore
    const look = async () =>
      (await attention(services(opened.database))).map(({ message }) => message.split(":")[0]).sort();
    expect(await look()).toEqual([
      "1 resource in state quarantined (integrity)",
      "10000 resources or more in state grant_lost",
    ]);
    await set("resources", "state = 'failed'", 12_000);
    expect(await look()).toEqual(["1 resource in state grant_lost"]);
  });

  it("rotations that wait for their turn are not late, hide no call that fails or hangs, and are not given up", async () => {
    await run(`DELETE FROM steps WHERE kind = 'finish'`);
    await run(`INSERT INTO steps (uuid, kind, due_at)
      SELECT uuid, 'rotate', now() - interval '3 hours' FROM resources ORDER BY uuid OFFSET 100 LIMIT 12000`);
    await run(`INSERT INTO steps (uuid, kind, due_at, attempts, last_error, leased_until)
      SELECT uuid, v.kind, now() - v.due, 1, error, now() + leased FROM (SELECT uuid, row_number() OVER (ORDER BY uuid) AS nth FROM resources ORDER BY uuid LIMIT 3) r
      JOIN (VALUES (1, 'rotate', interval '4 minutes', 'no', NULL::interval), (2, 'rotate', interval '30 seconds', NULL, interval '20 seconds'),
        (3, 'finish', interval '6 minutes', NULL, interval '20 seconds')) v(nth, kind, due, error, leased) USING (nth)`);
    // A clean-up that waits for work that was cut off is not under way.
    await run(`INSERT INTO steps (uuid, kind, due_at, leased_until)
      SELECT uuid, 'clean_up', now(), now() + interval '1 minute' FROM resources ORDER BY uuid LIMIT 1`);
    await run(`ANALYZE steps`);
    const found = await stateOfWork(opened.database, []);
    const valueOf = (name: string, label: string) =>
      found.find(({ sample, labels }) => sample === name && Object.values(labels).includes(label))?.value;
    const seen = ["rotate", "finish", "deprovision"].map((name) =>
      ["under_way", "failing", "oldest_seconds"].map((each) => valueOf(`addon_your_service_${each}`, name)),
    );
    const [ago, longAgo] = [expect.closeTo(240, -2), expect.closeTo(360, -2)]; // within 50 s
    expect(seen).toEqual([[1, 1, ago], [1, 0, longAgo], [0, 0, 0]]); // prettier-ignore
    expect(valueOf("addon_due", "rotations")).toBe(10_000);
    expect(valueOf("addon_due_age_seconds", "steps")).toBe(0);
    expect(await resourcesToTake(opened.database, "step_given_up")).toHaveLength(2);
  });

  it("late refreshes are counted to 10,000, and the latest of the steps are looked at", async () => {
    const { database: db } = opened;
    await set("credentials", "due_at = now() - interval '1 hour', attempts = 3", 12_000);
    const [overdue, failing] = await tokens(services(db), () => stateOfWork(db, []));
    expect(overdue!.message).toBe("Refreshes are late.");
    expect(failing!.message).toMatch(/of 10000 tokens or more fails, /);
    await run(`INSERT INTO steps (uuid, kind, due_at, attempts, last_error)
      SELECT uuid, 'finish', now() + interval '2 hours', 12, 'no' FROM resources ORDER BY uuid LIMIT 10500`);
    expect((await steps(services(db)))[0]!.message).toMatch(/^10000 steps or more failed/);
  });
});

it("no index covers a column that a claim, a mark or a re-seal of a credential writes", async () => {
  const rows = await run<{ indexdef: string }>(
    `SELECT indexdef FROM pg_indexes WHERE tablename = 'credentials'`,
  );
  expect(rows.length).toBeGreaterThan(5);
  for (const { indexdef } of rows)
    expect(indexdef).not.toMatch(/lease|sent_at|outcome_unknown|sealed_|generation|secret_version|issued_at/);
});
