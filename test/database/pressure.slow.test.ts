import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import pg from "pg";
import type { TokenEndpoint } from "../../src/platform/oauth.ts";
import { startDatabaseProxy, type DatabaseProxy } from "../support/database-proxy.ts";
import { aWorld, eventually, type World } from "../support/world.ts";

// A PostgreSQL that fails at the worst moments: unreachable just as tokens arrive, locked, or short of connections.

let world: World;
let proxy: DatabaseProxy;
/** Runs once, after the platform has answered a call to the token endpoint and before the service has the answer. */
let onAnswer: (() => void) | null = null;
beforeAll(async () => {
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
  await world.close();
  await proxy.close();
});
afterEach(() => {
  onAnswer = null;
  proxy.mode("ok");
  world.sandbox.control.clearFaults();
});

const install = async (count: number) =>
  Promise.all(Array.from({ length: count }, () => world.sandbox.control.install({ plan: "basic" })));
const uuidsOf = (deliveries: { addon: { id: string } }[]) => deliveries.map(({ addon }) => addon.id);
const statusesOf = (deliveries: Awaited<ReturnType<typeof install>>) =>
  new Set(deliveries.map(({ response }) => response.status));
const position = () => world.sandbox.control.ledger().next;
const issuedSince = (since: number) =>
  world.sandbox.control
    .ledger({ since })
    .entries.filter(({ path, response }) => path === "/oauth/token" && (response?.status ?? 500) < 300)
    .length;

const makeDue = (uuids: string[], state = "active") =>
  world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = ANY($1::uuid[]) AND state = $2`, [
    uuids,
    state,
  ]);
/** A claim whose call was not made lasts until its lease ends. */
async function become(uuids: string[], generation: number): Promise<void> {
  // Without the second that a grant waits for the platform.
  await makeDue(uuids, "grant_pending");
  for (const job of ["exchange-grants", "refresh-tokens"] as const) world.service.services.jobs.wake(job);
  await eventually(async () => {
    const found = await world.rows(
      `SELECT state, generation, count(*)::int AS count FROM credentials WHERE uuid = ANY($1::uuid[]) GROUP BY 1, 2`,
      [uuids],
    );
    expect(found).toEqual([{ state: "active", generation, count: uuids.length }]);
  }, 80_000);
}

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

describe("a database that goes away while tokens arrive", () => {
  it.each(["black-hole", "refuse"] as const)(
    "(%s) loses no token of a grant, and causes no second exchange",
    async (mode) => {
      const since = position();
      onAnswer = () => proxy.mode(mode);
      const uuids = uuidsOf(await install(15));
      await eventually(() => onAnswer === null);
      await sleep(700);
      proxy.mode("ok");
      await become(uuids, 1);
      expect(issuedSince(since)).toBe(15);
      await expectAlive(uuids);
    },
  );

  it("leaves no dead token after a refresh", async () => {
    const uuids = uuidsOf(await install(10));
    await become(uuids, 1);
    onAnswer = () => proxy.mode("refuse");
    await makeDue(uuids);
    await eventually(() => onAnswer === null);
    await sleep(700);
    proxy.mode("ok");
    await become(uuids, 2);
    await expectAlive(uuids);
  });
});

describe("a lock", () => {
  it("on a row delays no other row, and its own update is not lost", async () => {
    const [stuck, free] = uuidsOf(await install(2)) as [string, string];
    await become([stuck, free], 1);
    const release = await held(
      `SELECT 1 FROM credentials JOIN resources USING (uuid) WHERE uuid = '${stuck}' FOR UPDATE`,
    );
    await makeDue([free]);
    const gone = world.sandbox.control.deprovision(stuck);
    await become([free], 2);
    const another = await install(1);
    expect(statusesOf(another)).toEqual(new Set([200]));
    await become(uuidsOf(another), 1);
    await release();
    expect((await gone).response.status).toBe(204);
    const [row] = await world.rows(`SELECT state FROM credentials WHERE uuid = $1`, [stuck]);
    expect(row).toEqual({ state: "erased" });
  });

  it("on a table leaves nothing of the provisions that were refused meanwhile, and the log names the lock", async () => {
    await world.restart({ environment: { DATABASE_URL: `${proxy.url}?lock_timeout=300` } });
    const release = await held(`LOCK TABLE credentials IN ACCESS EXCLUSIVE MODE`);
    const logged = world.logged().length;
    const now = performance.now.bind(performance);
    const refused = install(60);
    await sleep(1_500);
    // Of the eight seconds that a request waits for the database.
    jest.spyOn(performance, "now").mockImplementation(() => now() + 6_000);
    expect(statusesOf(await refused)).toEqual(new Set([503]));
    // Statements that were sent before the refusal end by themselves.
    await eventually(async () => {
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%incoming%'`;
      return (await world.rows(waiting)).length === 0;
    });
    await release();
    // A new provision is written after everything that was still to be written.
    const next = await install(1);
    expect(statusesOf(next)).toEqual(new Set([200]));
    const uuids = uuidsOf(await refused);
    expect(await world.rows(`SELECT uuid FROM resources WHERE uuid = ANY($1::uuid[])`, [uuids])).toEqual([]);
    const lines = world.logged().slice(logged).split("\n");
    const failures = lines.filter((line) => line.includes("A request failed"));
    expect(failures).toHaveLength(60);
    // Of those that waited in line behind others nobody knows why.
    expect(failures.filter((line) => line.includes("lock timeout"))).not.toEqual([]);
    await become(uuidsOf(next), 1);
  });
});

describe("database connections", () => {
  it("are not held during slow calls to the platform: provisions continue with two", async () => {
    await world.restart({ environment: { DATABASE_POOL: "2", TOKEN_CONCURRENCY: "50" } });
    world.sandbox.control.fault("POST /oauth/token", { delayMs: 1_500 }, 50);
    const slow = uuidsOf(await install(50));
    await eventually(() => world.sandbox.control.faults().length === 0);
    const quick = await install(10);
    expect(statusesOf(quick)).toEqual(new Set([200]));
    for (const { response } of quick) expect(response.ms).toBeLessThan(1_200);
    await become([...slow, ...uuidsOf(quick)], 1);
  });

  it("beyond the server's limit are waited for: no start and no provision fails", async () => {
    const role = `addon_few_${process.pid}`;
    await world.rows(`CREATE ROLE ${role} LOGIN PASSWORD 'one' CONNECTION LIMIT 3`);
    try {
      await world.rows(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
      await world.rows(`GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${role}`);
      const url = Object.assign(new URL(world.environment["DATABASE_URL"]!), {
        username: role,
        password: "one",
      });
      await world.restart({ environment: { DATABASE_URL: url.href, DATABASE_POOL: "10" } });
      const deliveries = await install(20);
      expect(statusesOf(deliveries)).toEqual(new Set([200]));
      await become(uuidsOf(deliveries), 1);
      expect(world.logged()).toMatch(/too many connections/);
      await world.restart();
    } finally {
      await world.rows(`DROP OWNED BY ${role}`);
      await world.rows(`DROP ROLE ${role}`);
    }
  });
});
