import { setTimeout as sleep } from "node:timers/promises";
import type { Database } from "../../src/database/database.ts";
import type { TokenEndpoint } from "../../src/platform/oauth.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

// How many grants are exchanged at once: few, as a kill would lose them, and enough for the deadlines of all that wait.

/** How long a call to the token endpoint, and a statement that stores tokens, takes longer than it would. */
const slow = { callMs: 0, storeMs: 0 };
/** Codes that were sent, and whose tokens are not stored yet. */
let atRisk = 0;
let mostAtRisk = 0;

const wrapTokenEndpoint = (endpoint: TokenEndpoint): TokenEndpoint => ({
  ...endpoint,
  async exchange(...given) {
    atRisk += 1;
    mostAtRisk = Math.max(mostAtRisk, atRisk);
    await sleep(slow.callMs);
    return endpoint.exchange(...given);
  },
});
const wrapDatabase = (database: Database): Database => ({
  ...database,
  async query(statement, ...values) {
    if (statement.name !== "store_tokens") return database.query(statement, ...values);
    await sleep(slow.storeMs);
    const rows = await database.query(statement, ...values);
    atRisk -= rows.length;
    return rows;
  },
});
// No grant falls due by itself.
const pace = { exchangeAfterMs: 3_600_000 };
const life = opened(() =>
  aLifecycle({ environment: { TOKEN_CONCURRENCY: "300" }, parts: { wrapTokenEndpoint, wrapDatabase, pace } }),
);

/** Has so many grants exchanged that have so many seconds left; returns when the exchanges have begun. */
async function begin(count: number, seconds: number): Promise<string[]> {
  const uuids = await life.install(count);
  mostAtRisk = 0;
  await life.world.forged.grantHasLeft(uuids, seconds);
  life.world.service.services.jobs.wake("exchange-grants");
  return uuids;
}

async function exchanged(count: number, seconds: number): Promise<void> {
  await life.become(await begin(count, seconds), 1);
  await eventually(() => expect(atRisk).toBe(0));
}

it.each([
  ["an endpoint and a database that answer at once", 0, 0],
  ["a slow endpoint", 200, 0],
  ["a database that stores slowly", 0, 300],
])("a burst of 60 with five minutes each has four codes at risk, with %s", async (_, callMs, storeMs) => {
  Object.assign(slow, { callMs, storeMs });
  await exchanged(60, 300);
  expect(mostAtRisk).toBe(4);
});

it("grants with little time left are exchanged as many at once as they need, and each in time", async () => {
  Object.assign(slow, { callMs: 1_000, storeMs: 0 });
  // Four at once would take more than a minute.
  await exchanged(300, 50);
  expect(mostAtRisk).toBeGreaterThan(6);
  expect(mostAtRisk).toBeLessThan(100);
});

it("calls that hang are seen before the first of them has ended", async () => {
  Object.assign(slow, { callMs: 12_000, storeMs: 0 });
  const uuids = await begin(20, 45);
  await eventually(() => expect(mostAtRisk).toBeGreaterThan(4));
  expect(atRisk).toBe(mostAtRisk);
  await life.become(uuids, 1);
});
