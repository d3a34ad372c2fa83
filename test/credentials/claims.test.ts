import pg from "pg";
import { makeOlderTokensDue } from "../../src/credentials/client-secret-store.ts";
import { refreshNow } from "../../src/credentials/pools.ts";
import {
  type ClaimedCredential,
  claimGrants,
  claimRefresh,
  claimRefreshes,
  markSent,
} from "../../src/credentials/queue.ts";
import type { Queryable } from "../../src/database/statement.ts";
import type { TokenEndpoint } from "../../src/platform/oauth.ts";
import { aGate } from "../support/a-vendor.ts";
import { ALL } from "../support/forged.ts";
import { tokenPairs } from "../support/token-pairs.ts";
import { aWorld, eventually, opened } from "../support/world.ts";

// Which tokens are exchanged and refreshed when, and by whom.

/** Calls to the token endpoint that are under way, each until a test lets it go on. */
const calls: { kind: "exchange" | "refresh"; goOn(): void }[] = [];
let isHeld = false;
let most = 0;

const held =
  <Given extends unknown[], Answer>(
    kind: "exchange" | "refresh",
    call: (...given: Given) => Promise<Answer>,
  ) =>
  async (...given: Given) => {
    if (isHeld) {
      const { opened, open } = aGate();
      calls.push({ kind, goOn: open });
      most = Math.max(most, calls.length);
      await opened;
    }
    return call(...given);
  };

const wrapTokenEndpoint = (endpoint: TokenEndpoint) => ({
  exchange: held("exchange", endpoint.exchange),
  refresh: held("refresh", endpoint.refresh),
});
const world = opened(() => aWorld({ environment: { TOKEN_CONCURRENCY: "4" }, parts: { wrapTokenEndpoint } }));

describe("concurrent calls to the token endpoint", () => {
  afterEach(() => {
    isHeld = false;
    for (const { goOn } of calls.splice(0)) goOn();
  });

  it("are limited to TOKEN_CONCURRENCY for grants and refreshes together, grants first", async () => {
    const uuids = await world.installed(8);
    isHeld = true;
    await world.forged.tokensFellDue();
    world.service.services.jobs.wake("refresh-tokens");
    await eventually(() => expect(calls).toHaveLength(4));
    const fresh = await tokenPairs(world).install(3);
    const leased = `SELECT 1 FROM credentials WHERE leased_until > now() AND uuid = ANY($1::uuid[])`;
    await eventually(async () => expect(await world.rows(leased, [fresh])).toHaveLength(3));
    const order: string[] = [];
    for (let ended = 0; ended < 11; ended++) {
      await eventually(() => expect(calls.length).toBe(Math.min(4, 11 - ended)));
      const { kind, goOn } = calls.shift()!;
      order.push(kind);
      goOn();
    }
    expect(order.slice(0, 4)).toEqual(Array(4).fill("refresh"));
    expect(order.slice(4, 7)).toEqual(Array(3).fill("exchange"));
    expect(most).toBe(4);
    await world.quiet([...uuids, ...fresh]);
  });

  it("hold up no token that a caller waits for", async () => {
    const [asked, ...others] = (await world.installed(5)) as [string, ...string[]];
    isHeld = true;
    await world.forged.tokensFellDue(others);
    world.service.services.jobs.wake("refresh-tokens");
    await eventually(() => expect(calls).toHaveLength(4));
    const refreshed = refreshNow(world.service.services, asked);
    await eventually(() => expect(calls).toHaveLength(5));
    calls.pop()!.goOn();
    expect(await refreshed).toMatchObject({ done: "stored" });
  });
});

describe("claims on credentials", () => {
  let uuids: string[];
  beforeAll(async () => {
    await world.installed(8);
    const all = await world.rows<{ uuid: string }>(`SELECT uuid FROM credentials ORDER BY uuid`);
    uuids = all.map(({ uuid }) => uuid);
    // From here on only the tests look for due work.
    await world.service.services.jobs.stop();
  });

  const grants = (most: number) => claimGrants(world.service.services.db, most);
  const refreshes = (most: number) => claimRefreshes(world.service.services.db, most, ["resource"]);
  const refresh = (uuid: string) => claimRefresh(world.service.services.db, uuid);

  it("gives each row to one claimant only, and marks token pairs as possibly sent", async () => {
    await world.forged.tokensFellDue();

    const claimed = (await Promise.all([refreshes(5), refreshes(5), refreshes(5)])).flat();
    claimed.push(...(await refreshes(20)));
    expect(claimed.map(({ uuid }) => uuid).sort()).toEqual(uuids);
    expect(await refreshes(20)).toEqual([]);
    expect(await refresh(uuids[0]!)).toBeUndefined();
    expect(await world.rows(`SELECT 1 FROM credentials WHERE sent_at IS NOT NULL`)).toHaveLength(
      uuids.length,
    );
  });

  it("gives each grant to one claimant only, and does not mark it as sent", async () => {
    await world.forged.grantIsPending();
    const claimed = (await Promise.all([grants(5), grants(5), grants(5)])).flat();
    claimed.push(...(await grants(20)));
    expect(claimed.map(({ uuid }) => uuid).sort()).toEqual(uuids);
    expect(await grants(20)).toEqual([]);
    // A call that was never made has no unknown outcome.
    expect(await world.rows(`SELECT 1 FROM credentials WHERE sent_at IS NOT NULL`)).toEqual([]);
    await world.forged.grantIsExchanged();
  });

  it("gives grants in the order of their deadlines, whatever the order in which they fell due", async () => {
    const left = [200, 40, 120, 60, 250, 20, 90, 160];
    for (const [index, life] of left.entries())
      await world.forged.grantIsPending(uuids[index]!, { leftSeconds: life, inSeconds: -life });
    const urgent = left.toSorted((one, other) => one - other).map((life) => uuids[left.indexOf(life)]);
    expect((await grants(3)).map(({ uuid }) => uuid)).toEqual(urgent.slice(0, 3));
    expect((await grants(20)).map(({ uuid }) => uuid)).toEqual(urgent.slice(3));
    await world.forged.grantIsExchanged();
  });

  it("are not marked as sent after a later claim, even when both ask at the same moment", async () => {
    const [uuid] = uuids as [string];
    const [row] = await world.forged.tokensAreTakenByAnother(uuid);
    const claim = { uuid, state: "grant_pending", claimedAtMs: Date.now() } as ClaimedCredential;
    const asked = [row!.lease - 1, row!.lease].map((lease) => markSent(world.db, { ...claim, lease }));
    expect(await Promise.all(asked)).toEqual([false, true]);
  });
});

describe("what an older client secret was used for", () => {
  const pass = async () => (await makeOlderTokensDue(world.db, null)).due;
  const elevenSecondsPass = () => world.forged.secretsAged(11);
  const NUMBER_2 = "c81e728d-9d4c-2f63-6f06-7f89cc14862c";
  const notDue = () => world.rows(`SELECT uuid FROM credentials WHERE due_at > now()`);

  beforeEach(() => world.forged.manyPairsAreOfAnOlderSecret(6_000));

  it("two processes that start together make older tokens due for a new client secret, once", async () => {
    await Promise.all([pass(), pass()]);
    expect(await notDue()).toEqual([]);
    // Their refreshes have failed once.
    await world.forged.tokensWereTried(ALL, 1);
    await world.forged.tokensAreDueIn(ALL, 3_600);
    expect(await pass()).toBe(0);
    await elevenSecondsPass();
    expect([await pass(), await pass()]).toEqual([0, 0]);
  });

  it("rows that are locked, or stored by a statement that began before, are made due by a later pass", async () => {
    const other = new pg.Client({ connectionString: world.environment["DATABASE_URL"] });
    await other.connect();
    await other.query(`BEGIN; SELECT 1 FROM credentials WHERE uuid = md5('1')::uuid FOR UPDATE`);
    expect(await pass()).toBe(5_999);
    await elevenSecondsPass();
    expect(await pass()).toBe(0);
    await other.query("COMMIT");
    await other.end();
    await world.forged.tokensAreDueIn(NUMBER_2, 3_600);
    expect(await pass()).toBe(2);
    expect(await notDue()).toEqual([]);
    expect(await pass()).toBe(0);
  });

  it("is looked for among 5000 tokens at a time, and a pass that was ended goes on where it was", async () => {
    await world.forged.manyPairsAreOfAnOlderSecret(6_000, 5_999);
    const oneStatement = new AbortController();
    const query: Queryable["query"] = (what, ...values) => {
      if (what.name === "make_older_tokens_due") oneStatement.abort();
      return world.db.query(what, ...values);
    };
    const ended = await makeOlderTokensDue({ query }, null, oneStatement.signal);
    expect(ended).toMatchObject({ due: 0, pass: { version: 2, afterDue: expect.any(String) } });
    expect(await makeOlderTokensDue(world.db, ended.pass)).toEqual({ due: 1, pass: null });
  });
});
