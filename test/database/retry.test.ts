import { openDatabase } from "../../src/database/database.ts";
import {
  DatabaseUnavailable,
  isConflict,
  isConnectionConfigError,
  isDataError,
  isTransient,
  refused,
  retryWhileUnreachable,
} from "../../src/database/retry.ts";
import { positional } from "../../src/database/statement.ts";
import { anOpenDatabase } from "../support/open-database.ts";
import { aRefusingDatabase } from "../support/refusing-database.ts";

// An error at connecting is worth another try, whatever it is: test/database/database.test.ts has real ones.

const words = (message: string) => new Error(message);
const node = (code: string) => Object.assign(words(code), { code, syscall: "read" });
const prisma = (code: string) => Object.assign(words(code), { code, meta: {} });
const REPLANNED = Object.assign(words("0A000"), {
  ...{ code: "0A000", severity: "ERROR", routine: "RevalidateCachedQuery" },
});
const each = (codes: string, make: (code: string) => unknown, between = " "): unknown[] =>
  codes.split(between).map((code) => make(code));

const kindOf = (error: unknown) => {
  if (isTransient(error)) return "passes";
  return isConnectionConfigError(error) ? "needs an operator" : "stays";
};

it.each<[string, ReturnType<typeof kindOf>, unknown[]]>([
  ["a named statement's table has changed", "passes", [REPLANNED]],
  ["the connection breaks off", "passes", each("ECONNRESET ECONNABORTED ETIMEDOUT EPIPE EPROTO", node)],
  ["descriptors or ports are used up here", "passes", each("EMFILE ENFILE EBUSY EADDRNOTAVAIL", node)],
  ["the driver says so", "passes", each("Connection terminated,Query read timeout", words, ",")],
  ["Prisma met one of these", "passes", each("P1001 P1017 P2024 P2028 P2034 P2037", prisma)],
  ["Prisma names a value", "stays", [prisma("P2002")]],
  ["our code is at fault", "stays", [new TypeError("x is not a function"), node("EACCES"), "terminated"]],
])("an error tells whether another try may help: %s: it %s", (_, expected, errors) => {
  expect(errors.map(kindOf)).toEqual(errors.map(() => expected));
  // A process that starts waits until they have passed.
  if (expected === "passes") expect(errors.map(refused).map(isConnectionConfigError)).not.toContain(true);
});

describe("errors as the drivers really raise them", () => {
  const opened = anOpenDatabase();

  it.each<[string, ReturnType<typeof kindOf>, string, "is held up" | "is of its data" | ""]>([
    ["the connection was lost", "passes", "08006 57P01 57P02 57P03", ""],
    ["the disk is full, or the server has no connection left", "passes", "53100 53300", ""],
    ["the server is read-only, as after a failover", "passes", "25006", ""],
    ["a statement took too long", "passes", "57014", ""],
    ["another transaction stands in the way", "passes", "40P01 40001 55P03", "is held up"],
    ["a statement is at fault", "stays", "42601 42P01 0A000 P0001", ""],
    ["a value is at fault", "stays", "22021 23505 54000", "is of its data"],
    ["a right is missing", "needs an operator", "42501", ""],
    ["a pooler's clients share a session", "needs an operator", "42P05 26000", ""],
  ])("%s: it %s, from either (%s)", async (_, expected, states, why) => {
    const client = await opened.database.prisma();
    for (const state of states.split(" ")) {
      const text = `DO $$ BEGIN RAISE EXCEPTION 'raised' USING ERRCODE = '${state}'; END $$`;
      for (const raising of [
        opened.database.query(positional(`raise_${state}`, text)),
        client.$executeRawUnsafe(text),
      ]) {
        const error: unknown = await Promise.resolve(raising).catch((thrown: unknown) => thrown);
        expect([state, kindOf(error)]).toEqual([state, expected]);
        expect([isConflict(error), isDataError(error)]).toEqual([
          why === "is held up",
          why === "is of its data",
        ]);
      }
    }
  });
});

it.each([
  ["no such role", "28000"],
  ["a wrong password", "28P01"],
  ["no such database", "3D000"],
  ["not ready yet", "57P03"],
  ["too many connections", "53300"],
  ["no TLS", ""],
])("a refused connection is worth another try, from either client: %s", async (_, state) => {
  const server = await aRefusingDatabase(state, "not you");
  const tls = state === "" ? "?sslmode=verify-full" : "";
  const database = openDatabase({ url: `${server.url}${tls}`, poolSize: 1 });
  const { person } = await database.prisma();
  const errors = [database.ping(), person.count()].map((each) => each.catch((error: unknown) => error));
  const [plain, typed] = await Promise.all(errors);
  for (const error of [plain, typed])
    expect([isTransient(error), isConnectionConfigError(error)]).toEqual([
      true,
      isConnectionConfigError(plain),
    ]);
  await database.close();
  await server.close();
});

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

it("throws at once an error that waiting does not cure, which the caller may define", async () => {
  const { work, tries } = failing(3, () => new TypeError("a mistake"));
  await expect(retryWhileUnreachable(work)).rejects.toThrow(TypeError);
  expect(tries()).toBe(1);
  const never = retryWhileUnreachable(failing(1, lost).work, { isCurable: () => false });
  await expect(never).rejects.toThrow("terminated");
});

it.each<[string, (tries: number) => Promise<string>]>([
  ["fail", () => Promise.reject(lost())],
  ["hang", (tries) => (tries > 1 ? new Promise(() => undefined) : Promise.reject(lost()))],
])("gives up at the deadline when the tries %s, with the last error as the cause", async (_, work) => {
  let tries = 0;
  const begun = performance.now();
  const given = retryWhileUnreachable(() => work((tries += 1)), { upToMs: 100 });
  await expect(given).rejects.toBeInstanceOf(DatabaseUnavailable);
  await expect(given).rejects.toMatchObject({
    id: "database_unavailable",
    cause: { message: lost().message },
  });
  expect(performance.now() - begun).toBeLessThan(20_000);
  // After pauses of at least 25 and 50 ms, none of 100 fits.
  expect(tries).toBeLessThanOrEqual(3);
});

it("begins nothing more when its time has passed while the process stood still", async () => {
  const { work, tries } = failing(1, lost);
  const given = retryWhileUnreachable(work, { upToMs: 200 });
  setImmediate(() => {
    for (const until = performance.now() + 400; performance.now() < until;);
  });
  await expect(given).rejects.toMatchObject({ id: "database_unavailable" });
  expect(tries()).toBe(1);
});

it("knows that it is too late before any timer has run", async () => {
  const asked = retryWhileUnreachable(
    async (isTooLate) => {
      for (const until = performance.now() + 60; performance.now() < until;);
      return isTooLate();
    },
    { upToMs: 50 },
  );
  expect(await asked).toBe(true);
});

it("when too many requests wait, the next fails at once, and other work waits; places become free again", async () => {
  const request = { upToMs: 60_000, isRequest: true };
  const fails = (patience: object, times = Infinity) =>
    retryWhileUnreachable(failing(times, lost).work, patience).catch((error: unknown) => error);
  let isAway = true;
  const untilItIsBack = () => (isAway ? Promise.reject(lost()) : Promise.resolve("done"));
  const waiting = Promise.all(
    Array.from({ length: 100 }, () => retryWhileUnreachable(untilItIsBack, request)),
  );
  await new Promise(setImmediate);
  const refused = failing(Infinity, lost);
  await expect(retryWhileUnreachable(refused.work, request)).rejects.toBeInstanceOf(DatabaseUnavailable);
  expect(refused.tries()).toBe(1);
  expect(await fails(request, 0)).toBe("done");
  expect(await fails({}, 1)).toBe("done");
  isAway = false;
  await waiting;
  expect(await fails(request, 1)).toBe("done");
});
