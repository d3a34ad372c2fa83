import { readFileSync } from "node:fs";
import { openDatabase } from "../../src/database/database.ts";
import { migrate } from "../../src/database/migrate.ts";
import { checkMigrations } from "../../src/database/migration-comparison.ts";
import { positional } from "../../src/database/statement.ts";
import { administer, aFreshDatabase, patient } from "../support/database.ts";
import { kitJson } from "../support/kit.ts";
import { pgBouncerPath, startPgBouncer } from "../support/pgbouncer.ts";
import { opened } from "../support/world.ts";

const page = readFileSync(new URL("../../docs/scale.md", import.meta.url), "utf8");
const advised = [...page.matchAll(/^ALTER ROLE addon_service SET (\w+) = '?([^';]+)'?;$/gm)];
const ignored = /`ignore_startup_parameters = ([\w,]+)`/.exec(page)![1]!;

const refusal = (setting: string) =>
  new RegExp(
    `^${setting} leads to a connection pooler .* Set MIGRATION_DATABASE_URL to .* docs/scale\\.md, `,
  );

const database = opened(() => aFreshDatabase());

it("docs/scale.md sets on a role behind a pooler exactly what our connections set themselves", async () => {
  const db = openDatabase(database.settings);
  // Every client of PostgreSQL sets the others.
  const ours = `SELECT name, current_setting(name) AS value FROM pg_settings WHERE source = 'client'
    AND name NOT IN ('application_name', 'client_encoding', 'extra_float_digits')`;
  const rows = await db.query<{ name: string; value: string }>(positional("ours", ours));
  await db.close();
  expect(rows.map(({ name, value }) => [name, value]).sort()).toEqual(
    advised.map(([, name, value]) => [name, value]).sort(),
  );
  // What is not sent by its own name comes in `options`.
  const isInOptions = (name: string) =>
    /^(enable|plan|random|bytea|search|default)_|^(Date|Time)|^jit$/.test(name);
  const sent = rows.map(({ name }) => name).filter((name) => !isInOptions(name));
  expect(ignored.split(",").sort()).toEqual([...sent, "extra_float_digits", "options"].sort());
});

(pgBouncerPath ? describe : describe.skip)("behind PgBouncer", () => {
  /** Runs `work` with the address of a pooler with these settings. */
  async function behind(
    settings: Record<string, string>,
    work: (url: string) => Promise<void>,
  ): Promise<void> {
    const pooler = await startPgBouncer(database.settings.url, settings);
    await work(pooler.url).finally(() => pooler.close());
  }

  it("everything works with a session for each connection", async () => {
    await behind({ ignore_startup_parameters: ignored, pool_mode: "session" }, async (url) => {
      expect(await migrate({ url })).toMatchObject({ applied: [] });
      const db = openDatabase({ url: patient(url), poolSize: 5 });
      await checkMigrations(db);
      const count = positional("count", "SELECT count(*) AS count FROM resources WHERE plan = $1");
      const asked = Array.from({ length: 20 }, () => [
        db.query(count, ["basic"]),
        db.transaction((tx) => tx.query(count, ["basic"])),
        db.readWhole(count, ["basic"]),
      ]);
      const counts = (await Promise.all(asked.flat())).map(
        ([row]) => (row as unknown as { count: number }).count,
      );
      expect([counts.length, ...new Set(counts)]).toEqual([60, 0]);
      await db.close();
    });
  });

  it.each([
    ["transaction", {}],
    ["transaction", { default_pool_size: "1" }],
    ["transaction", { server_round_robin: "1", min_pool_size: "3" }],
    ["statement", {}],
  ])(
    "kit migrate is refused at once in %s pooling %j, and leaves no lock and no setting",
    async (pool_mode, more) => {
      await behind({ ignore_startup_parameters: ignored, pool_mode, ...more }, async (url) => {
        for (const setting of ["DATABASE_URL", "MIGRATION_DATABASE_URL"])
          for (const _ of [1, 2]) {
            const { code, data } = await kitJson({ ...database.environment, [setting]: url }, ["migrate"]);
            expect({ code, data }).toEqual({
              code: 78,
              data: { id: "misconfigured", message: expect.stringMatching(refusal(setting)) },
            });
          }
        await administer(url, async (ask) => {
          const held = await ask(`SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND database =
          (SELECT oid FROM pg_database WHERE datname = current_database())`);
          const set = await ask(`SELECT name, setting FROM pg_settings
            WHERE source = 'session' AND name <> 'application_name'`);
          expect([held, set]).toEqual([[], []]);
        });
      });
    },
  );

  it("kit migrate goes on where a pooler has one session alone, which is its own", async () => {
    const settings = { ignore_startup_parameters: ignored, pool_mode: "session", default_pool_size: "1" };
    await behind(settings, async (url) => {
      expect(await migrate({ url, patience: { noticeMs: 200 } })).toMatchObject({ applied: [] });
    });
  });

  it.each([
    ["takes turns on a session", { ignore_startup_parameters: ignored, pool_mode: "transaction" }],
    ["takes turns even within a transaction", { ignore_startup_parameters: ignored, pool_mode: "statement" }],
    ["refuses how our connections begin", {}],
  ])(
    "a start on one that %s ends, and the message names the page that says how to set it",
    async (_, settings) => {
      await behind({ ...settings, default_pool_size: "1" }, async (url) => {
        const running = openDatabase({ url, poolSize: 1 });
        const starting = openDatabase({ url, poolSize: 1 });
        if ("pool_mode" in settings) await checkMigrations(running);
        await expect(checkMigrations(starting)).rejects.toMatchObject({
          name: "Misconfigured",
          message: expect.stringMatching(
            /^DATABASE_URL: the database answers: .*docs\/scale\.md, "Connection poolers"/,
          ),
        });
        await Promise.all([running.close(), starting.close()]);
      });
    },
  );
});
