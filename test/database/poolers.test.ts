// Again on PostgreSQL: what a connection sets is asked of the server.

import { readFileSync } from "node:fs";
import { expect, it } from "@jest/globals";
import { openDatabase, statement } from "../../src/database/database.ts";
import { aFreshDatabase } from "../support/database.ts";

const page = readFileSync(new URL("../../docs/scale.md", import.meta.url), "utf8");
const advised = Object.fromEntries(
  [...page.matchAll(/^ALTER ROLE addon_service SET (\w+) = '?([\w.]+)'?;$/gm)].map(([, name, value]) => [
    name,
    value,
  ]),
);
const ignored = /`ignore_startup_parameters = ([\w,]+)`/.exec(page)![1]!.split(",");

const ours = statement(
  "what_the_client_set",
  `SELECT name, current_setting(name) AS value FROM pg_settings WHERE source = 'client'`,
);
/** Every client of PostgreSQL sets these, and poolers know them. */
const EVERYBODYS = ["application_name", "client_encoding", "DateStyle", "extra_float_digits", "TimeZone"];

// The embedded database is reached without a pooler.
const onPostgresql = process.env["TEST_DATABASE_URL"] ? it : it.skip;

onPostgresql(
  "docs/scale.md sets on a role behind a pooler exactly what our connections set themselves",
  async () => {
    const database = await aFreshDatabase();
    const db = await openDatabase({ ...database.settings, role: "guest" });
    try {
      const set = await db.query<{ name: string; value: string }>(ours);
      const special = set.filter(({ name }) => !EVERYBODYS.includes(name));
      expect(Object.fromEntries(special.map(({ name, value }) => [name, value]))).toEqual(advised);
      // What is not sent by its own name comes in `options`.
      const named = special
        .map(({ name }) => name)
        .filter((name) => !["plan_cache_mode", "random_page_cost"].includes(name));
      expect([...named, "options"].filter((name) => !ignored.includes(name))).toEqual([]);
    } finally {
      await db.close();
      await database.close();
    }
  },
);
