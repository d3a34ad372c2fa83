import { describe, expect, it, jest } from "@jest/globals";
import { createPlatformApi } from "../../src/platform/api.ts";
import { createHttp } from "../../src/platform/http.ts";
import { createThrottle, createThrottles } from "../../src/platform/throttle.ts";
import { aBench, aClock, aTokenSource, MEDIA_TYPE, OTHER, UUID } from "./api-client.ts";
import { aServer } from "./local-server.ts";

const answer = (remaining?: number | string, status = 200, headers = {}) => ({
  status,
  headers: { ...(remaining !== undefined && { "ratelimit-remaining": String(remaining) }), ...headers },
  body: "",
});

/** A bucket like the platform's: refilled by one per 800 ms of the clock. Counts calls that find it empty. */
function aBucket(clock: ReturnType<typeof aClock>, size: number) {
  let filledAt = clock.nowMs();
  let count = size;
  const bucket = {
    refused: 0,
    taken: 0,
    take: () => {
      const refills = Math.floor((clock.nowMs() - filledAt) / 800);
      count = Math.min(size, count + refills);
      filledAt += refills * 800;
      if (count === 0) bucket.refused += 1;
      else bucket.taken += 1;
      count = Math.max(0, count - 1);
      return Promise.resolve(answer(count));
    },
  };
  return bucket;
}

describe("the rate limit of a resource", () => {
  it("sends no call when the bucket is empty", async () => {
    const clock = aClock();
    const bucket = aBucket(clock, 5);
    const throttle = createThrottle(clock);
    for (let call = 0; call < 50; call += 1) await throttle.inTurn(bucket.take);
    expect(bucket).toMatchObject({ taken: 50, refused: 0 });
    expect(clock.slept.every((ms) => ms <= 1_000)).toBe(true);
  });

  it("counts calls under way, so that concurrent ones do not share the last token", async () => {
    const clock = { nowMs: () => 0, sleep: () => new Promise<never>(() => {}) };
    const throttle = createThrottle(clock);
    await throttle.inTurn(() => Promise.resolve(answer(3)));
    let sent = 0;
    for (let call = 0; call < 8; call += 1) {
      void throttle.inTurn(() => {
        sent += 1;
        return new Promise(() => {});
      });
    }
    await Promise.resolve();
    expect(sent).toBe(3);
  });

  it("refills the bucket with time", async () => {
    const clock = aClock();
    const bucket = aBucket(clock, 30);
    const throttle = createThrottle(clock);
    for (let call = 0; call < 30; call += 1) await throttle.inTurn(bucket.take);
    await clock.sleep(25_000);
    await Promise.all(Array.from({ length: 25 }, () => throttle.inTurn(bucket.take)));
    expect(bucket).toMatchObject({ taken: 55, refused: 0 });
    expect(clock.slept).toEqual([25_000]);
  });

  it("counts a call whose answer had no RateLimit-Remaining", async () => {
    const clock = aClock();
    const throttle = createThrottle(clock);
    await throttle.inTurn(() => Promise.resolve(answer(2)));
    await throttle.inTurn(() => Promise.resolve(answer()));
    await expect(throttle.inTurn(() => Promise.reject(new Error("x")))).rejects.toThrow("x");
    expect(clock.slept).toEqual([]);
    await throttle.inTurn(() => Promise.resolve(answer()));
    expect(clock.slept).toEqual([1_000]);
  });

  it("ignores a higher count of an older answer", async () => {
    const clock = aClock();
    const throttle = createThrottle(clock);
    let answerFirst = (_answer: ReturnType<typeof answer>) => {};
    const first = throttle.inTurn(() => new Promise((resolve) => (answerFirst = resolve)));
    await throttle.inTurn(() => Promise.resolve(answer(0)));
    answerFirst(answer(1));
    await first;
    await throttle.inTurn(() => Promise.resolve(answer(0)));
    expect(clock.slept).toHaveLength(1);
  });

  it("sends nothing before the Retry-After of a 429", async () => {
    const clock = aClock();
    const throttle = createThrottle(clock);
    await throttle.inTurn(() => Promise.resolve(answer(undefined, 429, { "retry-after": "6" })));
    await throttle.inTurn(() => Promise.resolve(answer(100)));
    expect(clock.slept).toEqual([6_000]);
  });

  it("refuses a call whose turn is too far away, without sending it", async () => {
    const throttle = createThrottle(aClock());
    await throttle.inTurn(() => Promise.resolve(answer(0, 429, { "retry-after": "1000000000" })));
    let sent = 0;
    const call = throttle.inTurn(() => Promise.resolve(answer((sent += 1))));
    await expect(call).rejects.toMatchObject({
      name: "RateLimited",
      id: "rate_limited",
      retryAfterMs: 900_000,
    });
    expect(sent).toBe(0);
  });

  it("ignores invalid counts and failed calls", async () => {
    const clock = aClock();
    const throttle = createThrottle(clock);
    await throttle.inTurn(() => Promise.resolve(answer("many")));
    await throttle.inTurn(() => Promise.resolve(answer(-1)));
    await expect(throttle.inTurn(() => Promise.reject(new Error("x")))).rejects.toThrow("x");
    await throttle.inTurn(() => Promise.resolve(answer()));
    expect(clock.slept).toEqual([]);
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
    await platform.close();
  });

  it("works when the machine's clock is set back an hour", async () => {
    const wall = jest.spyOn(Date, "now");
    const server = await aServer((_seen, response) =>
      response.writeHead(200, { "ratelimit-remaining": "0" }).end("[]"),
    );
    const http = createHttp();
    const slept: number[] = [];
    const sleep = async (ms: number) => void slept.push(ms);
    const platform = createPlatformApi({ http, apiUrl: server.url, mediaType: MEDIA_TYPE, sleep });
    const { apps } = platform.forResource(UUID, aTokenSource().tokens);
    await apps.list();
    wall.mockReturnValue(Date.now() - 3_600_000);
    try {
      await apps.list();
    } finally {
      wall.mockRestore();
      await http.close();
      await server.close();
    }
    expect(slept.every((ms) => ms <= 1_000)).toBe(true);
  });

  it("is dropped for the resources that called longest ago", () => {
    const throttleOf = createThrottles(aClock(), 2);
    const [first, second] = [throttleOf("1"), throttleOf("2")];
    expect(throttleOf("1")).toBe(first);
    throttleOf("3");
    expect(throttleOf("1")).toBe(first);
    expect(throttleOf("2")).not.toBe(second);
  });
});
