import type { TokenEndpoint } from "../../src/platform/oauth.ts";
import { refreshNow } from "../../src/credentials/sweeps.ts";
import { aGate } from "../support/a-vendor.ts";
import { tokenPairs } from "../support/token-pairs.ts";
import { aWorld, eventually, opened } from "../support/world.ts";

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

describe("concurrent calls to the token endpoint", () => {
  const wrapTokenEndpoint = (endpoint: TokenEndpoint) => ({
    exchange: held("exchange", endpoint.exchange),
    refresh: held("refresh", endpoint.refresh),
  });
  const world = opened(() =>
    aWorld({ environment: { TOKEN_CONCURRENCY: "4" }, parts: { wrapTokenEndpoint } }),
  );
  afterEach(() => {
    isHeld = false;
    for (const { goOn } of calls.splice(0)) goOn();
  });

  it("are limited to TOKEN_CONCURRENCY for grants and refreshes together, grants first", async () => {
    const uuids = await world.installed(8);
    isHeld = true;
    await world.rows(`UPDATE credentials SET due_at = now()`);
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
    await world.rows(`UPDATE credentials SET due_at = now() WHERE uuid = ANY($1::uuid[])`, [others]);
    world.service.services.jobs.wake("refresh-tokens");
    await eventually(() => expect(calls).toHaveLength(4));
    const refreshed = refreshNow(world.service.services, asked);
    await eventually(() => expect(calls).toHaveLength(5));
    calls.pop()!.goOn();
    expect(await refreshed).toMatchObject({ done: "stored" });
  });
});
