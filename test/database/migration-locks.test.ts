import { readFileSync } from "node:fs";
import { describe, expect, it } from "@jest/globals";
import { neededAlone } from "../../src/database/migration-locks.ts";

const landed = (name: string) => readFileSync(`prisma/migrations/${name}/migration.sql`, "utf8");

describe("the tables that a migration locks before it starts", () => {
  it.each([
    ["20260401000000_metrics_and_request_ids", ['"credentials"', '"steps"']],
    ["20260404000000_who_acted", ['"operator_actions"']],
    ["20260406000000_names_that_fit_an_index", ['"resources_name_idx"', '"resources_app_name_idx"']],
    ["20260407000000_attention_by_uuid", ['"credentials_state_idx"']],
  ])("are those that %s locks exclusively", (name, wanted) => {
    expect(neededAlone(landed(name))).toEqual(wanted);
  });

  it.each([
    "20260101000000_resources_and_credentials",
    "20260403000000_operator_pages",
    "20260405000000_room_beside_credentials",
    "20260407000000_lanes_of_steps",
    "20260407000001_what_fails",
  ])("are none for %s, which lets readers through", (name) => {
    expect(neededAlone(landed(name))).toEqual([]);
  });

  it.each([
    ["ALTER TABLE credentials ADD more INT", ["credentials"]],
    ['alter table if exists only "a b".credentials\nadd more int', ['"a b".credentials']],
    ['DROP INDEX IF EXISTS one, public."two" CASCADE', ["one", 'public."two"']],
    ["DROP TABLE steps; TRUNCATE events, sessions RESTART IDENTITY", ["steps", "events", "sessions"]],
    ["/* ALTER TABLE a */ -- ALTER TABLE b\nALTER TABLE c ADD d TEXT DEFAULT '; ALTER TABLE e'", ["c"]],
    ["DO $$ BEGIN ALTER TABLE a ADD b INT; END $$", []],
    ["DROP INDEX CONCURRENTLY one", []],
    ["ALTER TABLE a VALIDATE CONSTRAINT b", []],
    ['ALTER TABLE "a" ADD CONSTRAINT "b" FOREIGN KEY ("c") REFERENCES "d"("e")', []],
    ["ALTER TABLE a ADD b NUMERIC(3, 1), ADD CONSTRAINT c FOREIGN KEY (b, d) REFERENCES e(b, d)", ["a"]],
    ["ALTER TABLE a SET (fillfactor = 50, autovacuum_enabled = on), VALIDATE CONSTRAINT c", []],
    ["ALTER TABLE a DETACH PARTITION b CONCURRENTLY", []],
    ["ALTER INDEX one RENAME TO two", []],
  ])("are for the script %s: %j", (script, wanted) => {
    expect(neededAlone(script)).toEqual(wanted);
  });
});
