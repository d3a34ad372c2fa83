// Again on PostgreSQL: it says how much it wrote for a query.

import { EventEmitter } from "node:events";
import { describe, expect, it } from "@jest/globals";
import type pg from "pg";
import { openDatabase, statement } from "../../src/database/database.ts";
import { overPool } from "../../src/database/over-pool.ts";
import { database as look } from "../../src/operator/doctor/database-checks.ts";
import type { Services } from "../../src/services.ts";
import { aFreshDatabase } from "../support/database.ts";
import { eventually } from "../support/world.ts";

const onPostgresql = process.env["TEST_DATABASE_URL"] ? it : it.skip;
const full = () =>
  Object.assign(new Error("could not write to file: No space left on device"), {
    ...{ code: "53100", severity: "ERROR" },
  });

/** A database whose disk may be full: then writes that need new blocks fail, and others work. */
function aFillingDatabase() {
  const disk = { isFull: false, spills: 0 };
  const client = Object.assign(new EventEmitter(), {
    release: () => undefined,
    async query(asked: string | { name: string; text: string }) {
      if (typeof asked === "string") return { command: asked, rows: [] };
      if (asked.name === "spill") disk.spills += 1;
      if (disk.isFull && ["spill", "provision"].includes(asked.name)) throw full();
      return { command: "", rows: [] };
    },
  });
  const pool = Object.assign(new EventEmitter(), { connect: async () => client, options: {} });
  const log = { warn: () => undefined };
  return { disk, db: overPool({ kind: "postgresql", pool: pool as unknown as pg.Pool, log }) };
}
const provision = statement("provision", "INSERT");

describe("a full disk", () => {
  it.each([
    ["a statement", (db: ReturnType<typeof aFillingDatabase>["db"]) => db.query(provision)],
    ["a transaction", (db) => db.transaction((tx) => tx.query(provision))],
  ] as [string, (db: ReturnType<typeof aFillingDatabase>["db"]) => Promise<unknown>][])(
    "is detected by %s that fails, until there is room again",
    async (_, write) => {
      const { disk, db } = aFillingDatabase();
      disk.isFull = true;
      await db.ping();
      expect(disk.spills).toBe(0);
      await expect(write(db)).rejects.toThrow("No space");
      await expect(db.ping()).rejects.toThrow("No space");
      disk.isFull = false;
      await db.ping();
      const { spills } = disk;
      await db.ping();
      expect(disk.spills).toBe(spills);
    },
  );

  it("is reported by the check-up although the database answers", async () => {
    const { disk, db } = aFillingDatabase();
    const services = { db, config: {} } as Services;
    expect(await look(services)).toMatchObject({ ok: true, fix: null });
    disk.isFull = true;
    expect(await look(services)).toMatchObject({
      ok: false,
      message: expect.stringMatching(/^PostgreSQL answers, but its disk is full: /),
      fix: expect.stringContaining("Make room"),
    });
  });
});

describe("the test for free disk space", () => {
  it("leaves the connection unchanged", async () => {
    const fresh = await aFreshDatabase();
    const db = await openDatabase({ ...fresh.settings, poolSize: 1 });
    const setting = statement("settings_of_memory", `SELECT current_setting('work_mem') AS memory`);
    try {
      const before = await db.query(setting);
      await db.tryRoom();
      expect(await db.query(setting)).toEqual(before);
    } finally {
      await db.close();
      await fresh.close();
    }
  });

  onPostgresql("writes blocks to disk, and reports no fault where a setting forbids that", async () => {
    const fresh = await aFreshDatabase();
    const db = await openDatabase({ ...fresh.settings, poolSize: 1 });
    const written = statement(
      "bytes_written",
      `SELECT temp_bytes::float8 AS bytes FROM pg_stat_database WHERE datname = current_database()`,
    );
    try {
      await db.tryRoom();
      await eventually(async () => {
        const [row] = await db.query<{ bytes: number }>(written);
        expect(row!.bytes).toBeGreaterThan(1_000_000);
      });
      await db.query(statement("limit_files", `SET temp_file_limit = '64kB'`));
      await db.tryRoom();
    } finally {
      await db.close();
      await fresh.close();
    }
  });
});
