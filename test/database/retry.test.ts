import { afterEach, expect, it, jest } from "@jest/globals";
import { aWaitingRoom, DatabaseUnavailable, retryWhileDatabaseAway } from "../../src/database/database.ts";

const lost = () => new Error("Connection terminated unexpectedly");

/** Fails a number of times, then succeeds. */
function failing(times: number, error: () => unknown) {
  let tries = 0;
  const work = async () => {
    if (tries++ < times) throw error();
    return "done";
  };
  return { work, tries: () => tries };
}
afterEach(() => void jest.restoreAllMocks());

it("repeats the work until the database is back", async () => {
  const { work, tries } = failing(3, lost);
  expect(await retryWhileDatabaseAway(work)).toBe("done");
  expect(tries()).toBe(4);
});

it("throws at once an error that waiting does not cure, which the caller may define", async () => {
  const { work, tries } = failing(3, () => new TypeError("a mistake"));
  await expect(retryWhileDatabaseAway(work)).rejects.toThrow(TypeError);
  expect(tries()).toBe(1);
  const deadlock = () => Object.assign(new Error("deadlock detected"), { code: "40P01", severity: "ERROR" });
  await expect(retryWhileDatabaseAway(failing(1, deadlock).work, { isCurable: () => false })).rejects.toThrow(
    "deadlock",
  );
});

it.each<[string, (tries: number) => Promise<string>]>([
  ["fail", () => Promise.reject(lost())],
  ["hang", (tries) => (tries > 1 ? new Promise(() => undefined) : Promise.reject(lost()))],
])("gives up at the deadline when the tries %s, with the last error as the cause", async (_, work) => {
  let tries = 0;
  const begun = performance.now();
  const given = retryWhileDatabaseAway(() => work((tries += 1)), { upToMs: 100 });
  await expect(given).rejects.toBeInstanceOf(DatabaseUnavailable);
  await expect(given).rejects.toMatchObject({
    id: "database_unavailable",
    cause: { message: lost().message },
  });
  expect(performance.now() - begun).toBeLessThan(2_000);
});

it("leaves no timer behind, whether the attempt succeeds or fails", async () => {
  const cleared = jest.spyOn(globalThis, "clearTimeout");
  const set = jest.spyOn(globalThis, "setTimeout");
  await retryWhileDatabaseAway(failing(0, lost).work);
  await retryWhileDatabaseAway(failing(1, () => new TypeError("a mistake")).work).catch(() => undefined);
  const timers = set.mock.results.map(({ value }) => value as unknown);
  expect(timers).toHaveLength(2);
  expect(cleared.mock.calls.map(([timer]) => timer)).toEqual(timers);
});

it("when too many callers wait, the next fails at once; places become free again", async () => {
  const room = aWaitingRoom(2);
  const wait = () => retryWhileDatabaseAway(failing(Infinity, lost).work, { upToMs: 200, room });
  const waiting = Promise.all([wait(), wait()].map((one) => one.catch((error: unknown) => error)));
  await new Promise(setImmediate);
  await expect(wait()).rejects.toThrow("are waiting already");
  expect(room.waiting).toBe(2);
  expect(await retryWhileDatabaseAway(async () => "no need to wait", { room })).toBe("no need to wait");
  await waiting;
  expect(await retryWhileDatabaseAway(failing(1, lost).work, { room })).toBe("done");
  expect(room.waiting).toBe(0);
});
