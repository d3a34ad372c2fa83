import { setTimeout as sleep } from "node:timers/promises";
import type { TokenEndpoint } from "../../src/platform/oauth.ts";
import { runWorker } from "../../src/process/run-worker.ts";
import { startDatabaseProxy } from "../support/database-proxy.ts";
import { teapotConfig, teapotParts } from "../support/sellers.ts";
import { tokenPairs } from "../support/token-pairs.ts";
import { aWorld, eventually, opened, QUICK } from "../support/world.ts";

// Issued tokens that the database does not take: one process has them in memory, and the platform issues them once.

/** Called once, after the platform has issued tokens and before the service has them. */
let onIssued: () => Promise<void> | void = () => undefined;
const wrapTokenEndpoint = (endpoint: TokenEndpoint): TokenEndpoint => ({
  ...endpoint,
  async exchange(...given) {
    const answer = await endpoint.exchange(...given);
    await onIssued();
    return answer;
  },
});
const EACH_SECOND = { SWEEP_CRON: "* * * * * *" };
const world = opened(() => aWorld({ environment: EACH_SECOND, parts: { wrapTokenEndpoint } }));
const held = (uuid: string) => world.lines('"alarm":"tokens_held"', uuid);
const leasedFor = async (uuid: string) =>
  (
    await world.rows<{ seconds: number }>(
      `SELECT extract(epoch FROM leased_until - now())::float8 AS seconds FROM credentials WHERE uuid = $1`,
      [uuid],
    )
  )[0]!.seconds;
afterEach(async () => {
  onIssued = () => undefined;
  await world.rows(`DROP TRIGGER IF EXISTS full_disk ON steps`);
});

/** From now on a row can be changed where it is, and no row can be added. */
async function hasNoRoom(): Promise<void> {
  await world.rows(`CREATE OR REPLACE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = '53100'; END $$`);
  await world.rows(
    `CREATE TRIGGER full_disk BEFORE INSERT ON steps FOR EACH STATEMENT EXECUTE FUNCTION full_disk()`,
  );
}

it("on a full disk they raise an alarm, keep their lease, and are stored as soon as there is room", async () => {
  const pairs = tokenPairs(world);
  const since = pairs.position();
  onIssued = hasNoRoom;
  const [uuid] = (await pairs.install(1)) as [string];
  await eventually(async () => (await leasedFor(uuid)) > 0 && pairs.tokenCalls(since).length === 1);
  expect(held(uuid)).toEqual([]);
  await world.rows(`UPDATE credentials SET leased_until = now() + interval '5 seconds' WHERE uuid = $1`, [
    uuid,
  ]);
  await eventually(async () => (await leasedFor(uuid)) > 30);
  await eventually(() => held(uuid).length === 1, 20_000);
  expect(held(uuid)[0]).toContain("No space left on device");
  await world.rows(`DROP TRIGGER full_disk ON steps`);
  await pairs.become([uuid], 1);
  expect(pairs.tokenCalls(since)).toHaveLength(1);
  await eventually(() =>
    expect(world.lines("has taken the tokens that this process held", uuid)).toHaveLength(1),
  );
});

it("after an outage of the database no other process uses the code again before they are stored", async () => {
  const pairs = tokenPairs(world);
  const since = pairs.position();
  const [ofWeb, ofWorker] = await Promise.all(
    [1, 2].map(() => startDatabaseProxy(world.environment["DATABASE_URL"]!)),
  );
  await world.restart({ environment: { DATABASE_URL: ofWeb!.url } });
  onIssued = () => ofWeb!.mode("refuse");
  ofWorker!.mode("refuse");
  const [uuid] = (await pairs.install(1)) as [string];
  await eventually(() => pairs.tokenCalls(since).length === 1);
  await sleep(300);
  const worker = await runWorker(
    teapotConfig({ ...world.environment, ...EACH_SECOND, DATABASE_URL: ofWorker!.url }),
    { ...teapotParts, pace: QUICK, logTo: { write: () => undefined } },
  );
  try {
    await sleep(1_000);
    await world.forged.tokenLeaseIsOver();
    // The network of the worker is back first.
    ofWorker!.mode("ok");
    await worker.ready;
    // The worker alone can look for grants, and does.
    await world.forged.jobHasNotRun("exchange-grants");
    await eventually(async () =>
      expect(await world.rows(`SELECT 1 FROM heartbeats WHERE name = 'exchange-grants'`)).toHaveLength(1),
    );
    ofWeb!.mode("ok");
    await pairs.become([uuid], 1);
    expect(pairs.tokenCalls(since)).toHaveLength(1);
  } finally {
    await worker.stop();
    await world.restart();
    await Promise.all([ofWeb!.close(), ofWorker!.close()]);
  }
});
