import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { kitJson } from "../kit/kit.ts";
import { startDatabaseProxy, type DatabaseProxy } from "../support/database-proxy.ts";
import { aWorld, eventually, type World } from "../support/world.ts";

// A real PostgreSQL that is unreachable, silent, read-only, full or in a deadlock. Only the service uses the proxy; the
// test queries the database directly.
const onPostgresql = process.env["TEST_DATABASE_URL"] ? describe : describe.skip;

let world: World;
let proxy: DatabaseProxy;
beforeAll(async () => {
  if (!process.env["TEST_DATABASE_URL"]) return;
  world = await aWorld({ environment: { SWEEP_CRON: "* * * * * *" } });
  proxy = await startDatabaseProxy(world.environment["DATABASE_URL"]!);
  await world.restart({ environment: { DATABASE_URL: proxy.url } });
});
afterAll(async () => {
  await world?.close();
  await proxy?.close();
});
afterEach(async () => {
  proxy?.mode("ok");
  await world?.rows(`DROP TRIGGER IF EXISTS trouble ON credentials`);
  await world?.rows(`DROP TRIGGER IF EXISTS trouble ON resources`);
});

const install = () => world.sandbox.control.install({ plan: "basic" });
const becomesActive = (uuid: string, withinMs = 60_000) =>
  eventually(async () => {
    const [row] = await world.rows(`SELECT state FROM credentials WHERE uuid = $1`, [uuid]);
    expect(row).toEqual({ state: "active" });
  }, withinMs);
const exchanges = (since: number) =>
  world.sandbox.control.ledger({ since }).entries.filter(({ path }) => path === "/oauth/token");

/** From now on all or some writes to a table fail with this SQLSTATE. */
async function failing(table: "credentials" | "resources", sqlState: string, share = 1): Promise<void> {
  await world.rows(`
    CREATE OR REPLACE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF random() < ${share} THEN RAISE EXCEPTION 'made for a test' USING ERRCODE = '${sqlState}'; END IF;
      RETURN NULL;
    END $$`);
  await world.rows(
    `CREATE TRIGGER trouble BEFORE INSERT OR UPDATE ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION trouble()`,
  );
}

onPostgresql("database trouble", () => {
  it("connections refused for five seconds: no provision is lost", async () => {
    proxy.mode("refuse");
    const answers = Promise.all(Array.from({ length: 10 }, install));
    await sleep(5_000);
    proxy.mode("ok");
    for (const { response, addon } of await answers) {
      expect(response.status).toBe(200);
      await becomesActive(addon.id);
    }
  }, 60_000);

  it("a silent server: 503 within ten seconds, and nothing half done", async () => {
    proxy.mode("black-hole");
    const [{ addon, response }, health] = await Promise.all([
      install(),
      fetch(`${world.service.url}/healthz`),
    ]);
    expect(health.status).toBe(200);
    expect(response.status).toBe(503);
    expect(response.ms).toBeLessThan(15_000);
    expect((await fetch(`${world.service.url}/readyz`)).status).toBe(503);
    proxy.mode("ok");
    await eventually(async () => expect((await fetch(`${world.service.url}/readyz`)).status).toBe(200));
    expect(await world.rows(`SELECT 1 FROM resources WHERE uuid = $1`, [addon.id])).toEqual([]);
    const again = await world.sandbox.control.redeliver(addon.id, { newCode: true });
    expect(again.response.status).toBe(200);
    await becomesActive(addon.id);
  }, 60_000);

  it("answers that do not arrive: nothing is done twice", async () => {
    const calls = world.sandbox.control.ledger().next;
    proxy.mode("drop-replies");
    const answer = install();
    await sleep(1_000);
    proxy.mode("ok");
    const { addon, response } = await answer;
    expect(response.status).toBe(200);
    await becomesActive(addon.id);
    expect(exchanges(calls)).toHaveLength(1);
  }, 60_000);

  it("commits whose acknowledgement is lost: one resource, one answer, one exchange", async () => {
    const calls = world.sandbox.control.ledger().next;
    proxy.mode("cut-after-commit");
    const answers = Promise.all(Array.from({ length: 20 }, install));
    await sleep(2_000);
    proxy.mode("ok");
    const deliveries = await answers;
    expect(deliveries.map(({ response }) => response.status)).toEqual(deliveries.map(() => 200));
    for (const { addon } of deliveries) await becomesActive(addon.id);
    expect(exchanges(calls)).toHaveLength(20);
  }, 60_000);

  it("a restart of the server: no process exits, and work continues", async () => {
    const installs = Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        await sleep(index * 100);
        return install();
      }),
    );
    for (let time = 0; time < 5; time++) {
      await sleep(200);
      proxy.cut();
    }
    for (const { addon, response } of await installs) {
      expect(response.status).toBe(200);
      await becomesActive(addon.id);
    }
  }, 60_000);

  it("a read-only server: /readyz and kit doctor report it, and recover with it", async () => {
    const name = new URL(world.environment["DATABASE_URL"]!).pathname.slice(1);
    const ready = async () => (await fetch(`${world.service.url}/readyz`)).status;
    const checkUp = async () => {
      const { data } = await kitJson<{ checks: { id: string; ok: boolean; message: string }[] }>(
        world.environment,
        ["doctor"],
      );
      return data.checks.find(({ id }) => id === "database");
    };
    await world.rows(`ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
    try {
      proxy.cut();
      await eventually(async () => expect(await ready()).toBe(503));
      expect(await checkUp()).toMatchObject({ ok: false, message: expect.stringContaining("read-only") });
    } finally {
      await world.rows(`ALTER DATABASE "${name}" RESET default_transaction_read_only`);
    }
    await eventually(async () => expect(await ready()).toBe(200));
    expect((await checkUp())?.ok).toBe(true);
  }, 60_000);

  it.each([
    ["is full", "53100"],
    ["is read-only, for it was failed over", "25006"],
  ])(
    "a server that %s: no provision is acknowledged, no exchange is sent, and work continues afterwards",
    async (_, sqlState) => {
      await failing("resources", sqlState);
      const { response } = await install();
      expect(response.status).toBe(503);
      await world.rows(`DROP TRIGGER trouble ON resources`);

      const calls = world.sandbox.control.ledger().next;
      const { addon } = await install();
      await failing("credentials", sqlState);
      await sleep(3_000);
      expect(exchanges(calls)).toEqual([]);
      await world.rows(`DROP TRIGGER trouble ON credentials`);
      await becomesActive(addon.id);
    },
    90_000,
  );

  it("occasional deadlocks: the statements are retried, and no caller gets an error", async () => {
    await failing("resources", "40P01", 0.3);
    const deliveries = await Promise.all(Array.from({ length: 50 }, install));
    expect(deliveries.filter(({ response }) => response.status !== 200)).toEqual([]);
    await world.rows(`DROP TRIGGER trouble ON resources`);
    for (const { addon } of deliveries) await becomesActive(addon.id);
  }, 90_000);
});
