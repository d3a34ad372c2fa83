// Again on PostgreSQL: commits are shared by many connections there.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, jest, test } from "@jest/globals";
import {
  createGroupCommit,
  DatabaseUnavailable,
  Overloaded,
  statement,
  retryWhileDatabaseAway,
  type Deadline,
} from "../../src/database/database.ts";
import { anOpenDatabase } from "../support/open-database.ts";
import { eventually } from "../support/world.ts";

const LIMITS = { maxRows: 100, maxQueued: 1000 };
const duplicate = () => Object.assign(new Error("taken"), { code: "23505", severity: "ERROR" });

/** A writer that records its batches, and finishes each when told to. */
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
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  };
  return { write, batches, finish };
}

test("rows that arrive together are written together, and each caller gets its own result", async () => {
  const batches: number[][] = [];
  const write = async (rows: number[]) => {
    batches.push(rows);
    return rows.map((row) => row * 10);
  };
  const commit = createGroupCommit({ ...LIMITS, write });
  expect(await Promise.all([1, 2, 3].map(commit))).toEqual([10, 20, 30]);
  expect(batches).toEqual([[1, 2, 3]]);
});

/** Gives rows to `commit`, one each turn of the event loop. */
async function oneByOne(commit: (row: number) => Promise<number>, rows: number[]) {
  const results: Promise<number>[] = [];
  for (const row of rows) {
    results.push(commit(row));
    await new Promise(setImmediate);
    await new Promise(setImmediate);
  }
  return results;
}

test("while few rows are being written a row starts at once, in up to three concurrent statements", async () => {
  const { write, batches, finish } = aSlowWriter();
  const commit = createGroupCommit({ ...LIMITS, write });
  const results = await oneByOne(commit, [1, 2, 3, 4, 5]);
  expect(batches).toEqual([[1], [2], [3]]);
  await finish();
  expect(batches).toEqual([[1], [2], [3], [4, 5]]);
  await finish();
  expect(await Promise.all(results)).toEqual([10, 20, 30, 40, 50]);
});

const TEN = Array.from({ length: 10 }, (_, row) => row);

test("rows that arrive while ten are being written go into the next statement, which starts when those are done", async () => {
  // The two milliseconds after which it would begin anyway do not pass here.
  jest.useFakeTimers({ doNotFake: ["setImmediate", "clearImmediate", "nextTick", "queueMicrotask"] });
  try {
    const { write, batches, finish } = aSlowWriter();
    const commit = createGroupCommit({ ...LIMITS, write });
    const results = TEN.map(commit);
    await new Promise(setImmediate);
    results.push(...(await oneByOne(commit, [11, 12])));
    expect(batches).toEqual([TEN]);
    await finish();
    expect(batches).toEqual([TEN, [11, 12]]);
    jest.advanceTimersByTime(20);
    expect(batches).toHaveLength(2);
    await finish();
    expect(await Promise.all(results)).toEqual([...TEN, 11, 12].map((row) => row * 10));
  } finally {
    jest.useRealTimers();
  }
});

test("ten rows that take long because one is locked do not delay the next rows for long", async () => {
  const { write, batches, finish } = aSlowWriter();
  const commit = createGroupCommit({ ...LIMITS, write });
  const results = TEN.map(commit);
  await new Promise(setImmediate);
  results.push(...(await oneByOne(commit, [11, 12])));
  // Together, or one by one if this process was delayed between the two.
  await eventually(() => expect([batches[0], batches.slice(1).flat()]).toEqual([TEN, [11, 12]]));
  await finish();
  expect(await Promise.all(results)).toEqual([...TEN, 11, 12].map((row) => row * 10));
});

test("sixteen rows start at once as long as fewer than three statements run", async () => {
  const { write, batches, finish } = aSlowWriter();
  const commit = createGroupCommit({ ...LIMITS, write });
  const rows = Array.from({ length: 60 }, (_, row) => row);
  const results = Promise.all(rows.map(commit));
  const three = [rows.slice(0, 16), rows.slice(16, 32), rows.slice(32, 48)];
  expect(batches).toEqual(three);
  await sleep(20);
  expect(batches).toEqual(three);
  await finish();
  expect(batches[3]).toEqual(rows.slice(48));
  await finish();
  expect(await results).toEqual(rows.map((row) => row * 10));
});

test("as many rows start at once, and a smaller batch waits behind others for as long, as it is told", async () => {
  jest.useFakeTimers({ doNotFake: ["setImmediate", "clearImmediate", "nextTick", "queueMicrotask"] });
  try {
    const { write, batches, finish } = aSlowWriter();
    const commit = createGroupCommit({ ...LIMITS, enough: 20, behindMs: 50, write });
    const rows = Array.from({ length: 39 }, (_, row) => row);
    const results = rows.map(commit);
    await new Promise(setImmediate);
    jest.advanceTimersByTime(49);
    expect(batches).toEqual([rows.slice(0, 20)]);
    jest.advanceTimersByTime(1);
    expect(batches).toEqual([rows.slice(0, 20), rows.slice(20)]);
    await finish();
    expect(await Promise.all(results)).toEqual(rows.map((row) => row * 10));
  } finally {
    jest.useRealTimers();
  }
});

test("a batch never exceeds its maximum size", async () => {
  const { write, batches, finish } = aSlowWriter();
  const commit = createGroupCommit({ ...LIMITS, maxRows: 2, write });
  const results = Promise.all([1, 2, 3, 4, 5].map(commit));
  for (let i = 0; i < 4; i++) await finish();
  expect(batches).toEqual([[1, 2], [3, 4], [5]]);
  expect(await results).toHaveLength(5);
});

test("an invalid row fails alone", async () => {
  const write = async (rows: number[]) => {
    if (rows.includes(2)) throw duplicate();
    return rows;
  };
  const answers = await Promise.allSettled([1, 2, 3].map(createGroupCommit({ ...LIMITS, write })));
  expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});

test("a batch that was the victim of a deadlock is written row by row", async () => {
  const tries: number[][] = [];
  const write = async (rows: number[]) => {
    tries.push(rows);
    if (rows.length > 1)
      throw Object.assign(new Error("deadlock detected"), { code: "40P01", severity: "ERROR" });
    return rows;
  };
  expect(await Promise.all([1, 2].map(createGroupCommit({ ...LIMITS, write })))).toEqual([1, 2]);
  expect(tries).toEqual([[1, 2], [1], [2]]);
});

/** PostgreSQL's error for a locked row. */
const locked = () =>
  Object.assign(new Error("canceling statement due to lock timeout"), { code: "55P03", severity: "ERROR" });

type Waited = { row: number; deadline: Deadline };

/** Writes rows that somebody waits for, each for so long, and tells what was tried; `finish` is what a try takes. */
function ofThoseWhoWait(finish: (rows: number[]) => Promise<void>, maxFlushes = 1) {
  const tries: number[][] = [];
  const commit = createGroupCommit<Waited, number>({
    ...{ ...LIMITS, maxFlushes },
    deadlineOf: ({ deadline }) => deadline,
    async write(given) {
      const rows = given.map(({ row }) => row);
      tries.push(rows);
      await finish(rows);
      return rows;
    },
  });
  const write = (row: number, upToMs: number) =>
    retryWhileDatabaseAway((deadline) => commit({ row, deadline }), { upToMs }).catch(
      (error: unknown) => error,
    );
  return { tries, write };
}

test("a queued row whose caller no longer waits is not written", async () => {
  let isFree = () => {};
  const free = new Promise<void>((resolve) => (isFree = resolve));
  const { tries, write } = ofThoseWhoWait(() => free);
  const first = write(1, 10_000);
  await new Promise(setImmediate);
  const [late, patient] = [write(2, 100), write(3, 10_000)];
  await sleep(200);
  isFree();
  expect(await late).toBeInstanceOf(DatabaseUnavailable);
  expect(await Promise.all([first, patient])).toEqual([1, 3]);
  expect(tries).toEqual([[1], [3]]);
});

test("when a batch fails on a locked row, only rows whose callers still wait are retried alone; the others get the error", async () => {
  const { tries, write } = ofThoseWhoWait(async (rows) => {
    if (rows.length === 1) return;
    await sleep(200);
    throw locked();
  });
  const answers = [write(1, 10_000), write(2, 100), write(3, 10_000)];
  const [one, late, three] = await Promise.all(answers);
  expect([one, three]).toEqual([1, 3]);
  expect(late).toMatchObject({ id: "database_unavailable", cause: { code: "55P03" } });
  expect(tries).toEqual([[1, 2, 3], [1], [3]]);
});

test("a row whose caller gives up while another row of its batch is retried gets the batch's error, and is not retried", async () => {
  const { tries, write } = ofThoseWhoWait(async (rows) => {
    if (rows.length > 1) throw locked();
    await sleep(2_500);
  });
  const [one, late] = await Promise.all([write(1, 10_000), write(2, 200)]);
  expect(one).toBe(1);
  expect(late).toMatchObject({ id: "database_unavailable", cause: { code: "55P03" } });
  await sleep(500);
  expect(tries).toEqual([[1, 2], [1]]);
});

test("a row without a deadline is written however late its turn comes", async () => {
  const tries: number[][] = [];
  const commit = createGroupCommit<number, number>({
    ...LIMITS,
    async write(rows) {
      tries.push(rows);
      await sleep(1_200);
      if (rows.length > 1) throw locked();
      return rows;
    },
  });
  const written = [1, 2].map(commit);
  const told = await Promise.allSettled(
    written.map((row) => retryWhileDatabaseAway(() => row, { upToMs: 50 })),
  );
  expect(told.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(tries).toEqual([[1, 2]]);
  expect(await Promise.all(written)).toEqual([1, 2]);
  expect(tries).toEqual([[1, 2], [1], [2]]);
});

test("when the database is gone, all rows of the batch fail and none is retried alone", async () => {
  const tries: number[] = [];
  const write = async (rows: number[]): Promise<number[]> => {
    tries.push(rows.length);
    throw new Error("Connection terminated unexpectedly");
  };
  const answers = await Promise.allSettled([1, 2, 3].map(createGroupCommit({ ...LIMITS, write })));
  expect(answers.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(tries).toEqual([3]);
});

test("when too many rows wait, the next is refused; later rows are accepted again", async () => {
  const { write, finish } = aSlowWriter();
  const commit = createGroupCommit({ maxRows: 1, maxQueued: 1, maxFlushes: 1, write });
  const first = [commit(1), commit(2)];
  await expect(commit(3)).rejects.toThrow(Overloaded);
  for (let i = 0; i < 3; i++) await finish();
  await Promise.all(first);
  const later = commit(4);
  for (let i = 0; i < 3; i++) await finish();
  expect(await later).toBe(40);
});

test("a write function that returns the wrong number of results is an error", async () => {
  const commit = createGroupCommit({ ...LIMITS, write: async () => [] });
  await expect(commit(1)).rejects.toThrow("0 results for 1 rows");
});

const opened = anOpenDatabase();

test("on a real database every confirmed row is stored, and an invalid row fails only its own caller", async () => {
  const insert = statement(
    "insert_group",
    `INSERT INTO heartbeats (name) SELECT * FROM unnest($1::text[]) ON CONFLICT DO NOTHING RETURNING name`,
  );
  const write = async (names: string[]) => {
    const born = await opened.database.query<{ name: string }>(insert, [names]);
    return names.map((name) => born.some((row) => row.name === name));
  };
  const commit = createGroupCommit({ ...LIMITS, write });
  const names = Array.from({ length: 500 }, (_, i) => (i === 250 ? "a NUL: \0" : `name ${i}`));
  const answers = await Promise.allSettled(names.map(commit));
  expect(answers.filter(({ status }) => status === "rejected")).toHaveLength(1);
  expect(await opened.database.query(statement("count", `SELECT count(*) AS n FROM heartbeats`))).toEqual([
    { n: 499 },
  ]);
});
