// Again on PostgreSQL: what a connection sets is asked of the server.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import pg from "pg";
import {
  checkMigrations,
  migrate,
  openDatabase,
  sharesSessions,
  statement,
} from "../../src/database/database.ts";
import { database as databaseCheck } from "../../src/operator/doctor/database-checks.ts";
import { Secret } from "../../src/secret.ts";
import type { Services } from "../../src/services.ts";
import { aFreshDatabase, type FreshDatabase } from "../support/database.ts";
import { pgBouncerPath, startPgBouncer } from "../support/pgbouncer.ts";

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

const withPgBouncer = process.env["TEST_DATABASE_URL"] && pgBouncerPath ? describe : describe.skip;

withPgBouncer("behind PgBouncer", () => {
  let database: FreshDatabase;
  beforeAll(async () => {
    database = await aFreshDatabase();
  });
  afterAll(() => database.close());

  /** Starts a pooler with these settings, and stops it afterwards. */
  async function behind<Found>(
    settings: Readonly<Record<string, string>>,
    look: (url: string) => Promise<Found>,
  ): Promise<Found> {
    const pooler = await startPgBouncer(database.environment.DATABASE_URL!, settings);
    try {
      return await look(pooler.url);
    } finally {
      await pooler.close();
    }
  }

  /** What the doctor finds at this address. */
  async function doctor(url: string) {
    const db = await openDatabase({ ...database.settings, url });
    try {
      return await databaseCheck({ db, config: { databaseUrl: new Secret(url) } } as unknown as Services);
    } finally {
      await db.close();
    }
  }

  /** Has the pooler open as many sessions as there are clients. */
  async function warmUp(url: string, clients: number): Promise<void> {
    const pool = new pg.Pool({ connectionString: url, max: clients });
    const each = await Promise.all(Array.from({ length: clients }, () => pool.connect()));
    for (const client of each) await client.query("BEGIN");
    for (const client of each) await client.query("ROLLBACK");
    for (const client of each) client.release();
    await pool.end();
  }

  const letIn = { ignore_startup_parameters: ignored.join(",") };
  const TAKE_TURNS = expect.stringContaining("take turns on its sessions");
  const nothingApplied = { applied: [] };

  it.each([20, 2])("a session for each connection is enough, of %s that there are", async (most) => {
    const pooling = { pool_mode: "session", default_pool_size: String(most) };
    await behind({ ...letIn, ...pooling }, async (url) => {
      expect(await sharesSessions(url)).toBe(false);
      expect(await migrate({ url })).toEqual(nothingApplied);
      if (most > 2) expect(await doctor(url)).toMatchObject({ ok: true, fix: null });
    });
  });

  it("a pooler without a free session is given up soon, and is no fault", async () => {
    await behind({ ...letIn, pool_mode: "session", default_pool_size: "1" }, async (url) => {
      const holder = new pg.Client(url);
      await holder.connect();
      await holder.query("SELECT 1");
      expect(await sharesSessions(url)).toBe(false);
      await holder.end();
    });
  });

  it.each([
    ["transaction", {}, 1],
    ["transaction", {}, 2],
    ["transaction", { server_round_robin: "1" }, 2],
    ["transaction", { server_round_robin: "1" }, 3],
    ["statement", {}, 1],
  ] as [string, Record<string, string>, number][])(
    "sessions that clients share are found: %s pooling %j, %s in use",
    async (mode, more, sessions) => {
      await behind({ ...letIn, ...more, pool_mode: mode }, async (url) => {
        if (mode === "transaction") await warmUp(url, sessions);
        expect(await sharesSessions(url)).toBe(true);
        expect(await doctor(url)).toMatchObject({ ok: false, message: TAKE_TURNS });
        await expect(migrate({ url })).rejects.toMatchObject({ name: "Misconfigured", message: TAKE_TURNS });
      });
      // No lock was left in a session of the pooler's.
      expect(await migrate({ url: database.environment.DATABASE_URL! })).toEqual(nothingApplied);
    },
  );

  it("a statement that clashes with another client's says so", async () => {
    await behind({ ...letIn, pool_mode: "transaction", default_pool_size: "1" }, async (url) => {
      const [one, other] = await Promise.all(
        [1, 2].map(() => openDatabase({ ...database.settings, url, poolSize: 1 })),
      );
      try {
        await checkMigrations(one!);
        await one!.ping();
        // By the clash alone: without the setting, the doctor does not look for a pooler.
        expect(await databaseCheck({ db: other, config: {} } as unknown as Services)).toMatchObject({
          ok: false,
          message: TAKE_TURNS,
          fix: expect.stringContaining("have the pooler pool sessions"),
        });
        await expect(checkMigrations(other!)).rejects.toMatchObject({
          name: "Misconfigured",
          message: TAKE_TURNS,
        });
      } finally {
        await Promise.all([one!.close(), other!.close()]);
      }
    });
  });

  it("a pooler that refuses our connections is said to be one", async () => {
    await behind({}, async (url) => {
      expect(await doctor(url)).toMatchObject({
        ok: false,
        message: expect.stringContaining("a connection pooler says"),
        fix: expect.stringContaining("ignore_startup_parameters"),
      });
    });
  });
});

onPostgresql("a database without a pooler is asked once", async () => {
  const fresh = await aFreshDatabase();
  const connect = jest.spyOn(pg.Client.prototype, "connect");
  try {
    expect(await sharesSessions(fresh.environment.DATABASE_URL!)).toBe(false);
    expect(connect).toHaveBeenCalledTimes(1);
  } finally {
    connect.mockRestore();
    await fresh.close();
  }
});
