import { jest } from "@jest/globals";
import { groupCommit } from "../../src/database/group-commit.ts";

/** What adds rows to a queue of its own. */
const committing = <Row, Result>({
  write,
  ...needs
}: Omit<Parameters<typeof groupCommit<object, Row, Result>>[0], "write"> & {
  write(rows: Row[]): Promise<Result[]>;
}) => {
  const commit = groupCommit<object, Row, Result>({ ...needs, write: (_, rows) => write(rows) });
  const ctx = {};
  return (row: Row) => commit(ctx, row);
};
const turn = () => new Promise(setImmediate);
const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);

/** A writer that records its batches, and finishes all of them when told to. */
function aSlowWriter() {
  const batches: number[][] = [];
  const finishers: (() => void)[] = [];
  const write = async (rows: number[]) => {
    batches.push(rows);
    await new Promise<void>((resolve) => finishers.push(resolve));
    return rows.map((row) => row * 10);
  };
  const finish = async () => {
    finishers.splice(0).forEach((done) => done());
    for (let turns = 0; turns < 3; turns++) await turn();
  };
  return { write, batches, finish };
}

afterEach(() => void jest.useRealTimers());

it("rows that arrive together are written together, sixteen at first, at most 200 later, and each caller gets its own result", async () => {
  const { write, batches, finish } = aSlowWriter();
  const results = Promise.all(numbers(0, 450).map(committing({ write })));
  for (let times = 0; times < 2; times++) await finish();
  expect(batches.map(({ length }) => length)).toEqual([16, 16, 16, 200, 200, 2]);
  await finish();
  expect(await results).toEqual(numbers(0, 450).map((row) => row * 10));
});

it("a row behind ten that are being written waits for a moment, and not for their end", async () => {
  jest.useFakeTimers({ doNotFake: ["setImmediate", "clearImmediate", "nextTick", "queueMicrotask"] });
  const { write, batches, finish } = aSlowWriter();
  const commit = committing({ write });
  const results = numbers(1, 10).map(commit);
  await turn();
  results.push(commit(11));
  await turn();
  expect(batches).toHaveLength(1);
  jest.advanceTimersByTime(2);
  expect(batches).toEqual([numbers(1, 10), [11]]);
  await finish();
  expect(await Promise.all(results)).toHaveLength(11);
});

const raised = (code: string) => Object.assign(new Error(code), { code, severity: "ERROR" });

it.each([
  { cause: "its data", error: raised("23505"), isTriedAlone: true },
  { cause: "a deadlock with another transaction", error: raised("40P01"), isTriedAlone: true },
  { cause: "a lost connection", error: new Error("Connection terminated"), isTriedAlone: false },
])("a batch that fails for $cause is tried row by row: $isTriedAlone", async ({ error, isTriedAlone }) => {
  const tries: number[][] = [];
  const write = async (rows: number[]) => {
    tries.push(rows);
    if (rows.includes(2)) throw error;
    return rows;
  };
  const answers = await Promise.allSettled([1, 2, 3].map(committing({ write })));
  expect(tries).toEqual(isTriedAlone ? [[1, 2, 3], [1], [2], [3]] : [[1, 2, 3]]);
  expect(answers.map(({ status }) => status === "fulfilled")).toEqual([isTriedAlone, false, isTriedAlone]);
});

it("a row is not written once its caller was answered: neither from the queue, nor alone after its batch failed", async () => {
  const tries: number[][] = [];
  const answered = new Set([1]);
  const commit = committing<number, number>({
    isTooLate: (row) => answered.has(row),
    async write(rows) {
      tries.push(rows);
      // While row 2 is tried, the caller of row 3 is refused.
      answered.add(3);
      if (rows.length > 1) throw raised("55P03");
      return rows;
    },
  });
  const [, two, , four] = [1, 2, 3, 4].map(commit);
  expect(await Promise.all([two, four])).toEqual([2, 4]);
  expect(tries).toEqual([[2, 3, 4], [2], [4]]);
});
