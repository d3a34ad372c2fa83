import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import type { TokenEndpoint } from "../../src/platform/oauth.ts";
import { kit } from "../kit/kit.ts";
import { administer, databaseUrl } from "../support/database.ts";
import { startDatabaseProxy, type DatabaseProxy } from "../support/database-proxy.ts";
import { aWorld, eventually, type World } from "../support/world.ts";

// A real PostgreSQL that fails at the worst moments: unreachable just as tokens arrive, locked, or short of
// connections.
const serverUrl = process.env["TEST_DATABASE_URL"];
const onPostgresql = serverUrl ? describe : describe.skip;

let world: World;
let proxy: DatabaseProxy;
/** Runs once, after the platform has answered a call to the token endpoint and before the service has the answer. */
let onAnswer: (() => void) | null = null;
beforeAll(async () => {
  if (!serverUrl) return;
  const then = <Answer>(answer: Answer): Answer => {
    onAnswer?.();
    onAnswer = null;
    return answer;
  };
  const wrapTokenEndpoint = (endpoint: TokenEndpoint): TokenEndpoint => ({
    exchange: async (...given) => then(await endpoint.exchange(...given)),
    refresh: async (...given) => then(await endpoint.refresh(...given)),
  });
  world = await aWorld({ environment: { SWEEP_CRON: "* * * * * *" }, parts: { wrapTokenEndpoint } });
  proxy = await startDatabaseProxy(world.environment["DATABASE_URL"]!);
  await world.restart({ environment: { DATABASE_URL: proxy.url } });
});
afterAll(async () => {
  await world?.close();
  await proxy?.close();
});
afterEach(() => {
  onAnswer = null;
  proxy?.mode("ok");
  world?.sandbox.control.clearFaults();
});

const install = async (count: number) =>
  Promise.all(Array.from({ length: count }, () => world.sandbox.control.install({ plan: "basic" })));
const uuidsOf = (deliveries: { addon: { id: string } }[]) => deliveries.map(({ addon }) => addon.id);
const position = () => world.sandbox.control.ledger().next;
const issuedSince = (since: number) =>
  world.sandbox.control
    .ledger({ since })
    .entries.filter(({ path, response }) => path === "/oauth/token" && (response?.status ?? 500) < 300)
    .length;

/** A claim whose call was not made lasts until its lease ends. */
const become = (uuids: string[], generation: number, withinMs = 80_000) =>
  eventually(async () => {
    const found = await world.rows(
      `SELECT state, generation, count(*)::int AS count FROM credentials WHERE uuid = ANY($1::uuid[]) GROUP BY 1, 2`,
      [uuids],
    );
    expect(found).toEqual([{ state: "active", generation, count: uuids.length }]);
  }, withinMs);

/** The stored token is the one that is valid at the platform. */
async function expectAlive(uuids: string[]): Promise<void> {
  const since = position();
  for (const uuid of uuids)
    expect((await world.service.services.platformFor(uuid).addons.own()).id).toBe(uuid);
  expect(issuedSince(since)).toBe(0);
}

/** Runs a statement in a transaction that stays open until the returned function is called. */
async function held(text: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: world.environment["DATABASE_URL"]! });
  await client.connect();
  await client.query("BEGIN");
  await client.query(text);
  return async () => {
    await client.query("ROLLBACK");
    await client.end();
  };
}

onPostgresql("a database that goes away while tokens arrive", () => {
  it.each(["black-hole", "refuse"] as const)(
    "(%s) loses no token of a grant, and causes no second exchange",
    async (mode) => {
      const since = position();
      onAnswer = () => proxy.mode(mode);
      const uuids = uuidsOf(await install(15));
      await eventually(() => onAnswer === null);
      await sleep(2_500);
      proxy.mode("ok");
      await become(uuids, 1);
      expect(issuedSince(since)).toBe(15);
      await expectAlive(uuids);
    },
    120_000,
  );

  it("leaves no dead token after a refresh", async () => {
    const uuids = uuidsOf(await install(10));
    await become(uuids, 1);
    onAnswer = () => proxy.mode("refuse");
    await world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = ANY($1::uuid[])`, [uuids]);
    await eventually(() => onAnswer === null);
    await sleep(2_500);
    proxy.mode("ok");
    await become(uuids, 2);
    await expectAlive(uuids);
  }, 120_000);
});

onPostgresql("a locked row", () => {
  it("delays no other row, and its own update is not lost", async () => {
    const [stuck, free] = uuidsOf(await install(2)) as [string, string];
    await become([stuck, free], 1);
    const release = await held(
      `SELECT 1 FROM credentials JOIN resources USING (uuid) WHERE uuid = '${stuck}' FOR UPDATE`,
    );
    await world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = $1`, [free]);
    const gone = world.sandbox.control.deprovision(stuck).catch(() => undefined);
    await become([free], 2);
    const [another] = await install(1);
    expect(another!.response.status).toBe(200);
    await become([another!.addon.id], 1);
    // Its own deprovision gets an answer, of whatever status, and a repeated one succeeds.
    const first = await gone;
    expect([503, 204]).toContain(first?.response.status);
    await release();
    const again = await world.sandbox.control.deprovision(stuck).catch(() => undefined);
    expect([204, 410]).toContain(again?.response.status);
    const [row] = await world.rows(`SELECT state FROM credentials WHERE uuid = $1`, [stuck]);
    expect(row).toEqual({ state: "erased" });
  });
});

onPostgresql("a locked table", () => {
  it("leaves nothing of the provisions that were refused meanwhile, and the log names the lock", async () => {
    const release = await held(`LOCK TABLE credentials IN ACCESS EXCLUSIVE MODE`);
    const logged = world.logged().length;
    const refused = await install(60);
    expect(refused.map(({ response }) => response.status)).toEqual(refused.map(() => 503));
    // Statements that were sent before the refusal end by themselves.
    await sleep(4_000);
    await release();
    // A new provision is written after everything that was still to be written.
    const [next] = await install(1);
    expect(next!.response.status).toBe(200);
    await sleep(1_000);
    const left = await world.rows(`SELECT uuid FROM resources WHERE uuid = ANY($1::uuid[])`, [
      uuidsOf(refused),
    ]);
    expect(left).toEqual([]);
    const failures = world
      .logged()
      .slice(logged)
      .split("\n")
      .filter((line) => line.includes("A request failed"));
    expect(failures).toHaveLength(60);
    for (const line of failures) expect(line).toContain("lock timeout");
    await become([next!.addon.id], 1);
  }, 60_000);
});

onPostgresql("database connections", () => {
  it("are not held during slow calls to the platform: provisions continue with two", async () => {
    await world.restart({ environment: { DATABASE_POOL: "2", TOKEN_CONCURRENCY: "50" } });
    world.sandbox.control.fault("POST /oauth/token", { delayMs: 5_000 }, 50);
    const slow = uuidsOf(await install(50));
    await eventually(() => world.sandbox.control.faults().length === 0);
    const quick = await install(10);
    for (const { response } of quick) {
      expect(response.status).toBe(200);
      // They do not wait for the slow calls.
      expect(response.ms).toBeLessThan(5_000);
    }
    await become([...slow, ...uuidsOf(quick)], 1);
  }, 120_000);

  it("beyond the server's limit are waited for: no start and no provision fails", async () => {
    const role = `addon_few_${process.pid}`;
    const name = new URL(world.environment["DATABASE_URL"]!).pathname.slice(1);
    await world.rows(`CREATE ROLE ${role} LOGIN CONNECTION LIMIT 3`);
    try {
      await world.rows(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
      await world.rows(`GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${role}`);
      const url = new URL(databaseUrl(serverUrl!, name));
      url.username = role;
      await world.restart({ environment: { DATABASE_URL: url.href, DATABASE_POOL: "10" } });
      const deliveries = await install(20);
      expect(deliveries.filter(({ response }) => response.status !== 200)).toEqual([]);
      await become(uuidsOf(deliveries), 1);
      expect(world.logged()).toMatch(/too many connections/);
      await world.restart();
    } finally {
      await world.rows(`DROP OWNED BY ${role}`);
      await world.rows(`DROP ROLE ${role}`);
    }
  }, 120_000);
});

onPostgresql("kit migrate", () => {
  it("applies each migration once when three run at the same time", async () => {
    const name = `addon_migrate_${process.pid}`;
    await administer(serverUrl!, (ask) => ask(`CREATE DATABASE ${name}`));
    try {
      const environment = { ...world.environment, DATABASE_URL: databaseUrl(serverUrl!, name) };
      const said = await Promise.all(
        Array.from({ length: 3 }, () => kit(environment, ["migrate", "--json"])),
      );
      expect(said.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
        said.map(() => ({ code: 0, stderr: "" })),
      );
      const applied = said.map(({ stdout }) => (JSON.parse(stdout) as { applied: string[] }).applied.length);
      expect(applied.filter((count) => count > 0)).toHaveLength(1);
    } finally {
      await administer(serverUrl!, (ask) => ask(`DROP DATABASE ${name} WITH (FORCE)`));
    }
  }, 120_000);
});
