import { setTimeout as sleep } from "node:timers/promises";
import { jest } from "@jest/globals";
import pg from "pg";
import supertest from "supertest";
import type { Database } from "../../src/database/database.ts";
import type { TokenEndpoint } from "../../src/platform/oauth.ts";
import { runWeb } from "../../src/process/run-web.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aGate } from "../support/a-vendor.ts";
import { administer, aFreshDatabase, testServerUrl } from "../support/database.ts";
import { type DatabaseProxy, startDatabaseProxy } from "../support/database-proxy.ts";
import { kit } from "../support/kit.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { tokenPairs } from "../support/token-pairs.ts";
import { aWorld, eventually, type World } from "../support/world.ts";

// A PostgreSQL that is unreachable, silent, read-only, full, locked, in a deadlock or short of connections. Only the
// service uses the proxy; the test queries the database directly.

let world: World;
let pairs: ReturnType<typeof tokenPairs>;
let proxy: DatabaseProxy;
/** Runs once, after the platform has answered a call to the token endpoint and before the service has the answer. */
let onAnswer: (() => void) | null = null;
const answered = <Answer>(answer: Answer): Answer => {
  onAnswer?.();
  onAnswer = null;
  return answer;
};
/** Until then no grant is sent. */
let mayExchange: Promise<void> = Promise.resolve();
const wrapTokenEndpoint = (endpoint: TokenEndpoint): TokenEndpoint => ({
  exchange: (...given) => mayExchange.then(() => endpoint.exchange(...given)).then(answered),
  refresh: async (...given) => answered(await endpoint.refresh(...given)),
});
const restart = (environment: Record<string, string> = {}) =>
  world.restart({ environment: { DATABASE_URL: proxy.url, ...environment } });

beforeAll(async () => {
  world = await aWorld({ environment: { SWEEP_CRON: "* * * * * *" }, parts: { wrapTokenEndpoint } });
  pairs = tokenPairs(world);
  proxy = await startDatabaseProxy(world.environment["DATABASE_URL"]!);
  await restart();
});
afterAll(async () => {
  await world.close();
  await proxy.close();
});
afterEach(async () => {
  onAnswer = null;
  proxy.mode("ok");
  world.sandbox.control.clearFaults();
  for (const table of ["credentials", "resources"])
    await world.rows(`DROP TRIGGER IF EXISTS trouble ON ${table}`);
});

const install = () => world.sandbox.control.install({ plan: "basic" });
/** Installs so many at once; each status is there once. */
async function installs(count: number) {
  const deliveries = await Promise.all(Array.from({ length: count }, install));
  const statuses = [...new Set(deliveries.map(({ response }) => response.status))];
  return { uuids: deliveries.map(({ addon }) => addon.id), statuses };
}

/**
 * Their tokens are stored, without the second that a grant waits for the platform, and without the 45 s for which a
 * claim holds its row if its acknowledgement was lost: letting it go is safe before the call is marked as sent.
 */
async function become(uuids: string[], generation = 1): Promise<void> {
  const isFree = `(leased_until IS NULL OR sent_at IS NULL AND leased_until < now() + interval '43 seconds')`;
  const hurry = `UPDATE credentials SET due_at = now(), leased_until = NULL
    WHERE uuid = ANY($1::uuid[]) AND state = 'grant_pending' AND due_at IS NOT NULL AND ${isFree}`;
  const found = `SELECT 1 FROM credentials WHERE uuid = ANY($1::uuid[]) AND state = 'active' AND generation = $2`;
  await eventually(async () => {
    await world.rows(hurry, [uuids]);
    for (const job of ["exchange-grants", "refresh-tokens"] as const) world.service.services.jobs.wake(job);
    await sleep(50);
    expect(await world.rows(found, [uuids, generation])).toHaveLength(uuids.length);
  });
}
const allSucceed = async ({ uuids, statuses }: Awaited<ReturnType<typeof installs>>) => {
  // 202 where the database was away for longer than the answer may wait for the vendor's result.
  for (const status of statuses) expect([200, 202]).toContain(status);
  await become(uuids);
};
const issued = (since: number) =>
  pairs.tokenCalls(since).filter(({ response }) => (response?.status ?? 500) < 300).length;
const isReady = async () => (await fetch(`${world.service.url}/readyz`)).status === 200;

const now = performance.now.bind(performance);
let aheadMs = 0;
/** A request waits eight seconds for the database; this takes away so many of them. */
function letTimePass(ms: number): void {
  aheadMs += ms;
  jest.spyOn(performance, "now").mockImplementation(() => now() + aheadMs);
}

/** From now on all writes to a table fail, as the disk is full. */
async function failing(table: "credentials" | "resources", on = "INSERT OR UPDATE"): Promise<void> {
  await world.rows(`CREATE SEQUENCE IF NOT EXISTS failures`);
  await world.rows(`
    CREATE OR REPLACE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF nextval('failures') > 0 THEN RAISE EXCEPTION 'made for a test' USING ERRCODE = '53100'; END IF;
      RETURN NULL;
    END $$`);
  await world.rows(
    `CREATE TRIGGER trouble BEFORE ${on} ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION trouble()`,
  );
}
const failures = async () =>
  (await world.rows<{ count: number }>(`SELECT last_value AS count FROM failures`))[0]!.count;

/** Runs a statement in a transaction that stays open until the returned function is called. */
async function held(text: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: world.environment["DATABASE_URL"]! });
  await client.connect();
  await client.query("BEGIN");
  await client.query(text);
  return () => client.end();
}

describe("a database that cannot be reached", () => {
  it("since it is silent: 503 with Retry-After, nothing half done, and a later delivery succeeds", async () => {
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
    const again = await world.sandbox.control.redeliver(addon.id, { newCode: true });
    expect(again.response.status).toBe(200);
    await become([addon.id]);
  });

  it("as it has committed: one resource, one answer, one exchange", async () => {
    const since = pairs.position();
    proxy.mode("cut-after-commit");
    const answers = installs(20);
    await sleep(1_000);
    proxy.mode("ok");
    await allSucceed(await answers);
    expect(issued(since)).toBe(20);
    // A grant may come due while its answer still waits for the database, and is then refused once.
    const refused = pairs
      .tokenCalls(since)
      .flatMap(({ response }) => (response?.status === 200 ? [] : [response?.body]));
    for (const body of refused)
      expect(body).toMatchObject({ error_description: expect.stringContaining("success answer") });
  });

  it("since it restarts again and again: no process exits, and work continues", async () => {
    const answers: ReturnType<typeof installs>[] = [];
    for (let time = 0; time < 10; time++) {
      answers.push(installs(1));
      await sleep(50);
      if (time % 2) proxy.cut();
    }
    for (const answer of answers) await allSucceed(await answer);
  });

  it.each(["black-hole", "refuse"] as const)(
    "(%s) just as tokens arrive, loses none, and causes no second exchange or refresh",
    async (mode) => {
      const since = pairs.position();
      let uuids: string[] = [];
      for (const generation of [1, 2]) {
        // While the database is there, all are installed.
        const gate = aGate();
        if (generation === 1) {
          mayExchange = gate.opened;
          ({ uuids } = await installs(15));
        }
        onAnswer = () => proxy.mode(mode);
        gate.open();
        if (generation === 2) await pairs.makeDue(uuids);
        await eventually(() => onAnswer === null);
        await sleep(700);
        proxy.mode("ok");
        await become(uuids, generation);
        if (generation === 1) expect(issued(since)).toBe(15);
      }
      // The stored tokens are those that are valid at the platform.
      const before = pairs.position();
      await pairs.expectAlive(uuids);
      expect(issued(before)).toBe(0);
    },
  );
});

it("a read-only server: /readyz and kit doctor report it, and recover with it", async () => {
  const name = new URL(world.environment["DATABASE_URL"]!).pathname.slice(1);
  const checkUp = async () => (await kit(world.environment, ["doctor"])).stdout;
  await world.rows(`ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
  try {
    proxy.cut();
    await eventually(async () => !(await isReady()));
    expect(await checkUp()).toMatch(/✗ database .*read-only/);
  } finally {
    // A new connection to this database could not write that.
    await administer(testServerUrl(), (ask) =>
      ask(`ALTER DATABASE "${name}" RESET default_transaction_read_only`),
    );
  }
  proxy.cut();
  await eventually(isReady);
  expect(await checkUp()).toContain("✓ database");
});

it("a server that is full: no provision is acknowledged, no exchange is sent, and work continues afterwards", async () => {
  await failing("resources");
  const refused = install();
  await sleep(200);
  letTimePass(7_500);
  expect((await refused).response.status).toBe(503);
  await world.rows(`DROP TRIGGER trouble ON resources`);

  const since = pairs.position();
  // The claim of a grant and the mark before its call are writes; a provision and its answer do not write this column.
  await failing("credentials", "UPDATE OF sent_at");
  const { addon } = await install();
  const before = await failures();
  await eventually(async () => (await failures()) > before + 2);
  expect(pairs.tokenCalls(since)).toEqual([]);
  await world.rows(`DROP TRIGGER trouble ON credentials`);
  await become([addon.id]);
});

describe("a lock", () => {
  it("on a row delays no other row, and its own update is not lost", async () => {
    const { uuids } = await installs(2);
    await become(uuids);
    const [stuck, free] = uuids as [string, string];
    const release = await held(
      `SELECT 1 FROM credentials JOIN resources USING (uuid) WHERE uuid = '${stuck}' FOR UPDATE`,
    );
    await pairs.makeDue([free]);
    const gone = world.sandbox.control.deprovision(stuck);
    await become([free], 2);
    const another = await installs(1);
    expect(another.statuses).toEqual([200]);
    await become(another.uuids);
    await release();
    expect((await gone).response.status).toBe(204);
    const [row] = await world.rows(`SELECT state FROM credentials WHERE uuid = $1`, [stuck]);
    expect(row).toEqual({ state: "erased" });
  });

  it("on the client secret's table does not hold /readyz up", async () => {
    const release = await held(`LOCK TABLE client_secrets IN ACCESS EXCLUSIVE MODE`);
    // PostgreSQL itself gives up waiting after 2 s.
    await eventually(async () => {
      const answer = await fetch(`${world.service.url}/readyz`, { signal: AbortSignal.timeout(1_900) });
      expect(await answer.json()).toEqual({ status: "degraded" });
    });
    await release();
  });

  it("on a table leaves nothing of the provisions that were refused, and the log names the lock", async () => {
    await restart({ DATABASE_URL: `${proxy.url}?lock_timeout=300` });
    const release = await held(`LOCK TABLE credentials IN ACCESS EXCLUSIVE MODE`);
    const logged = world.logged().length;
    const refused = installs(60);
    await sleep(1_500);
    letTimePass(6_000);
    const { uuids, statuses } = await refused;
    expect(statuses).toEqual([503]);
    // Statements that were sent before the refusal end by themselves.
    await eventually(async () => {
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
        AND wait_event_type = 'Lock' AND application_name = 'addon-service'`;
      return (await world.rows(waiting)).length === 0;
    });
    await release();
    // A new provision is written after everything that was still to be written.
    const next = await installs(1);
    expect(next.statuses).toEqual([200]);
    expect(await world.rows(`SELECT uuid FROM resources WHERE uuid = ANY($1::uuid[])`, [uuids])).toEqual([]);
    const lines = world.logged().slice(logged).split("\n");
    const failed = lines.filter((line) => line.includes("A request failed"));
    expect(failed).toHaveLength(60);
    // Of those that waited in line behind others nobody knows why.
    expect(failed.filter((line) => line.includes("lock timeout"))).not.toEqual([]);
    await become(next.uuids);
  });
});

describe("database connections", () => {
  it("are not held during slow calls to the platform: provisions continue with two", async () => {
    await restart({ DATABASE_POOL: "2", TOKEN_CONCURRENCY: "50" });
    world.sandbox.control.fault("POST /oauth/token", { delayMs: 1_500 }, 50);
    const slow = await installs(50);
    await eventually(() => world.sandbox.control.faults().length === 0);
    const quick = await installs(10);
    expect(quick.statuses).toEqual([200]);
    await become([...slow.uuids, ...quick.uuids]);
  });

  it("beyond the server's limit are waited for: no start and no provision fails", async () => {
    const role = `addon_few_${process.pid}`;
    await world.rows(`CREATE ROLE ${role} LOGIN PASSWORD 'one' CONNECTION LIMIT 3`);
    try {
      await world.rows(`GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
      await world.rows(`GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${role}`);
      const few = { username: role, password: "one" };
      const url = Object.assign(new URL(world.environment["DATABASE_URL"]!), few);
      await restart({ DATABASE_URL: url.href, DATABASE_POOL: "10" });
      await allSucceed(await installs(20));
      expect(world.logged()).toMatch(/too many connections/);
      await world.restart();
    } finally {
      await world.rows(`DROP OWNED BY ${role}`);
      await world.rows(`DROP ROLE ${role}`);
    }
  });
});

it("a provision during the start of the service waits for the database too", async () => {
  const fresh = await aFreshDatabase();
  const back = now() + 800;
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    query: (...asked) =>
      asked[0].name === "finished_migrations" && now() < back
        ? Promise.reject(new Error("Connection terminated"))
        : database.query(...asked),
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

it("a provision that waits for the start of a service that is stopped is refused with 503", async () => {
  const fresh = await aFreshDatabase();
  const wrapDatabase = (database: Database): Database => ({
    ...database,
    query: () => Promise.reject(new Error("Connection terminated")),
  });
  const service = await runWeb(teapotConfig({ ...world.environment, ...fresh.environment }), {
    ...teapotParts,
    ...{ wrapDatabase, logTo: { write: () => undefined } },
  });
  const answer = supertest(service.url!)
    .post("/resources")
    .auth(world.environment["ADDON_ID"]!, world.environment["ADDON_PASSWORD"]!)
    .send(aProvisionRequest())
    .then(({ status, headers, body }) => [status, headers["retry-after"], body]);
  // What comes after it is answered: so it has come.
  await supertest(service.url!).get("/healthz").expect(200);
  await service.stop();
  expect(await answer).toMatchObject([503, "5", { id: "service_unavailable" }]);
  await fresh.close();
});
