import { randomUUID } from "node:crypto";
import { shareOfLife } from "../../src/credentials/verdict.ts";
import { interleavings } from "../support/interleavings.ts";
import { aLifecycle } from "../support/lifecycle.ts";
import { eventually, opened } from "../support/world.ts";

// Refreshes that coincide with callers, or with the end of a process.

const { moments, parts } = interleavings();
const life = opened(() => aLifecycle({ environment: { TOKEN_CONCURRENCY: "8" }, parts }));
afterEach(() => {
  moments.clear();
  life.control.clearFaults();
});

describe("refresh of a token", () => {
  it("makes callers that find the old token dead wait until the new one is stored", async () => {
    const uuid = await life.settled();
    for (const generation of [2, 3, 4, 5]) {
      const since = life.position();
      let call: Promise<{ id: string }> | null = null;
      moments.set("answered refresh", () => {
        call = life.own(uuid);
        call.catch(() => undefined);
        return eventually(() =>
          life.control.ledger({ since }).entries.some(({ response }) => response?.status === 401),
        );
      });
      await life.makeDue([uuid]);
      await life.become([uuid], generation);
      expect((await call!).id).toBe(uuid);
      expect(life.tokenCalls(since)).toHaveLength(1);
    }
  });

  it("causes no failed call for those who call the platform meanwhile", async () => {
    // The callers do not pause; on a slow machine the usual number of calls would not cover three sweeps.
    life.control.settings({ rateLimit: 1_000_000 });
    const uuid = await life.settled();
    let isOver = false;
    let calls = 0;
    const caller = async () => {
      while (!isOver) {
        expect((await life.own(uuid)).id).toBe(uuid);
        calls += 1;
      }
    };
    const callers = Promise.all(Array.from({ length: 20 }, caller)).finally(() => (isOver = true));
    for (const generation of [2, 3, 4]) {
      await life.makeDue([uuid]);
      await life.become([uuid], generation);
      // A call is tried twice, and a token is never replaced twice during one call.
      const before = calls;
      await eventually(() => expect(calls).toBeGreaterThan(before + 2 * 20));
    }
    isOver = true;
    await callers;
    expect(calls).toBeGreaterThan(50);
    expect(await life.row(uuid)).toMatchObject({ generation: 4 });
  });
});

describe("many tokens that were issued at the same moment", () => {
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
