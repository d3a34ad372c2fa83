import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import supertest from "supertest";
import type { Database } from "../../src/database/database.ts";
import { runWeb } from "../../src/process/run-web.ts";
import { kitJson } from "../support/kit.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aFreshDatabase } from "../support/database.ts";
import { startDatabaseProxy, type DatabaseProxy } from "../support/database-proxy.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { aWorld, eventually, type World } from "../support/world.ts";

// A PostgreSQL that is unreachable, silent, read-only, full or in a deadlock. Only the service uses the proxy; the test
// queries the database directly.

let world: World;
let proxy: DatabaseProxy;
beforeAll(async () => {
  world = await aWorld({ environment: { SWEEP_CRON: "* * * * * *" } });
  proxy = await startDatabaseProxy(world.environment["DATABASE_URL"]!);
  await world.restart({ environment: { DATABASE_URL: proxy.url } });
});
afterAll(async () => {
  await world.close();
  await proxy.close();
});
afterEach(async () => {
  proxy.mode("ok");
  for (const table of ["credentials", "resources"])
    await world.rows(`DROP TRIGGER IF EXISTS trouble ON ${table}`);
});

const install = () => world.sandbox.control.install({ plan: "basic" });
/**
 * Their grants are exchanged, without the second that they wait for the platform, and without the 45 s for which a claim
 * holds its row if its acknowledgement was lost: letting it go is safe before the call is marked as sent.
 */
async function becomeActive(uuids: string[]): Promise<void> {
  const isFree = `(leased_until IS NULL OR sent_at IS NULL AND leased_until < now() + interval '43 seconds')`;
  const hurry = `UPDATE credentials SET due_at = now(), leased_until = NULL
    WHERE uuid = ANY($1::uuid[]) AND state = 'grant_pending' AND due_at IS NOT NULL AND ${isFree}`;
  const active = `SELECT 1 FROM credentials WHERE uuid = ANY($1::uuid[]) AND state = 'active'`;
  await eventually(async () => {
    await world.rows(hurry, [uuids]);
    world.service.services.jobs.wake("exchange-grants");
    await sleep(50);
    expect(await world.rows(active, [uuids])).toHaveLength(uuids.length);
  }, 60_000);
}
const allSucceed = async (deliveries: Awaited<ReturnType<typeof install>>[]) => {
  // 202 where the database was away for longer than the answer may wait for the vendor's result.
  for (const { response } of deliveries) expect([200, 202]).toContain(response.status);
  await becomeActive(deliveries.map(({ addon }) => addon.id));
};
const position = () => world.sandbox.control.ledger().next;
const exchanges = (since: number) =>
  world.sandbox.control.ledger({ since }).entries.filter(({ path }) => path === "/oauth/token");
const isReady = async () => (await fetch(`${world.service.url}/readyz`)).status === 200;

const now = performance.now.bind(performance);
let aheadMs = 0;
/** A request waits eight seconds for the database; this takes away so many of them. */
function letTimePass(ms: number): void {
  aheadMs += ms;
  jest.spyOn(performance, "now").mockImplementation(() => now() + aheadMs);
}

/** From now on all or some writes to a table fail with this SQLSTATE. */
async function failing(table: "credentials" | "resources", sqlState: string, share = 1): Promise<void> {
  await world.rows(`CREATE SEQUENCE IF NOT EXISTS failures`);
  await world.rows(`
    CREATE OR REPLACE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF random() < ${share} AND nextval('failures') > 0
        THEN RAISE EXCEPTION 'made for a test' USING ERRCODE = '${sqlState}'; END IF;
      RETURN NULL;
    END $$`);
  await world.rows(
    `CREATE TRIGGER trouble BEFORE INSERT OR UPDATE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION trouble()`,
  );
}
const failures = async () =>
  (await world.rows<{ count: number }>(`SELECT last_value AS count FROM failures`))[0]!.count;

describe("database trouble", () => {
  it("connections refused for a second: no provision is lost", async () => {
    proxy.mode("refuse");
    const answers = Promise.all(Array.from({ length: 10 }, install));
    await sleep(1_000);
    proxy.mode("ok");
    await allSucceed(await answers);
  });

  it("a silent server: 503 with Retry-After, nothing half done, and a later delivery succeeds", async () => {
    proxy.cut();
    proxy.mode("black-hole");
    const delivered = install();
    expect((await fetch(`${world.service.url}/healthz`)).status).toBe(200);
    await sleep(300);
    letTimePass(6_500);
    const [{ addon, response }, wasReady] = await Promise.all([delivered, isReady()]);
    expect(wasReady).toBe(false);
    expect(response).toMatchObject({
      status: 503,
      headers: { "retry-after": expect.any(String) },
      body: { id: "service_unavailable" },
    });
    proxy.mode("ok");
    await eventually(isReady);
    expect(await world.rows(`SELECT 1 FROM resources WHERE uuid = $1`, [addon.id])).toEqual([]);
    await allSucceed([await world.sandbox.control.redeliver(addon.id, { newCode: true })]);
  });

  it("commits whose acknowledgement is lost: one resource, one answer, one exchange", async () => {
    const since = position();
    proxy.mode("cut-after-commit");
    const answers = Promise.all(Array.from({ length: 20 }, install));
    await sleep(1_000);
    proxy.mode("ok");
    await allSucceed(await answers);
    expect(exchanges(since)).toHaveLength(20);
  });

  it("a restart of the server: no process exits, and work continues", async () => {
    const installs = Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        await sleep(index * 50);
        return install();
      }),
    );
    for (let time = 0; time < 5; time++) {
      await sleep(100);
      proxy.cut();
    }
    await allSucceed(await installs);
  });

  it("a read-only server: /readyz and kit doctor report it, and recover with it", async () => {
    const name = new URL(world.environment["DATABASE_URL"]!).pathname.slice(1);
    const checkUp = async () => {
      type Report = { checks: { id: string; ok: boolean; message: string }[] };
      const { data } = await kitJson<Report>(world.environment, ["doctor"]);
      return data.checks.find(({ id }) => id === "database");
    };
    await world.rows(`ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
    try {
      proxy.cut();
      await eventually(async () => !(await isReady()));
      expect(await checkUp()).toMatchObject({ ok: false, message: expect.stringContaining("read-only") });
    } finally {
      await world.rows(`ALTER DATABASE "${name}" RESET default_transaction_read_only`);
    }
    proxy.cut();
    await eventually(isReady);
    expect((await checkUp())?.ok).toBe(true);
  });

  it.each([
    ["is full", "53100"],
    ["is read-only, for it was failed over", "25006"],
  ])(
    "a server that %s: no provision is acknowledged, no exchange is sent, and work continues afterwards",
    async (_, sqlState) => {
      await failing("resources", sqlState);
      const refused = install();
      await sleep(200);
      letTimePass(7_500);
      expect((await refused).response.status).toBe(503);
      await world.rows(`DROP TRIGGER trouble ON resources`);

      const since = position();
      const { addon } = await install();
      await failing("credentials", sqlState);
      // The mark before the call is a write.
      const before = await failures();
      await eventually(async () => (await failures()) > before + 2);
      expect(exchanges(since)).toEqual([]);
      await world.rows(`DROP TRIGGER trouble ON credentials`);
      await becomeActive([addon.id]);
    },
  );

  it("occasional deadlocks: the statements are retried, and no caller gets an error", async () => {
    await failing("resources", "40P01", 0.3);
    const deliveries = await Promise.all(Array.from({ length: 20 }, install));
    await world.rows(`DROP TRIGGER trouble ON resources`);
    await allSucceed(deliveries);
  });
});

it("a provision during the start of the service waits for the database too", async () => {
  const fresh = await aFreshDatabase();
  const back = now() + 800;
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    pendingMigrations: () =>
      now() < back ? Promise.reject(new Error("Connection terminated")) : database.pendingMigrations(),
  });
  const service = await runWeb(teapotConfig({ ...world.environment, ...fresh.environment }), {
    ...teapotParts,
    ...{ wrapDatabase, logTo: { write: () => undefined } },
  });
  const { status } = await supertest(service.url!)
    .post("/resources")
    .auth(world.environment["ADDON_ID"]!, world.environment["ADDON_PASSWORD"]!)
    .send(aProvisionRequest());
  expect([status, now() > back]).toEqual([200, true]);
  await service.stop();
  await fresh.close();
});
