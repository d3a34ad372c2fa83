import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { PACE } from "../../src/pace.ts";
import { DatabaseUnavailable, type Database } from "../../src/database/database.ts";
import { hasPassed } from "../../src/database/retry.ts";
import { createResourceMutex } from "../../src/resources/resource-mutex.ts";
import { aProvisionRequest } from "../support/a-provision-request.ts";
import { aGate } from "../support/a-vendor.ts";
import { aLifecycle, type LifecycleWorld } from "../support/lifecycle.ts";
import { teapots } from "../support/teapots/index.ts";

// Requests for one resource wait for each other, and the database goes away meanwhile.

const UUID = "01234567-89ab-cdef-0123-456789abcdef";
const ago = (seconds: number) => performance.now() - seconds * 1_000;
const away = () => new DatabaseUnavailable("the database did not answer");

describe("a request that waits for another of the same uuid", () => {
  it("starts when the one before has ended, successfully or not, and not before", async () => {
    const runExclusive = createResourceMutex(PACE);
    const gate = aGate();
    const done: string[] = [];
    const turn = (name: string, work = async () => void done.push(name)) =>
      runExclusive(UUID, performance.now(), work);
    const first = turn("first", async () => {
      await gate.opened;
      done.push("first");
      throw new Error("The kiln is cold.");
    });
    const others = [turn("second"), turn("third")];
    await sleep(50);
    expect(done).toEqual([]);
    gate.open();
    await expect(first).rejects.toThrow("The kiln is cold.");
    await Promise.all(others);
    expect(done).toEqual(["first", "second", "third"]);
  });

  it("fails with the one before when the database is away and its own time is over, without starting", async () => {
    const runExclusive = createResourceMutex(PACE);
    const done: string[] = [];
    const first = runExclusive(UUID, ago(8.2), () => Promise.reject(away()));
    const second = runExclusive(UUID, ago(8.1), async () => void done.push("second"));
    const third = runExclusive(UUID, ago(8.1), async () => void done.push("third"));
    // Its time is not over: the database may come back in time.
    const fourth = runExclusive(UUID, ago(4), async () => void done.push("fourth"));
    const refused = await Promise.allSettled([first, second, third]);
    expect(refused.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
    await expect(second).rejects.toThrow(DatabaseUnavailable);
    await fourth;
    await sleep(20);
    expect(done).toEqual(["fourth"]);
  });

  it("starts although its time is over when the one before was answered", async () => {
    const runExclusive = createResourceMutex(PACE);
    const first = runExclusive(UUID, ago(10), async () => "an answer");
    const second = runExclusive(UUID, ago(10), async (withinDeadline) =>
      // A write that it shares with others happens only while there is time.
      withinDeadline(async (wait) => (hasPassed(wait) ? "nothing" : "the same")),
    );
    expect(await Promise.all([first, second])).toEqual(["an answer", "the same"]);
  });

  it("is refused when it would start so late that the platform may have given up", async () => {
    const runExclusive = createResourceMutex(PACE);
    const done: string[] = [];
    const first = runExclusive(UUID, ago(13), async () => "an answer");
    const late = runExclusive(UUID, ago(12.5), async () => void done.push("late"));
    const second = runExclusive(UUID, ago(10), async () => void done.push("second"));
    await expect(late).rejects.toMatchObject({ id: "overloaded" });
    await Promise.all([first, second]);
    expect(done).toEqual(["second"]);
  });

  it("retries no longer than its own time lasts", async () => {
    const runExclusive = createResourceMutex(PACE);
    const first = runExclusive(UUID, ago(7.9), () => Promise.reject(away()));
    const since = performance.now();
    const second = runExclusive(UUID, ago(7.9), (withinDeadline) =>
      withinDeadline(() => new Promise<never>(() => undefined)),
    );
    await expect(first).rejects.toThrow();
    await expect(second).rejects.toThrow(DatabaseUnavailable);
    expect(performance.now() - since).toBeLessThan(2_700);
  });
});

describe("several deliveries for one uuid", () => {
  let life: LifecycleWorld;
  /** Whether the database is unreachable. */
  let isAway: () => boolean = () => false;
  beforeAll(async () => {
    const silent = () => new Promise<never>((_, reject) => setTimeout(reject, 3_000, new Error("Query read timeout"))); // prettier-ignore
    const wrapDatabase = (database: Database): Database => ({
      ...database,
      query: (statement, values) => (isAway() ? silent() : database.query(statement, values)),
      transaction: (work) => (isAway() ? silent() : database.transaction(work)),
    });
    life = await aLifecycle({ parts: { wrapDatabase } });
  });
  afterEach(() => {
    isAway = () => false;
    life.vendor.asUsual();
  });
  afterAll(() => life.world.close());

  /** The answers to this many deliveries of one request at nearly the same moment, and how long each took. */
  const manyTimes = <Response>(times: number, send: () => Promise<Response>) =>
    Promise.all(
      Array.from({ length: times }, async (_, index) => {
        await sleep(index * 30);
        const since = performance.now();
        const response = await send();
        return { response, ms: performance.now() - since };
      }),
    );

  it.each(["provision", "plan change"])(
    "of a %s are all answered 503 within their own time while the database is silent, and nothing is done",
    async (what) => {
      const request = aProvisionRequest();
      const { uuid } = request;
      if (what === "plan change") expect((await life.platform.provision(request)).status).toBe(200);
      isAway = () => true;
      const send = () =>
        what === "provision"
          ? life.platform.provision(request)
          : life.platform.changePlan(uuid, { plan: "premium" });
      for (const { response, ms } of await manyTimes(20, send)) {
        expect(response.status).toBe(503);
        expect(ms).toBeLessThan(15_000);
      }
      isAway = () => false;
      await sleep(500);
      expect(life.vendor.callsOf(uuid, what === "provision" ? "provision" : "changePlan")).toEqual([]);
      expect((await send()).status).toBe(200);
    },
    60_000,
  );

  it("get equal answers when the database is back at the last moment and the vendor is slow", async () => {
    const back = performance.now() + 6_000;
    isAway = () => performance.now() < back;
    const request = aProvisionRequest();
    life.vendor.next("provision", async (resource) => {
      await sleep(2_500);
      return teapots.provision(resource);
    });
    const answers = await manyTimes(20, () => life.platform.provision(request));
    expect(new Set(answers.map(({ response }) => `${response.status} ${response.text}`)).size).toBe(1);
    expect(answers[0]!.response.status).toBe(200);
    expect(life.vendor.callsOf(request.uuid, "provision")).toHaveLength(1);
  }, 60_000);

  it("with many plans, one of which the vendor makes slowly, wait for no more than that one", async () => {
    const request = aProvisionRequest();
    expect((await life.platform.provision(request)).status).toBe(200);
    const gate = aGate();
    life.vendor.next("changePlan", async (resource, previous) => {
      await gate.opened;
      return teapots.changePlan(resource, previous);
    });
    const plans = ["premium", "dedicated", "basic", "premium", "dedicated", "basic"];
    const answers = await manyTimes(6, () =>
      life.platform.changePlan(request.uuid, { plan: plans.shift()! }),
    );
    for (const { response, ms } of answers) {
      expect(response.status).toBe(202);
      expect(ms).toBeLessThan(6_000);
    }
    gate.open();
    await life.hurry(request.uuid);
  }, 60_000);
});
