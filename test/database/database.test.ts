// Again on PostgreSQL: it is about the driver and its pool.

import { expect, test } from "@jest/globals";
import { openDatabase, statement } from "../../src/database/database.ts";
import { testServerUrl } from "../support/database.ts";
import { anOpenDatabase } from "../support/open-database.ts";

const opened = anOpenDatabase();

test("without DATABASE_URL the embedded database is used", () => {
  expect(opened.database.kind).toBe(testServerUrl ? "postgresql" : "embedded");
});

(testServerUrl ? test : test.skip)(
  "options in DATABASE_URL override only the settings of ours that they name",
  async () => {
    const { url, ...settings } = opened.settings;
    const address = new URL(url!);
    address.searchParams.set("options", "-c search_path=pg_temp -c random_page_cost=2");
    const database = await openDatabase({ ...settings, url: address.href });
    const names = ["plan_cache_mode", "random_page_cost", "search_path"];
    const read = `SELECT current_setting(name) AS value FROM unnest($1::text[]) AS name`;
    const rows = await database.query<{ value: string }>(statement("settings", read), [names]);
    await database.close();
    expect(rows.map(({ value }) => value)).toEqual(["force_custom_plan", "2", "pg_temp"]);
  },
);

test("the database answers and its schema is up to date", async () => {
  await opened.database.ping();
  expect(await opened.database.pendingMigrations()).toEqual([]);
});

test("arrays of every type in our statements are stored and read back unchanged, nulls included", async () => {
  const rows = await opened.database.query(
    statement(
      "round_trip",
      `SELECT * FROM unnest($1::uuid[], $2::bytea[], $3::timestamptz[], $4::text[], $5::jsonb[], $6::bigint[]) AS t(a, b, c, d, e, f)`,
    ),
    [
      ["01234567-89ab-cdef-0123-456789abcdef", null],
      [Buffer.from([0, 92, 255]), null],
      [new Date("2026-01-01T12:00:00.123Z"), null],
      [`"quoted", {braced} \\ 🫖`, null],
      [{ "a b": [`"`] }, null],
      [2 ** 53 - 1, null],
    ],
  );
  expect(rows).toEqual([
    {
      a: "01234567-89ab-cdef-0123-456789abcdef",
      b: Buffer.from([0, 92, 255]),
      c: new Date("2026-01-01T12:00:00.123Z"),
      d: `"quoted", {braced} \\ 🫖`,
      e: { "a b": [`"`] },
      f: 2 ** 53 - 1,
    },
    { a: null, b: null, c: null, d: null, e: null, f: null },
  ]);
});

test.each([
  {
    of: "one and nothing",
    list: [Buffer.from([1, 2]), null, Buffer.alloc(0), new Uint8Array([3]).subarray(0)],
  },
  { of: "nothing at all", list: [null, null] },
  { of: "no element", list: [] },
  { of: "a part of something larger", list: [new Uint8Array([1, 2, 3, 4]).subarray(1, 3)] },
])("an array of byte strings, $of, is the same array in PostgreSQL", async ({ list }) => {
  const echo = statement(
    "echo_bytes",
    `SELECT b FROM unnest($1::bytea[]) WITH ORDINALITY AS t(b, at) ORDER BY at`,
  );
  const rows = await opened.database.query<{ b: Buffer | null }>(echo, [list]);
  expect(rows.map(({ b }) => b && [...b])).toEqual(list.map((each) => each && [...each]));
});

test("reading a bigint that a number cannot hold throws instead of rounding", async () => {
  await expect(
    opened.database.query(statement("too_big", `SELECT 9007199254740993::bigint`)),
  ).rejects.toThrow(RangeError);
});
