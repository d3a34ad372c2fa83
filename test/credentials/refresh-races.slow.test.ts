import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { randomUUID } from "node:crypto";
import type { TokenEndpoint } from "../../src/platform/oauth.ts";
import { shareOfLife } from "../../src/credentials/verdict.ts";
import { aWorld, eventually, type World } from "../support/world.ts";
import { refreshNow } from "../../src/credentials/sweeps.ts";

// Refreshes that coincide with another process, a deprovision, callers, or a Retry-After.

let world: World;
/** Runs once, after the platform has answered a refresh and before the service has the answer. */
let onAnswer: (() => Promise<unknown>) | null = null;
let inFlight = 0;
beforeAll(async () => {
  const wrapTokenEndpoint = (endpoint: TokenEndpoint): TokenEndpoint => ({
    ...endpoint,
    async refresh(...given) {
      inFlight += 1;
      const answer = await endpoint.refresh(...given).finally(() => (inFlight -= 1));
      const meanwhile = onAnswer;
      onAnswer = null;
      await meanwhile?.();
      return answer;
    },
  });
  world = await aWorld({
    environment: { SWEEP_CRON: "* * * * * *", TOKEN_CONCURRENCY: "8" },
    parts: { wrapTokenEndpoint },
  });
});
afterAll(() => world.close());
afterEach(() => {
  onAnswer = null;
  world.sandbox.control.clearFaults();
});

async function active(count: number): Promise<string[]> {
  const installs = Array.from({ length: count }, () => world.sandbox.control.install({ plan: "basic" }));
  const uuids = (await Promise.all(installs)).map(({ addon }) => addon.id);
  await world.quiet(uuids);
  return uuids;
}

const become = (uuids: string[], generation: number) =>
  eventually(async () => {
    const found = await world.rows(
      `SELECT state, generation, count(*)::int AS count FROM credentials WHERE uuid = ANY($1::uuid[]) GROUP BY 1, 2`,
      [uuids],
    );
    expect(found).toEqual([{ state: "active", generation, count: uuids.length }]);
  });
const makeDue = (uuids: string[]) =>
  world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = ANY($1::uuid[])`, [uuids]);
const platform = (uuid: string) => world.service.services.platformFor(uuid);
const position = () => world.sandbox.control.ledger().next;
const tokenCalls = (since: number) =>
  world.sandbox.control.ledger({ since }).entries.filter(({ path }) => path === "/oauth/token");

describe("refresh of a token", () => {
  it("ignores a refusal when another process has changed the row meanwhile", async () => {
    const [uuid] = (await active(1)) as [string];
    world.sandbox.control.fault("POST /oauth/token", { status: 400, body: { error: "invalid_grant" } });
    onAnswer = () =>
      world.rows(
        `UPDATE credentials SET lease = lease + 1, generation = 2, leased_until = NULL, sent_at = NULL,
           due_at = now() + interval '1 hour' WHERE uuid = $1`,
        [uuid],
      );
    await makeDue([uuid]);
    await eventually(() =>
      expect(world.logged()).toMatch(new RegExp(`"uuid":"${uuid}","outcome":"token_rejected"`)),
    );
    const [row] = await world.rows(
      `SELECT state, generation, rejected_at, attempts FROM credentials WHERE uuid = $1`,
      [uuid],
    );
    expect(row).toEqual({ state: "active", generation: 2, rejected_at: null, attempts: 0 });
  });

  it("stores nothing when its answer arrives after a deprovision", async () => {
    const [uuid] = (await active(1)) as [string];
    onAnswer = () => world.sandbox.control.deprovision(uuid);
    await makeDue([uuid]);
    await eventually(async () =>
      expect(world.logged()).toMatch(new RegExp(`"uuid":"${uuid}","msg":"Tokens arrived`)),
    );
    const [row] = await world.rows(
      `SELECT state, num_nonnulls(sealed_access_token, sealed_refresh_token, sealed_grant_code, due_at) AS left
       FROM credentials WHERE uuid = $1`,
      [uuid],
    );
    expect(row).toEqual({ state: "erased", left: 0 });
  });

  it("makes no further call for a late answer that is older than the stored pair", async () => {
    const [uuid] = (await active(1)) as [string];
    const since = position();
    onAnswer = async () => {
      // Another process takes over and stores the newest token; this answer is older. No sweep runs before it.
      await world.rows(
        `UPDATE credentials SET leased_until = NULL, sent_at = NULL, due_at = now() + interval '1 hour' WHERE uuid = $1`,
        [uuid],
      );
      expect(await refreshNow(world.service.services, uuid)).toMatchObject({ done: "stored" });
    };
    await makeDue([uuid]);
    await become([uuid], 2);
    await eventually(() =>
      expect(world.logged()).toMatch(new RegExp(`"uuid":"${uuid}","msg":"Tokens arrived`)),
    );
    expect(tokenCalls(since)).toHaveLength(2);
    expect((await platform(uuid).addons.own()).id).toBe(uuid);
    expect(tokenCalls(since)).toHaveLength(2);
  });

  it("waits as long as the platform's Retry-After asks, and is then made", async () => {
    const [uuid] = (await active(1)) as [string];
    const since = position();
    world.sandbox.control.fault("POST /oauth/token", { status: 429, headers: { "retry-after": "7" } });
    await makeDue([uuid]);
    await become([uuid], 2);
    const [first, second] = tokenCalls(since).map(({ at }) => Date.parse(at));
    expect(second! - first!).toBeGreaterThanOrEqual(7_000);
  });

  it("makes callers that find the old token dead wait until the new one is stored", async () => {
    const [uuid] = (await active(1)) as [string];
    for (const generation of [2, 3, 4, 5]) {
      const since = position();
      let call: Promise<{ id: string }> | null = null;
      onAnswer = () => {
        call = platform(uuid).addons.own();
        call.catch(() => undefined);
        return eventually(() =>
          world.sandbox.control.ledger({ since }).entries.some(({ response }) => response?.status === 401),
        );
      };
      await makeDue([uuid]);
      await become([uuid], generation);
      expect((await call!).id).toBe(uuid);
      expect(tokenCalls(since)).toHaveLength(1);
    }
  });

  it("causes no failed call for those who call the platform meanwhile", async () => {
    // The callers do not pause; on a slow machine the usual number of calls would not cover three sweeps.
    world.sandbox.control.settings({ rateLimit: 1_000_000 });
    const [uuid] = (await active(1)) as [string];
    let isOver = false;
    let calls = 0;
    const caller = async () => {
      while (!isOver) {
        expect((await platform(uuid).addons.own()).id).toBe(uuid);
        calls += 1;
      }
    };
    const callers = Promise.all(Array.from({ length: 20 }, caller)).finally(() => (isOver = true));
    for (const generation of [2, 3, 4]) {
      await makeDue([uuid]);
      await become([uuid], generation);
      // A call is tried twice, and a token is never replaced twice during one call.
      const before = calls;
      await eventually(() => expect(calls).toBeGreaterThan(before + 2 * 20));
    }
    isOver = true;
    await callers;
    expect(calls).toBeGreaterThan(50);
    expect(await world.rows(`SELECT generation FROM credentials WHERE uuid = $1`, [uuid])).toEqual([
      { generation: 4 },
    ]);
  });
});

describe("many tokens that were issued at the same moment", () => {
  it("are released at once, without a call, by a process that is stopping", async () => {
    const uuids = await active(16);
    const state = () =>
      world.rows(
        `SELECT generation, count(*)::int AS count, count(leased_until)::int AS leased
         FROM credentials WHERE uuid = ANY($1::uuid[]) GROUP BY 1 ORDER BY 1`,
        [uuids],
      );
    world.sandbox.control.fault("POST /oauth/token", { delayMs: 2_000 }, 8);
    await makeDue(uuids);
    await eventually(async () => {
      expect(await state()).toEqual([{ generation: 1, count: 16, leased: 16 }]);
      expect(inFlight).toBe(8);
    });
    await world.service.stop();
    expect(await state()).toEqual([
      { generation: 1, count: 8, leased: 0 },
      { generation: 2, count: 8, leased: 0 },
    ]);
    await world.restart();
    await become(uuids, 2);
  });

  it("fall due spread over a tenth of their life, in no minute more than twice the mean", () => {
    const minutes = new Map<number, number>();
    for (let one = 0; one < 10_000; one++) {
      const share = shareOfLife(randomUUID());
      expect(share).toBeGreaterThanOrEqual(0.45);
      expect(share).toBeLessThanOrEqual(0.55);
      const minute = Math.floor(share * 480);
      minutes.set(minute, (minutes.get(minute) ?? 0) + 1);
    }
    expect(Math.max(...minutes.values())).toBeLessThanOrEqual((2 * 10_000) / 48);
  });
});

it("tokens are refreshed on use when no process runs sweeps", async () => {
  const uuids = await active(10);
  await world.restart({ environment: { WEB_JOBS: "off" } });
  await world.rows(
    `UPDATE credentials SET expires_at = now() - interval '1 hour', due_at = now() - interval '5 hours' WHERE uuid = ANY($1::uuid[])`,
    [uuids],
  );
  const since = position();
  const addons = await Promise.all(uuids.flatMap((uuid) => [1, 2, 3].map(() => platform(uuid).addons.own())));
  expect(new Set(addons.map(({ id }) => id))).toEqual(new Set(uuids));
  expect(tokenCalls(since)).toHaveLength(10);
});
