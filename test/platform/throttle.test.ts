import { createThrottles } from "../../src/platform/client.ts";
import { aBench, aClock, OTHER } from "./api-client.ts";

const answer = (remaining?: number | string, status = 200, headers = {}) => ({
  status,
  headers: { ...(remaining !== undefined && { "ratelimit-remaining": String(remaining) }), ...headers },
  body: "",
});

/** A throttle with a clock that only `sleep` advances, and a call that is answered at once. */
function aThrottle() {
  const clock = aClock();
  const inTurn = createThrottles(clock)("a resource");
  const call = (...answered: Parameters<typeof answer>) => inTurn(async () => answer(...answered));
  return { clock, inTurn, call };
}

/** A bucket like the platform's: refilled by one per 800 ms of the clock. Counts calls that find it empty. */
function aBucket(clock: ReturnType<typeof aClock>, size: number) {
  let filledAt = clock.nowMs();
  let count = size;
  const bucket = {
    ...{ refused: 0, taken: 0 },
    take: async () => {
      const refills = Math.floor((clock.nowMs() - filledAt) / 800);
      count = Math.min(size, count + refills);
      filledAt += refills * 800;
      if (count === 0) bucket.refused += 1;
      else bucket.taken += 1;
      count = Math.max(0, count - 1);
      return answer(count);
    },
  };
  return bucket;
}

describe("the rate limit of a resource", () => {
  it("sends no call when the bucket is empty, and uses what is refilled with time", async () => {
    const { clock, inTurn } = aThrottle();
    const bucket = aBucket(clock, 5);
    for (let call = 0; call < 50; call += 1) await inTurn(bucket.take);
    expect(bucket).toMatchObject({ taken: 50, refused: 0 });
    expect(clock.slept.every((ms) => ms <= 1_000)).toBe(true);
    clock.slept.length = 0;
    await clock.sleep(5_000);
    await Promise.all(Array.from({ length: 5 }, () => inTurn(bucket.take)));
    expect(bucket).toMatchObject({ taken: 55, refused: 0 });
    expect(clock.slept).toEqual([5_000]);
  });

  type Throttled = ReturnType<typeof aThrottle>;
  const unknown = async ({ call, inTurn }: Throttled) => {
    await call(3);
    await call();
    await call("many");
    await inTurn(() => Promise.reject(new Error("x"))).catch(() => undefined);
  };
  it.each<[string, (throttle: Throttled) => Promise<unknown>, number[]]>([
    ["counts calls whose answer does not say how many are left, and calls that fail", unknown, [1_000]],
    ["waits as a 429 asks", ({ call }) => call(undefined, 429, { "retry-after": "6" }), [6_000]],
    ["is unlimited while nothing is known", ({ call }) => call("-1"), []],
  ])("%s", async (_, past, slept) => {
    const throttle = aThrottle();
    await past(throttle);
    await throttle.call(100);
    expect(throttle.clock.slept).toEqual(slept);
  });

  it("refuses a call whose turn is too far away, without sending it", async () => {
    const { call, inTurn } = aThrottle();
    await call(0, 429, { "retry-after": "1000000000" });
    let sent = 0;
    const refused = inTurn(async () => answer((sent += 1)));
    await expect(refused).rejects.toMatchObject({ id: "rate_limited", retryAfterMs: 900_000 });
    expect(sent).toBe(0);
  });

  it("is forgotten only for the latest ten thousand resources", async () => {
    const throttles = createThrottles(aClock());
    const call = (uuid: string) => throttles(uuid)(async () => answer(0, 429, { "retry-after": "60" }));
    throttles("the oldest");
    await call("the debtor");
    for (let other = 0; other < 9_999; other++) throttles(`${other}`);
    await expect(call("the debtor")).rejects.toMatchObject({ id: "rate_limited" });
  });

  it("is shared by all clients of a resource, and affects no other resource", async () => {
    const platform = await aBench((_seen, response) =>
      response.writeHead(200, { "ratelimit-remaining": "0" }).end("[]"),
    );
    await platform.api.apps.list();
    await platform.forResource(OTHER).apps.list();
    expect(platform.slept).toEqual([]);
    await platform.forResource(OTHER).apps.list();
    expect(platform.slept).toEqual([1_000]);
  });
});
