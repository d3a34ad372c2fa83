// Again on PostgreSQL: what an absent server looks like is the driver's to say.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, jest, test } from "@jest/globals";
import { aWaitingRoom, DatabaseUnavailable, retryWhileDatabaseAway } from "../../src/database/database.ts";

const lost = () => new Error("Connection terminated unexpectedly");
const deadlock = () => Object.assign(new Error("deadlock detected"), { code: "40P01", severity: "ERROR" });

/** Fails a number of times, then succeeds. */
function failing(times: number, error: () => unknown) {
  let tries = 0;
  const work = async () => {
    if (tries++ < times) throw error();
    return "done";
  };
  return { work, tries: () => tries };
}

test("repeats the work until the database is back", async () => {
  const { work, tries } = failing(3, lost);
  expect(await retryWhileDatabaseAway(work)).toBe("done");
  expect(tries()).toBe(4);
});

test("throws at once an error that waiting does not cure", async () => {
  const { work, tries } = failing(3, () => new TypeError("a mistake"));
  await expect(retryWhileDatabaseAway(work)).rejects.toThrow(TypeError);
  expect(tries()).toBe(1);
});

test("gives up at the deadline, with the last error as the cause", async () => {
  const error = await retryWhileDatabaseAway(failing(Infinity, lost).work, { upToMs: 300 }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DatabaseUnavailable);
  expect(error).toMatchObject({ id: "database_unavailable", cause: { message: lost().message } });
});

test("leaves no timer behind, whether the attempt succeeds or fails", async () => {
  const cleared = jest.spyOn(globalThis, "clearTimeout");
  const set = jest.spyOn(globalThis, "setTimeout");
  try {
    await retryWhileDatabaseAway(failing(0, lost).work);
    await retryWhileDatabaseAway(failing(1, () => new TypeError("a mistake")).work).catch(() => undefined);
    const timers = set.mock.results.map(({ value }) => value as unknown);
    expect(timers).toHaveLength(2);
    expect(cleared.mock.calls.map(([timer]) => timer)).toEqual(timers);
  } finally {
    jest.restoreAllMocks();
  }
});

test("gives up on an attempt that hangs", async () => {
  await expect(retryWhileDatabaseAway(() => new Promise(() => undefined), { upToMs: 50 })).rejects.toThrow(
    DatabaseUnavailable,
  );
});

test("when an attempt hangs, reports the error of the attempt before it as the cause", async () => {
  let tries = 0;
  const work = () => ((tries += 1) > 1 ? new Promise(() => undefined) : Promise.reject(lost()));
  await expect(retryWhileDatabaseAway(work, { upToMs: 200 })).rejects.toMatchObject({
    id: "database_unavailable",
    cause: { message: lost().message },
  });
});

/** Blocks as a suspended process or frozen container does: nothing runs, and time passes. */
const standStill = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
const LONGER_THAN_THE_DEADLINE_MS = 2_000;

test.each<[string, (tries: number) => Promise<string>]>([
  [
    "between two tries",
    async (tries) => {
      if (tries > 1) return sleep(100, "done");
      setImmediate(() => standStill(LONGER_THAN_THE_DEADLINE_MS));
      throw lost();
    },
  ],
  [
    "during a try that failed",
    async (tries) => {
      if (tries > 1) return "done";
      standStill(LONGER_THAN_THE_DEADLINE_MS);
      throw lost();
    },
  ],
  [
    "during a try whose answer was there",
    (tries) =>
      new Promise((resolve) => {
        if (tries > 1) return;
        setImmediate(() => standStill(LONGER_THAN_THE_DEADLINE_MS));
        setTimeout(() => resolve("done"), 1_400);
      }),
  ],
])("a process that was suspended beyond the deadline %s tries once more", async (_, work) => {
  let tries = 0;
  expect(await retryWhileDatabaseAway(() => work((tries += 1)), { upToMs: 300 })).toBe("done");
});

test("a process that was suspended gives up soon when there is no database", async () => {
  const work = async () => {
    standStill(LONGER_THAN_THE_DEADLINE_MS);
    throw lost();
  };
  await expect(retryWhileDatabaseAway(work, { upToMs: 300 })).rejects.toThrow(DatabaseUnavailable);
});

test("conflicts are retried like other transient errors, because a failed answer is final for the platform", async () => {
  expect(await retryWhileDatabaseAway(failing(5, deadlock).work)).toBe("done");
  await expect(retryWhileDatabaseAway(failing(Infinity, deadlock).work, { upToMs: 300 })).rejects.toThrow(
    DatabaseUnavailable,
  );
});

test("when too many callers wait, the next fails at once; places become free again", async () => {
  const room = aWaitingRoom(2);
  const wait = () => retryWhileDatabaseAway(failing(Infinity, lost).work, { upToMs: 400, room });
  const waiting = [wait(), wait()].map((one) => one.catch((error: unknown) => error));
  await new Promise(setImmediate);
  let isOver = false;
  void Promise.race(waiting).then(() => (isOver = true));
  await expect(wait()).rejects.toThrow("are waiting already");
  expect(isOver).toBe(false);
  expect(await retryWhileDatabaseAway(async () => "no need to wait", { room })).toBe("no need to wait");
  await Promise.all(waiting);
  expect(await retryWhileDatabaseAway(failing(1, lost).work, { room })).toBe("done");
  expect(room.waiting).toBe(0);
});
