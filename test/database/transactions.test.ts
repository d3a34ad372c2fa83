// Again on PostgreSQL: isolation and retries are the server's.

import { beforeEach, expect, test } from "@jest/globals";
import { statement, retryWhileDatabaseAway } from "../../src/database/database.ts";
import { createPool } from "../../src/database/pool.ts";
import { administer, testServerUrl } from "../support/database.ts";
import { anOpenDatabase } from "../support/open-database.ts";

const opened = anOpenDatabase({ poolSize: 8 });

beforeEach(() => opened.database.query(statement("forget", `DELETE FROM heartbeats`)));

const insert = statement("insert", `INSERT INTO heartbeats (name) VALUES ($1)`);
const list = statement("list", `SELECT name FROM heartbeats ORDER BY name`);
const onPostgresql = testServerUrl ? test : test.skip;

test("a transaction's writes are stored when it resolves", async () => {
  const result = await opened.database.transaction(async (tx) => {
    await tx.query(insert, ["one"]);
    await tx.query(insert, ["two"]);
    return "done";
  });
  expect(result).toBe("done");
  expect(await opened.database.query(list)).toEqual([{ name: "one" }, { name: "two" }]);
});

test("a transaction whose work throws leaves nothing, and throws that error", async () => {
  const mistake = new Error("changed my mind");
  const work = opened.database.transaction(async (tx) => {
    await tx.query(insert, ["one"]);
    throw mistake;
  });
  await expect(work).rejects.toBe(mistake);
  expect(await opened.database.query(list)).toEqual([]);
});

test("a transaction that swallowed an error does not resolve as a success", async () => {
  const work = opened.database.transaction(async (tx) => {
    await tx.query(insert, ["one"]);
    await tx.query(insert, ["one"]).catch(() => undefined);
  });
  await expect(work).rejects.toThrow("rolled back");
  expect(await opened.database.query(list)).toEqual([]);
});

test("errors leave the connections usable, however many occur", async () => {
  const mistakes = Array.from({ length: 20 }, (_, i) =>
    i % 2
      ? opened.database.query(statement("mistake", `SELECT 1 / $1::int`), [0])
      : opened.database.transaction((tx) => tx.query(insert, [null])),
  );
  const answers = await Promise.allSettled(mistakes);
  expect(answers.map(({ status }) => status)).toEqual(mistakes.map(() => "rejected"));
  await opened.database.ping();
});

onPostgresql("sessions that are killed, idle or busy, cost only a retry", async () => {
  const sleeping = Array.from({ length: 3 }, () =>
    retryWhileDatabaseAway(() => opened.database.query(statement("sleep", `SELECT pg_sleep(0.5)`))),
  );
  const inTransaction = retryWhileDatabaseAway(() =>
    opened.database.transaction(async (tx) => {
      await tx.query(statement("sleep", `SELECT pg_sleep(0.5)`));
      await tx.query(insert, ["survivor"]);
    }),
  );
  await new Promise((resolve) => setTimeout(resolve, 200));
  const killed = await administer(opened.settings.url as string, (ask) =>
    ask(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    ),
  );
  expect(killed.length).toBeGreaterThanOrEqual(4);
  await Promise.all([...sleeping, inTransaction]);
  expect(await opened.database.query(list)).toEqual([{ name: "survivor" }]);
});

onPostgresql("a statement that takes too long is abandoned, and also ends on the server", async () => {
  await expect(opened.database.query(statement("too_long", `SELECT pg_sleep(30)`))).rejects.toThrow(
    /timeout/,
  );
  await new Promise((resolve) => setTimeout(resolve, 300));
  const left = await administer(opened.settings.url as string, (ask) =>
    ask(
      `SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(30)%' AND state = 'active' AND pid <> pg_backend_pid()`,
    ),
  );
  expect(left).toEqual([]);
});

onPostgresql("a connection that is returned inside a transaction is never reused", async () => {
  const pool = createPool({ connectionString: opened.settings.url, max: 1 });
  const careless = await pool.connect();
  await careless.query("BEGIN");
  careless.release();
  await pool.query(insert.text, ["kept"]);
  await pool.end();
  expect(await opened.database.query(list)).toEqual([{ name: "kept" }]);
});
